// Package backends is the form of a back end: what makes programs, or their source, of graphs of Scheduled Kernels.
//
// A Backend is a row, as a pass is: its name, the devices that its graphs are scheduled for, and what it makes of them. The list of tapc's
// own is in cmd/tapc/table.go; the back ends of plugins become rows behind them. This package must not import a back end. Read next:
// backends/cuda/backend.go, the smallest row; docs/backends.md is the guide.
package backends

import (
	"context"
	"fmt"
	"regexp"
	"slices"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/tensorfile"
	"tensortapestry.org/tapc/passes/pipeline"
	"tensortapestry.org/tapc/passes/tile"
)

// Backend is one row of the list of back ends.
type Backend struct {
	Name    string                // lower-case words joined by hyphens
	Doc     string                // one sentence
	Plugin  string                // the plugin that provides it; "" is tapc itself
	Devices []schedule.DeviceType // what the graphs that it takes are scheduled for; empty is any
	Outputs []Output              // what it makes, first what is made if nothing else is asked for
	Configs tile.Chooser          // of its kernels; nil if they have none
	// Processors are those that kernels may be decided for instead of the one that Configs knows; nil if there are none.
	Processors *Processors
	// Common says what each kernel of a program for more than MaxVersions sizes takes; nil where every version has code of its own.
	Common func(ctx context.Context, j *Job) ([]Shared, error)
	// Memory says what a program has in memory at most on so many threads, part by part: they add up to what it states. Nil if it states nothing.
	Memory func(ctx context.Context, j *Job, threads int64) ([]MemoryTerm, error)
	// Lab finds what kernels are measured with on this machine; nil where none are.
	Lab func(ctx context.Context, r LabRequest) (Lab, error)
}

// MemoryTerm is a part of what a program has in memory at most, and what it is in words.
type MemoryTerm struct {
	What  string
	Bytes int64
	Code  bool // an estimate, before compilers write it
}

// Processors are what some options of outputs name.
type Processors struct {
	Options []pipeline.Option
	// Targets gives the targets of configs for them.
	Targets func(ctx context.Context, v pipeline.OptionValues) ([]string, error)
}

// Output is one thing that a back end makes. It has one of Text, File and Dir, or Text and Dir: then -o says which.
type Output struct {
	Name    string // as --emit has it
	Doc     string // a few words
	Options []pipeline.Option
	// Ready finds the tools that making it takes, and says what machine it is made for. The error wraps a *Missing where there are
	// none. Nil: it takes none.
	Sizes bool // it can be made of graphs for several sizes
	Files bool // what is made reads and writes the files that imports and exports of the graph name
	Ready func(ctx context.Context, v pipeline.OptionValues) (machine string, err error)
	Text  func(ctx context.Context, j *Job) (string, error)
	File  func(ctx context.Context, j *Job, path string) error // appears whole, or not at all
	Dir   func(ctx context.Context, j *Job, dir string) error  // writes files into an empty directory
}

// Job is one use of a back end.
type Job struct {
	Graph   *ir.Graph
	Sizes   *Sizes // of a program for several; nil for one. Then Graph is that of the greatest.
	Program string // its name
	Version string // of tapc
	Values  pipeline.OptionValues
	// Load gives the value of a constant.
	Load func(ctx context.Context, c tensorops.Const) (tensorfile.Tensor, error)
	// Writable refuses a file that would be lost.
	Writable func(path string) error
	Made     *Made // what a program is made from; nil if it is made for one run
	// Stage is told what a back end begins to do, as "compile", for the times of --timing; nil if nobody asks.
	Stage func(name string)
}

// Begin tells Stage, if there is one.
func (j *Job) Begin(stage string) {
	if j.Stage != nil {
		j.Stage(stage)
	}
}

// Missing is the error of an output whose tools a machine lacks.
type Missing struct{ What string }

func (m *Missing) Error() string { return "no " + m.What + " found" }

// Tools says what machine the output is made for, or what is missing on this one.
func (o *Output) Tools(ctx context.Context, v pipeline.OptionValues) (machine string, err error) {
	if o.Ready == nil {
		return "", nil
	}
	return o.Ready(ctx, v)
}

// Refuses says why the output can not be made of a graph: it reads or writes files, which what is made would not.
func (o *Output) Refuses(g *ir.Graph) error {
	p, err := tensorops.ProgramOf(g)
	if err != nil || o.Files {
		return err
	}
	for n := range g.Nodes() {
		if op, ok := n.Body.(*tensorops.Operation); ok && op.HasResource() && len(p.Sources)+len(p.Sinks) > 0 {
			return diag.Errorf("TAP0176", "backends", g.At(n, "/body/params/uri"), "%s names a file, which %s does not read or write", g.Name(n.ID), o.Doc).
				Want("a program, which reads and writes files", o.Name)
		}
	}
	return nil
}

// Native gives the target of configs of what is made where no option names a processor, which is this machine's; "" if there are several, or the back end knows no processors.
func (b *Backend) Native(ctx context.Context) (string, error) {
	if b.Processors == nil {
		return "", nil
	}
	v, err := pipeline.Settle(b.Name, b.Processors.Options, nil)
	if err != nil {
		return "", err
	}
	list, err := b.Processors.Targets(ctx, v)
	if err != nil || len(list) != 1 {
		return "", err
	}
	return list[0], nil
}

// Takes says whether graphs for a type of device are among those that the back end takes.
func (b *Backend) Takes(t schedule.DeviceType) bool {
	return len(b.Devices) == 0 || slices.Contains(b.Devices, t)
}

// Output finds an output by name, or gives nil.
func (b *Backend) Output(name string) *Output {
	i := slices.IndexFunc(b.Outputs, func(o Output) bool { return o.Name == name })
	if i < 0 {
		return nil
	}
	return &b.Outputs[i]
}

// OutputNames gives the names of the outputs in order.
func (b *Backend) OutputNames() []string {
	names := make([]string, len(b.Outputs))
	for i, o := range b.Outputs {
		names[i] = o.Name
	}
	return names
}

// List is the back ends that there are, tapc's own first.
type List []Backend

// Find finds a back end by name, or gives nil.
func (l List) Find(name string) *Backend {
	i := slices.IndexFunc(l, func(b Backend) bool { return b.Name == name })
	if i < 0 {
		return nil
	}
	return &l[i]
}

// For gives tapc's own back end for a type of device, or nil.
func (l List) For(t schedule.DeviceType) *Backend {
	i := slices.IndexFunc(l, func(b Backend) bool { return b.Plugin == "" && b.Takes(t) })
	if i < 0 {
		return nil
	}
	return &l[i]
}

// Choosers gives those of the back ends whose kernels have configs.
func (l List) Choosers() []tile.Chooser {
	var out []tile.Chooser
	for _, b := range l {
		if b.Configs != nil {
			out = append(out, b.Configs)
		}
	}
	return out
}

// Names gives the names of the back ends in order.
func (l List) Names() []string {
	names := make([]string, len(l))
	for i, b := range l {
		names[i] = b.Name
	}
	return names
}

var namePattern = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)

// Validate checks the list itself: names are well-formed, and a back end's and its outputs' are its own; rows have texts; an output is one
// of text, file and directory, or of text or directory; and tapc's own say which devices they are for.
func (l List) Validate() error {
	for i := range l {
		b := &l[i]
		switch {
		case !namePattern.MatchString(b.Name) || b.Doc == "" && b.Plugin == "" || len(b.Outputs) == 0:
			return fmt.Errorf("back end %q: the name is malformed, or its text or outputs are missing", b.Name)
		case l.Find(b.Name) != b:
			return fmt.Errorf("back end %q: the name is taken", b.Name)
		case b.Plugin == "" && len(b.Devices) == 0:
			return fmt.Errorf("back end %q: it says no device", b.Name)
		}
		for j := range b.Outputs {
			o := &b.Outputs[j]
			if !namePattern.MatchString(o.Name) || o.Doc == "" || b.Output(o.Name) != o || !o.made() {
				return fmt.Errorf("back end %q: output %q: the name is malformed or taken, the text is missing, or it is not one of text, file and directory", b.Name, o.Name)
			}
		}
	}
	return nil
}

// made says whether an output is made in one way, or is one text or several files.
func (o *Output) made() bool {
	if o.File != nil {
		return o.Text == nil && o.Dir == nil
	}
	return o.Text != nil || o.Dir != nil
}
