package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"tensortapestry.org/tapc/cmd/tapc/aliases"
	"tensortapestry.org/tapc/cmd/tapc/codec"
	"tensortapestry.org/tapc/cmd/tapc/flagnames"
	"tensortapestry.org/tapc/cmd/tapc/portfiles"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/frontends/foreign"
	"tensortapestry.org/tapc/frontends/mapping"
	"tensortapestry.org/tapc/frontends/mapping/rules"
	"tensortapestry.org/tapc/frontends/onnx"
	"tensortapestry.org/tapc/frontends/survey"
	"tensortapestry.org/tapc/internal/dims"
	"tensortapestry.org/tapc/internal/inputfile"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/tensorfile"
)

// importFlags say how a foreign graph is mapped.
type importFlags struct {
	dims    []string
	known   []string
	rules   []string
	analyze bool
	// unchecked leaves out checks of indices; functions makes functions of models and subgraphs definitions; back says that rules are for graphs of tapc's kernels too.
	unchecked, functions, back bool
	// files are the values of --input, of which run takes sizes; rooms what aliases need at all sizes of a program for several.
	files, aliases []string
	rooms          aliases.Rooms
	vocabularyFlags
}

func (a *app) addImportFlags(c *cobra.Command) {
	f := &a.imports
	c.Flags().StringArrayVar(&f.dims, "dim", nil, "size of a symbolic dimension of a model: NAME=8; several for one program: NAME=1,8,32 or NAME=1..4; or INPUT:0=8 for one without a name (repeatable)")
	c.Flags().StringArrayVar(&f.known, "known", nil, "value of an input of a model that must be known when compiling: NAME=FILE, or a number or list of numbers, NAME=1,2.5 (repeatable)")
	flagnames.Entries(c.Flags(), "dim", "known")
	f.vocabularyFlags.add(c)
	c.Flags().StringArrayVar(&f.rules, "rules", nil, "file of mapping rules for foreign graphs, tried before the built-in ones (repeatable)")
	flagnames.Texts(c.Flags(), "rules")
	c.Flags().BoolVar(&f.unchecked, "unchecked-indices", false, "do not check in each run that indices of a foreign graph's operations are in range: outside is read as 0 and not written")
	keep := c.Flags().Bool("keep-functions", c.Name() == "translate" || c.Name() == "opt", "make functions that a model defines, and subgraphs of an Amanda graph, definitions, and their calls operations that use them, and not the operations of the functions")
	c.PreRun = func(*cobra.Command, []string) { f.functions, f.back = *keep, c.Name() == "translate" }
	c.Flags().BoolVar(&f.analyze, "analyze", false, "only report which operations of a foreign graph are mapped, by which rules, and which are not")
}

// options reads the flags: rules may use the kernels of a library.
func (f *importFlags) options(lib *kernels.Library) (o onnx.Options, err error) {
	o.Library, o.Unchecked, o.Functions = lib, f.unchecked, f.functions
	if o.Dims, err = dims.Single(f.dims); err != nil {
		return o, err
	}
	for _, file := range f.rules {
		text, err := inputfile.ReadText(file, inputfile.MaxText)
		if err != nil {
			return o, err
		}
		t, err := rules.Parse(file, string(text))
		if err == nil {
			err = cmp.Or(t.Check(lib), f.vocabularies.Set().CheckTable(t))
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

// isONNX says whether data begins as a model does: with the version of its IR, and not as tapc's own protobuf form.
func isONNX(data []byte) bool {
	return len(data) > 2 && data[0] == 0x08 && data[1] > 1 && data[1] < 0x40 && !codec.IsWire(data) && bytes.IndexByte([]byte{0x12, 0x1a, 0x22, 0x28, 0x32, 0x3a, 0x42}, data[2]) >= 0
}

// imported is a graph in a foreign vocabulary that is not mapped yet or, if it is of tapc's own kernels, done.
type imported struct {
	own      *ir.Graph
	foreign  *foreign.Graph
	options  mapping.Options
	fault    error  // what a dictionary has against it
	producer string // "" if the file does not say
}

// graph maps what was read. With --analyze it prints the report and ends.
func (x *imported) graph(ctx context.Context, a *app) (*ir.Graph, error) {
	switch {
	case x.own != nil:
		return x.own, a.imports.noModel(x.own.File)
	case a.imports.analyze:
		s, err := survey.Look(ctx, x.foreign, x.options)
		if err != nil {
			return nil, err
		}
		if err := s.Write(a.stdout); err != nil {
			return nil, err
		}
		return nil, errReportedOr(s.Err)
	}
	if err := cmp.Or(x.fault, survey.CheckNames(x.foreign, x.options.Dims)); err != nil {
		return nil, err
	}
	g, _, err := mapping.Map(ctx, x.foreign, x.options)
	return g, err
}

// importONNX reads a model.
func importONNX(a *app, data []byte, file string) (*imported, error) {
	o, err := a.imports.options(a.plugins.library())
	if err != nil {
		return nil, err
	}
	m, err := onnx.Read(data, file)
	if err != nil {
		return nil, err
	}
	if err := a.imports.settle(m.Graph, &o); err != nil {
		return nil, err
	}
	return &imported{foreign: m.Graph, options: m.Mapping(o), producer: m.Producer}, nil
}

// noModel is an error if flags for foreign graphs are given for a file that is none.
func (f *importFlags) noModel(file string) error {
	for _, x := range []struct {
		flag  string
		given bool
	}{{"analyze", f.analyze}, {"dim", len(f.dims) > 0}, {"known", len(f.known) > 0}, {"shape", len(f.shapes) > 0}, {"rules", len(f.rules) > 0 && !f.back}, {"unchecked-indices", f.unchecked}} {
		if x.given {
			return diag.Usage("--%s is for models in other frameworks' operators: %s is a graph of tapc's own kernels", x.flag, file)
		}
	}
	return nil
}

// errReportedOr ends a run whose report is its result: with status 0, or 1 when something is not mapped.
func errReportedOr(err error) error {
	status := diag.ExitOK
	if err != nil {
		status = diag.ExitStatus(err)
	}
	return &diag.StatusError{Status: status, Err: errReported{}}
}
