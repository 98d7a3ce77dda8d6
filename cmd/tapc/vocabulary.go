package main

import (
	"github.com/spf13/cobra"

	"tensortapestry.org/tapc/cmd/tapc/modelflags"
	"tensortapestry.org/tapc/frontends/mapping"
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

// settle gives inputs the shapes of --shape, and gives the values of --known.
func (f *importFlags) settle(g *mapping.Graph) (map[string]*mapping.Data, error) {
	if err := modelflags.Shape(g, f.shapes); err != nil {
		return nil, err
	}
	return modelflags.Known(g, f.known, readTensor)
}
