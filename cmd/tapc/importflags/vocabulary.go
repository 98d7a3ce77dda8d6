package importflags

import (
	"strings"

	"github.com/spf13/cobra"

	"tensortapestry.org/tapc/cmd/tapc/dictionaries"
	"tensortapestry.org/tapc/cmd/tapc/flagnames"
	"tensortapestry.org/tapc/cmd/tapc/modelflags"
	"tensortapestry.org/tapc/cmd/tapc/portfiles"
	"tensortapestry.org/tapc/frontends/foreign"
	"tensortapestry.org/tapc/frontends/onnx"
	"tensortapestry.org/tapc/frontends/survey"
	"tensortapestry.org/tapc/ir/tensorfile"
)

// vocabularyFlags say what a foreign graph leaves out.
type vocabularyFlags struct {
	Vocabularies dictionaries.Known
	shapes       []string
}

func (f *vocabularyFlags) addShape(c *cobra.Command) {
	c.Flags().StringArrayVar(&f.shapes, "shape", nil, "shape of an input of a foreign graph that has none: NAME=1x784, or NAME= for a number (repeatable)")
	flagnames.Entries(c.Flags(), "shape")
}

// Settle reads what flags say of a graph's inputs: shapes, values and, of the files that run is given, sizes.
func (f *Flags) Settle(g *foreign.Graph, o *onnx.Options) error {
	err := modelflags.Shape(g, f.shapes)
	if err == nil {
		o.Bind, err = modelflags.Known(g, f.known, readTensor)
	}
	if err != nil || len(f.Files) == 0 {
		return err
	}
	shapes, err := modelflags.Files(g, f.Files, tensorsOf, func(given, name string) bool { return portfiles.Name(given) == portfiles.Name(name) })
	if err != nil {
		return err
	}
	modelflags.Rank(g, shapes)
	o.Dims, err = survey.ReadShapes(g, o.Dims, shapes)
	return err
}

// tensorsOf lists the tensors of a file, or gives the one that its name has a key for.
func tensorsOf(path string) ([]modelflags.Tensor, error) {
	if strings.HasSuffix(path, portfiles.Suffix) {
		name, t, err := portfiles.Read(path)
		return []modelflags.Tensor{{Name: name, Shape: t.Shape}}, err
	}
	path, key, hasKey := portfiles.CutKey(path)
	f, err := tensorfile.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if hasKey {
		t, err := f.Info(key)
		return []modelflags.Tensor{{Name: key, Shape: t.Shape}}, err
	}
	var list []modelflags.Tensor
	for _, t := range f.Tensors() {
		list = append(list, modelflags.Tensor{Name: t.Name, Shape: t.Shape})
	}
	return list, nil
}
