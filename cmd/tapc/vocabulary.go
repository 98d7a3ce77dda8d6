package main

import (
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"tensortapestry.org/tapc/frontends/mapping"
	"tensortapestry.org/tapc/ir/diag"
)

// vocabularyFlags say what a foreign graph leaves out.
type vocabularyFlags struct {
	space  string
	shapes []string
}

func (f *vocabularyFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.space, "namespace", "", "vocabulary of an Amanda graph that names none, such as tensorflow/1.13.1")
	c.Flags().StringArrayVar(&f.shapes, "shape", nil, "shape of an input of a foreign graph that has none: NAME=1x784, or NAME= for a number (repeatable)")
}

// shape gives inputs the shapes of --shape.
func (f *vocabularyFlags) shape(g *mapping.Graph) error {
	for _, text := range f.shapes {
		name, sizes, ok := strings.Cut(text, "=")
		i := slices.IndexFunc(g.Inputs, func(p mapping.Port) bool { return p.Name == name })
		if !ok || i < 0 {
			var names []string
			for _, p := range g.Inputs {
				names = append(names, p.Name)
			}
			return diag.Usage("--shape %q: expected NAME=SIZExSIZE with an input of the graph: %s", text, strings.Join(names, ", "))
		}
		p := &g.Inputs[i]
		p.Ranked, p.Shape = true, []mapping.Size{}
		for _, size := range strings.Split(sizes, "x") {
			if sizes == "" {
				break
			}
			n, err := strconv.ParseInt(size, 10, 64)
			if err != nil || n < 0 {
				return diag.Usage("--shape %q: expected sizes of at least 0 with x between them", text)
			}
			p.Shape = append(p.Shape, mapping.Size{Value: n})
		}
	}
	return nil
}
