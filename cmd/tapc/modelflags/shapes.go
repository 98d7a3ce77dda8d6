package modelflags

import (
	"strings"

	"tensortapestry.org/tapc/frontends/foreign"
	"tensortapestry.org/tapc/ir/diag"
)

// Tensor is a tensor of a file: its name there and its shape.
type Tensor struct {
	Name  string
	Shape []int64
}

// Files gives the shapes of a graph's inputs that the values of --input have: NAME=FILE, NAME=FILE:KEY, or FILE for all inputs by name.
// list says which tensors a value's file has, of all or of the one with the key; same, whether a name on a command line is that of an input.
func Files(g *foreign.Graph, values []string, list func(path string) ([]Tensor, error), same func(given, name string) bool) (map[string][]int64, error) {
	shapes := map[string][]int64{}
	for _, text := range values {
		name, path, named := strings.Cut(text, "=")
		if !named {
			name, path = "", text
		}
		var p *foreign.Port
		if named { // names before files: a name that is wrong is no fault of its file
			var err error
			if p, err = inputNamed(g, name, same); err != nil {
				return nil, err
			}
			if _, twice := shapes[p.Name]; twice {
				return nil, diag.Usage("--input %s is given twice", name)
			}
		}
		tensors, err := list(path)
		if err != nil {
			return nil, err
		}
		if named {
			for _, t := range tensors {
				if len(tensors) == 1 || same(t.Name, p.Name) {
					shapes[p.Name] = t.Shape
				}
			}
			continue
		}
		for _, p := range g.Inputs {
			for _, t := range tensors {
				if same(t.Name, p.Name) || len(tensors) == 1 && len(g.Inputs) == 1 {
					shapes[p.Name] = t.Shape
				}
			}
		}
	}
	return shapes, nil
}

func inputNamed(g *foreign.Graph, name string, same func(given, name string) bool) (*foreign.Port, error) {
	for i := range g.Inputs {
		if same(name, g.Inputs[i].Name) {
			return &g.Inputs[i], nil
		}
	}
	return nil, diag.Unknown("input in --input", name, inputNames(g))
}

// Rank gives inputs without a shape those of tensors.
func Rank(g *foreign.Graph, shapes map[string][]int64) {
	for i := range g.Inputs {
		p := &g.Inputs[i]
		shape, ok := shapes[p.Name]
		if !ok || p.Ranked {
			continue
		}
		p.Ranked, p.Shape = true, []foreign.Size{}
		for _, n := range shape {
			p.Shape = append(p.Shape, foreign.Size{Value: n})
		}
	}
}
