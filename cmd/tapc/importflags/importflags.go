// Package importflags has the flags that say how graphs in other frameworks' operators are read: sizes, values, rules and vocabularies. It must not import
// cmd/tapc/app, which keeps what they say. Read next: importflags.go, vocabulary.go.
package importflags

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"tensortapestry.org/tapc/cmd/tapc/aliases"
	"tensortapestry.org/tapc/cmd/tapc/flagnames"
	"tensortapestry.org/tapc/cmd/tapc/portfiles"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/frontends/mapping/rules"
	"tensortapestry.org/tapc/frontends/onnx"
	"tensortapestry.org/tapc/internal/dims"
	"tensortapestry.org/tapc/internal/inputfile"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/tensorfile"
)

// Flags say how a foreign graph is mapped.
type Flags struct {
	Dims    []string
	known   []string
	rules   []string
	Analyze bool
	// unchecked leaves out checks of indices; functions makes functions of models and subgraphs definitions; back says that rules are for graphs of tapc's kernels too.
	unchecked, functions, back bool
	// files are the values of --input, of which run takes sizes; rooms what aliases need at all sizes of a program for several.
	Files, Aliases []string
	Rooms          aliases.Rooms
	vocabularyFlags
}

// Add adds the flags to a command.
func (f *Flags) Add(c *cobra.Command) {
	c.Flags().StringArrayVar(&f.Dims, "dim", nil, "size of a symbolic dimension of a model: NAME=8; several for one program: NAME=1,8,32 or NAME=1..4; or INPUT:0=8 for one without a name (repeatable)")
	c.Flags().StringArrayVar(&f.known, "known", nil, "value of an input of a model that must be known when compiling: NAME=FILE, or a number or list of numbers, NAME=1,2.5 (repeatable)")
	flagnames.Entries(c.Flags(), "dim", "known")
	f.addShape(c)
	c.Flags().StringArrayVar(&f.rules, "rules", nil, "file of mapping rules for foreign graphs, tried before the built-in ones (repeatable)")
	flagnames.Texts(c.Flags(), "rules")
	c.Flags().BoolVar(&f.unchecked, "unchecked-indices", false, "do not check in each run that indices of a foreign graph's operations are in range: outside is read as 0 and not written")
	keep := c.Flags().Bool("keep-functions", c.Name() == "translate" || c.Name() == "opt", "make functions that a model defines, and subgraphs of an Amanda graph, definitions, and their calls operations that use them, and not the operations of the functions")
	c.PreRun = func(*cobra.Command, []string) { f.functions, f.back = *keep, c.Name() == "translate" }
	c.Flags().BoolVar(&f.Analyze, "analyze", false, "only report which operations of a foreign graph are mapped, by which rules, and which are not")
}

// Options reads the flags: rules may use the kernels of a library.
func (f *Flags) Options(lib *kernels.Library) (o onnx.Options, err error) {
	o.Library, o.Unchecked, o.Functions = lib, f.unchecked, f.functions
	if o.Dims, err = dims.Single(f.Dims); err != nil {
		return o, err
	}
	for _, file := range f.rules {
		text, err := inputfile.ReadText(file, inputfile.MaxText)
		if err != nil {
			return o, err
		}
		t, err := rules.Parse(file, string(text))
		if err == nil {
			err = cmp.Or(t.Check(lib), f.Vocabularies.Set().CheckTable(t))
		}
		if err != nil {
			return o, err
		}
		o.Tables = append(o.Tables, t)
	}
	return o, nil
}

// readTensor reads a file with one tensor, .pb as ONNX has it included.
func readTensor(path string) (tensorfile.Tensor, error) {
	if strings.HasSuffix(path, portfiles.Suffix) {
		_, t, err := portfiles.Read(path)
		return t, err
	}
	f, err := tensorfile.Open(path)
	if err != nil {
		return tensorfile.Tensor{}, err
	}
	defer f.Close()
	if n := len(f.Tensors()); n != 1 {
		return tensorfile.Tensor{}, fmt.Errorf("%s: expected one tensor, found %d", path, n)
	}
	return f.Load(f.Tensors()[0].Name)
}

// NoModel is an error if flags for foreign graphs are given for a file that is none.
func (f *Flags) NoModel(file string) error {
	for _, x := range []struct {
		flag  string
		given bool
	}{{"analyze", f.Analyze}, {"dim", len(f.Dims) > 0}, {"known", len(f.known) > 0}, {"shape", len(f.shapes) > 0}, {"rules", len(f.rules) > 0 && !f.back}, {"unchecked-indices", f.unchecked}} {
		if x.given {
			return diag.Usage("--%s is for models in other frameworks' operators: %s is a graph of tapc's own kernels", x.flag, file)
		}
	}
	return nil
}

// Words gives the flags again, for a command line.
func (f *Flags) Words(kernels []string) []string {
	var words []string
	add := func(flag string, values []string) {
		for _, v := range values {
			words = append(words, flag, v)
		}
	}
	add("--kernels", kernels)
	add("--rules", f.rules)
	add("--shape", f.shapes)
	add("--known", f.known)
	add("--dim", f.Dims)
	add("--namespace", f.Vocabularies.Values)
	if f.unchecked {
		words = append(words, "--unchecked-indices")
	}
	return words
}
