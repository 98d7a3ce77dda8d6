package layouts

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"strings"

	"tensortapestry.org/tapc/search"
	"tensortapestry.org/tapc/search/meshes"
)

// Mesh gives the mesh of a trial.
func (x *Space) Mesh(t search.Trial) []int64 { return x.meshes[t[0]] }

// Devices is how many devices are planned for.
func (x *Space) Devices() int { return int(x.settings.Devices) }

// MaxMemory is the bytes that a plan may take on each device, 0 if they are not bounded.
func (x *Space) MaxMemory() float64 { return x.settings.MaxMemory }

// Digest tells spaces apart whose trials do not mean the same: by graph, devices, permissions and what is searched.
func (x *Space) Digest() string {
	h := sha256.New()
	fmt.Fprintln(h, x.settings.Machine.Name, x.device.Name, int(x.settings.Devices), x.meshes, x.genes, x.line.stages)
	for _, o := range x.ops {
		fmt.Fprintln(h, o.name, o.count, o.dims, o.work, o.operands)
		if o.said != nil {
			fmt.Fprintln(h, o.terms())
		}
	}
	for _, t := range x.tensors {
		fmt.Fprintln(h, t.name, t.count, t.extents, t.bytes, t.leaf, t.gene, t.joined)
	}
	fmt.Fprintln(h, x.edges, x.times)
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// Describe says how large the space is, in words.
func (x *Space) Describe() string {
	total := 0.0
	for _, o := range x.ops {
		total += o.count
	}
	words := []string{number(int(x.settings.Devices), "device") + " " + x.device.Name, number(len(x.meshes), "mesh"), number(int(total), "operation")}
	if int(total) > len(x.ops) {
		words = append(words, fmt.Sprintf("of which %d are planned and the others alike", len(x.ops)))
	}
	return strings.Join(append(words, fmt.Sprintf("10^%.1f plans", math.Log10(Size(x)))), ", ")
}

// number writes a number of things.
func number(n int, what string) string {
	switch {
	case n == 1:
		return "1 " + what
	case strings.HasSuffix(what, "sh"):
		return fmt.Sprintf("%d %ses", n, what)
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Size is how many plans a space has.
func Size(x *Space) float64 {
	size := 1.0
	for _, n := range x.genes {
		size *= float64(max(n, 1))
	}
	return size
}

// Gene says what a gene is of, the mesh or an operation or a tensor by its name, and in words what its values are: a mesh, as 2x4, or along which dimension each axis goes, as "x=m, y=-".
func Gene(x *Space, gene int) (name string, values func() []string) {
	say := func(values []meshes.Assignment, name func(d int8) string) (words []string) {
		for _, a := range values {
			var axes []string
			for axis := range x.meshes[0] {
				to := "-"
				if a[axis] >= 0 {
					to = name(a[axis])
				}
				axes = append(axes, string("xyz"[axis])+"="+to)
			}
			words = append(words, strings.Join(axes, ", "))
		}
		return words
	}
	for _, o := range x.ops {
		if o.gene == gene {
			return o.name, func() []string { return say(o.cuts, func(d int8) string { return o.dims[d].name }) }
		}
	}
	for _, y := range x.tensors {
		if y.gene == gene {
			return y.name, func() []string { return say(y.keeps, func(d int8) string { return fmt.Sprintf("d%d", d) }) }
		}
	}
	return "mesh", func() (words []string) {
		for _, m := range x.meshes {
			words = append(words, strings.Trim(strings.ReplaceAll(fmt.Sprint(m), " ", "x"), "[]"))
		}
		return words
	}
}
