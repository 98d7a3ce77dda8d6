package modelflags

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"tensortapestry.org/tapc/frontends/foreign"
	"tensortapestry.org/tapc/ir/diag"
)

// Shape gives inputs the shapes of --shape. One that contradicts the shape that an input has is an error of the command line.
func Shape(g *foreign.Graph, shapes []string) error {
	given := map[string]bool{}
	for _, text := range shapes {
		name, sizes, ok := strings.Cut(text, "=")
		if !ok {
			return diag.Usage("--shape %q: expected NAME=SIZExSIZE", text)
		}
		i := slices.IndexFunc(g.Inputs, func(p foreign.Port) bool { return p.Name == name })
		if i < 0 {
			return diag.Unknown("input in --shape", name, inputNames(g))
		}
		if given[name] {
			return diag.Usage("--shape %s is given twice", name)
		}
		given[name] = true
		shape, err := readShape(text, sizes)
		if err != nil {
			return err
		}
		p := &g.Inputs[i]
		if !fits(*p, shape) {
			return diag.Usage("--shape %s: the graph itself says another shape of this input: expected %s", text, shapeText(p.Shape))
		}
		p.Ranked, p.Shape = true, shape
	}
	return nil
}

func readShape(text, sizes string) ([]foreign.Size, error) {
	shape := []foreign.Size{}
	if sizes == "" {
		return shape, nil
	}
	for _, size := range strings.Split(sizes, "x") {
		n, err := strconv.ParseInt(size, 10, 64)
		if err != nil || n < 0 || size[0] == '+' {
			return nil, diag.Usage("--shape %q: expected sizes of at least 0 with x between them", text)
		}
		shape = append(shape, foreign.Size{Value: n})
	}
	return shape, nil
}

// shapeText writes a shape as --shape has it, with names and ? for sizes that are open.
func shapeText(shape []foreign.Size) string {
	var words []string
	for _, s := range shape {
		switch {
		case s.Name != "":
			words = append(words, s.Name)
		case s.Value < 0:
			words = append(words, "?")
		default:
			words = append(words, strconv.FormatInt(s.Value, 10))
		}
	}
	return cmp.Or(strings.Join(words, "x"), "a number")
}

// fits says whether an input that has a shape can have another: the same number of dimensions, and the sizes that it says itself.
func fits(p foreign.Port, shape []foreign.Size) bool {
	if !p.Ranked {
		return true
	}
	return slices.EqualFunc(p.Shape, shape, func(own, given foreign.Size) bool {
		return own.Name != "" || own.Value < 0 || own.Value == given.Value
	})
}
