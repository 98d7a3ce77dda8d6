package reduced

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/declaration"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/infer"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/sample"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/zspace"
)

// graph makes a graph of one call.
func graph(d *declaration.Kernel, c *infer.Call) (*ir.Graph, *ir.Node) {
	g := ir.New()
	side := func(ports []infer.Port) ir.Ports {
		var list []ir.Port
		for _, p := range ports {
			port := ir.Port{Name: p.Name}
			for _, s := range p.Sel {
				t := g.Add(&tensorops.Tensor{DType: s.Type.String(), Range: s.Sel.Range()}, "")
				port.Sel = append(port.Sel, ir.Select(t.ID, s.Sel.Range()))
			}
			list = append(list, port)
		}
		slices.SortFunc(list, func(a, b ir.Port) int { return strings.Compare(a.Name, b.Name) })
		return ir.PortsOf(list)
	}
	return g, g.Add(&tensorops.Operation{Kernel: d.Name, Params: c.Params, Inputs: side(c.Inputs), Outputs: side(c.Outputs)}, "op")
}

// Every tag that is derived, of random calls of all kernels, is valid and agrees with its kernel; what it says of a point is read there, and any
// dimension that is left out, made longer or combined otherwise is found.
func TestDerivedTagsAreValid(t *testing.T) {
	lib, rnd := kernels.Builtin(), rand.New(rand.NewPCG(17, 1))
	tagged := map[string]bool{}
	for _, name := range lib.Names() {
		d, _ := lib.Find(name)
		for range 4 {
			c, err := sample.Call(d, rnd, scalar.Float32)
			if err != nil || c == nil {
				continue
			}
			g, n := graph(d, c)
			in, err := lib.BindOperation(g, n.ID)
			if err != nil {
				t.Fatal(err)
			}
			if err := Sign(n, in); err != nil {
				t.Fatal(err)
			}
			if err := Tag(n, in); err != nil {
				t.Fatal(err)
			}
			if found := tensorops.Environment().Verify(context.Background(), g); found.HasErrors() {
				t.Fatalf("%s: %v", name, found)
			}
			if found := CheckOperations(g, lib); len(found) > 0 {
				t.Fatalf("%s: %v", name, found)
			}
			tag := tensorops.ReducedOf(n)
			if tag == nil {
				continue
			}
			tagged[name] = true
			for what, lie := range lies(tag) {
				n.SetTag(lie)
				if err := Check(in, g, n); diag.FromError(err) == nil || diag.FromError(err)[0].Code != "TAP0606" {
					t.Errorf("%s: %s is not found: %v", name, what, err)
				}
			}
		}
	}
	for _, name := range []string{"matmul", "linear", "gemm", "conv", "sum", "softmax", "layer_norm", "einsum", "attention", "max_pool"} {
		if !tagged[name] {
			t.Errorf("%s has no reduced dimensions in any call", name)
		}
	}
}

// lies gives tags that say something else of a kernel.
func lies(tag *tensorops.Reduced) map[string]*tensorops.Reduced {
	change := func(f func(d *tensorops.ReducedDimension)) *tensorops.Reduced {
		dims := slices.Clone(tag.Dimensions)
		f(&dims[len(dims)-1])
		return &tensorops.Reduced{Dimensions: dims, Inputs: tag.Inputs}
	}
	return map[string]*tensorops.Reduced{
		"another extent":    change(func(d *tensorops.ReducedDimension) { d.Extent++ }),
		"another reduction": change(func(d *tensorops.ReducedDimension) { d.Combine += ",prod" }),
		"what is stored":    change(func(d *tensorops.ReducedDimension) { d.Stored = !d.Stored }),
		"one less":          {Dimensions: tag.Dimensions[1:], Inputs: tag.Inputs},
	}
}

// A map that reads another cell at a point than the kernel does is found, also one whose whole is the same selection.
func TestMapsThatLieAreFound(t *testing.T) {
	lib := kernels.Builtin()
	d, _ := lib.Find("matmul")
	box := func(shape ...int64) infer.Selected {
		return infer.Selected{Sel: ir.Select(0, zspace.MustShape(shape...)), Type: scalar.Float32}
	}
	g, n := graph(d, &infer.Call{Inputs: []infer.Port{{Name: "W", Sel: []infer.Selected{box(5, 2)}}, {Name: "X", Sel: []infer.Selected{box(3, 5)}}},
		Outputs: []infer.Port{{Name: "Z", Sel: []infer.Selected{box(3, 2)}}}})
	in, err := lib.BindOperation(g, n.ID)
	if err != nil {
		t.Fatal(err)
	}
	if err := Sign(n, in); err != nil {
		t.Fatal(err)
	}
	for text, code := range map[string]string{
		"(d0, d1, d2) -> [d0, d2] + [1, 1]":      "",
		"(d0, d1, d2) -> [d0, 0] + [1, 5]":       "", // more than is read
		"(d0, d1, d2) -> [d0, -d2 + 4] + [1, 1]": "TAP0607",
	} {
		tag, err := Of(in)
		if err != nil {
			t.Fatal(err)
		}
		m, err := zspace.ParseProjectionMap(text)
		if err != nil {
			t.Fatal(err)
		}
		tag.Inputs.Get("X").Maps[0] = m
		n.SetTag(tag)
		if found := tensorops.Environment().Verify(context.Background(), g); found.HasErrors() {
			t.Fatalf("%s: %v", text, found)
		}
		found := CheckOperations(g, lib)
		if code == "" && len(found) > 0 || code != "" && (len(found) != 1 || found[0].Code != code) {
			t.Errorf("%s: %v, want %q", text, found, code)
		}
	}
}
