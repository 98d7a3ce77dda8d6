// Package survey looks at foreign graphs before they are mapped: which sizes they leave open, and how much of them is mapped at
// assumed ones. Read next: survey.go.
package survey

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tensortapestry.org/tapc/frontends/foreign"
	"tensortapestry.org/tapc/ir/diag"
)

// Dim is a size of inputs that a graph leaves open.
type Dim struct {
	Name   string   // "" where the graph gives it none
	Places []string // INPUT:0 for each dimension of this size
}

// Key is the name by which the size is given: its own or, without one, its place.
func (d *Dim) Key() string {
	if d.Name != "" {
		return d.Name
	}
	return d.Places[0]
}

// Takes lists the inputs that a program is given: not those that older models name beside their constants.
func Takes(g *foreign.Graph) []foreign.Port {
	var list []foreign.Port
	for _, p := range g.Inputs {
		if g.Consts[p.Name] == nil {
			list = append(list, p)
		}
	}
	return list
}

// Dims lists the open sizes of a graph's inputs, in the order of their first places.
func Dims(g *foreign.Graph) []Dim {
	var list []Dim
	for _, p := range Takes(g) {
		for i, s := range p.Shape {
			if s.Name == "" && s.Value >= 0 {
				continue
			}
			at := slices.IndexFunc(list, func(d Dim) bool { return s.Name != "" && d.Name == s.Name })
			if at < 0 {
				at = len(list)
				list = append(list, Dim{Name: s.Name})
			}
			list[at].Places = append(list[at].Places, foreign.Place(p.Name, i))
		}
	}
	return list
}

// CheckNames is an error if a size is given for a dimension that the graph does not have, another size than the graph itself says, or two sizes for one.
func CheckNames(g *foreign.Graph, dims map[string]int64) error {
	var sizes []string
	for _, d := range Dims(g) {
		if d.Name != "" {
			sizes = append(sizes, d.Name)
		}
		if strings.Contains(d.Name, "+") {
			for term := range strings.SplitSeq(d.Name, "+") {
				sizes = append(sizes, strings.TrimSpace(term))
			}
		}
	}
	known := slices.Clone(sizes)
	for _, p := range Takes(g) {
		for i, s := range p.Shape {
			at := foreign.Place(p.Name, i)
			known = append(known, at)
			if s.Name == "" && s.Value < 0 {
				sizes = append(sizes, at)
			}
			if n, told := dims[at]; told && s.Name == "" && s.Value >= 0 && n != s.Value {
				return diag.Usage("--dim %s=%d: the graph itself says the size of this dimension: expected %d", at, n, s.Value)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(dims)) {
		if !slices.Contains(known, name) {
			return diag.Unknown("dimension in --dim", name, sizes)
		}
	}
	for _, d := range Dims(g) {
		if err := d.checkSize(dims); err != nil {
			return err
		}
	}
	return nil
}

// checkSize is an error if a dimension has one size by its name, by the names of which it is the sum, or at one place, and another at another.
func (d *Dim) checkSize(given map[string]int64) error {
	key, size, told := d.Name, int64(0), false
	if d.Name != "" {
		if size, told = given[d.Name]; !told {
			size, told = foreign.SumOf(d.Name, given)
		}
	}
	for _, at := range d.Places {
		n, ok := given[at]
		if ok && told && n != size {
			return diag.Usage("--dim %s=%d: it is the dimension of %s=%d, and a dimension has one size", at, n, key, size)
		}
		if ok {
			key, size, told = at, n, true
		}
	}
	return nil
}

// ReadShapes gives sizes that are open the values that tensors for the inputs have, by the names of inputs. Two tensors that say
// different sizes of one name are an error, as is a tensor of another rank.
func ReadShapes(g *foreign.Graph, given map[string]int64, tensors map[string][]int64) (map[string]int64, error) {
	out, from := maps.Clone(given), map[string]string{}
	if out == nil {
		out = map[string]int64{}
	}
	for _, p := range Takes(g) {
		shape, ok := tensors[p.Name]
		if !ok || !p.Ranked {
			continue
		}
		if len(shape) != len(p.Shape) {
			return nil, diag.Usage("input %q has %d dimensions, and its tensor is of shape %s", p.Name, len(p.Shape), strings.Trim(strings.ReplaceAll(fmt.Sprint(shape), " ", "x"), "[]"))
		}
		for i, s := range p.Shape {
			key, at := s.Name, foreign.Place(p.Name, i)
			if key == "" {
				key = at
			}
			if _, told := given[at]; told || s.Name == "" && s.Value >= 0 {
				continue
			}
			if n, ok := out[key]; ok && n != shape[i] {
				who := "--dim says"
				if from[key] != "" {
					who = fmt.Sprintf("that of %q says", from[key])
				}
				return nil, diag.Usage("the tensor for input %q says %s=%d, and %s %s=%d", p.Name, key, shape[i], who, key, n)
			}
			if _, ok := out[key]; !ok {
				out[key], from[key] = shape[i], p.Name
			}
		}
	}
	return out, nil
}

// sized says whether a size is given.
func (d *Dim) sized(given map[string]int64) bool {
	if _, ok := given[d.Name]; ok && d.Name != "" {
		return true
	}
	if _, ok := foreign.SumOf(d.Name, given); ok {
		return true
	}
	return !slices.ContainsFunc(d.Places, func(at string) bool { _, ok := given[at]; return !ok })
}
