package compiling

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tensortapestry.org/tapc/backends"
	"tensortapestry.org/tapc/cmd/tapc/app"
	"tensortapestry.org/tapc/cmd/tapc/flagfiles"
	"tensortapestry.org/tapc/cost/machine"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/internal/outputfile"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/passes/pipeline"
	"tensortapestry.org/tapc/passes/standard"
)

// Goal is what a compilation is for: an output of a back end or, without one, the graph at a stage.
type Goal struct {
	Output *backends.Output
	Values pipeline.OptionValues // of the output's options
	folder bool                  // the output is made as files in a folder
	Last   pipeline.Stage
}

// Graphs are the values of --emit that ask for the graph.
var Graphs = []struct {
	Name, Doc string
	stage     pipeline.Stage
}{
	{"operations", "the verified Operation Expression", pipeline.OperationExpression},
	{"applications", "the Application Expression, after sharding", pipeline.ApplicationExpression},
	{"schedule", "the Scheduled Kernels", pipeline.ScheduledKernels},
}

// Emits lists the values of --emit: outputs of back ends, then stages of graphs.
func Emits(list backends.List) []string {
	var words []string
	for _, b := range list {
		for _, name := range b.OutputNames() {
			if !slices.Contains(words, name) {
				words = append(words, name)
			}
		}
	}
	for _, g := range Graphs {
		words = append(words, g.Name)
	}
	return words
}

// Targets lists the values of --target: the devices that tapc's own back ends are for.
func Targets(list backends.List) []string {
	var words []string
	for _, b := range list {
		for _, d := range b.Devices {
			words = append(words, d.String())
		}
	}
	return words
}

// goal finds what --emit asks for. Where it was not given it is the first thing that the back end makes, if that is more than a text.
func NewGoal(ctx context.Context, a *app.App, f *Flags, emit string, given bool) (*Goal, error) {
	list := a.Plugins.List()
	if err := app.OneOf("--emit", emit, Emits(list)); err != nil {
		return nil, err
	}
	b, err := BackendOf(a, f)
	if err != nil {
		return nil, err
	}
	for _, g := range Graphs {
		if g.Name == emit {
			return &Goal{Last: g.stage}, f.Decide(ctx, b, g.stage, "--emit="+emit, f.model)
		}
	}
	o := b.Output(emit)
	if first := &b.Outputs[0]; !given && first.Text == nil {
		o = first
	}
	if o == nil {
		with := "--target=" + f.Target
		if f.Backend != "" {
			with = "--backend=" + b.Name
		}
		return nil, diag.Usage("--emit=%s does not go with %s: use --emit=%s", emit, with, strings.Join(b.OutputNames(), ", "))
	}
	settings, err := f.settings(b, o)
	if err != nil {
		return nil, err
	}
	values, err := f.Options.Values(b.Name, o, settings, "--emit="+o.Name)
	if err != nil {
		return nil, err
	}
	f.Options.DecideFor(ctx, b, o, values)
	return &Goal{Output: o, Values: values, Last: pipeline.ScheduledKernels}, nil
}

// backend gives the back end that --backend names or, without that, tapc's own for --target. A back end that is named says the target if
// that is not given.
func BackendOf(a *app.App, f *Flags) (*backends.Backend, error) {
	list := a.Plugins.List()
	target, _ := schedule.DeviceNamed(f.Target)
	if f.Backend == "" {
		if b := list.For(target); b != nil {
			return b, nil
		}
		return nil, app.OneOf("--target", f.Target, Targets(list))
	}
	name, _, _ := strings.Cut(f.Backend, "{")
	b := list.Find(name)
	switch {
	case b == nil && !slices.ContainsFunc(list, func(b backends.Backend) bool { return b.Plugin != "" }):
		if near, ok := diag.Nearest(name, list.Names()); ok {
			return nil, diag.NotKnown("--backend %q: did you mean %q? One of a plugin needs --plugin, or to be installed", name, near)
		}
		return nil, diag.Usage("--backend %q: expected %s, or that of a plugin: name one with --plugin or install one", name, strings.Join(list.Names(), ", "))
	case b == nil:
		return nil, diag.Unknown("back end", name, list.Names())
	case !b.Takes(target) && f.Given("target"):
		return nil, diag.Usage("--target=%s does not go with --backend=%s", f.Target, b.Name)
	case !b.Takes(target):
		f.Target = b.Devices[0].String()
	}
	return b, nil
}

// settings gives those of --backend NAME{OPTION=VALUE,...}.
func (f *Flags) settings(b *backends.Backend, o *backends.Output) ([]pipeline.Setting, error) {
	if f.Backend == "" {
		return nil, nil
	}
	// An output's options are written as a pass's are, so the one parser reads both.
	row := pipeline.Pass{Name: b.Name, Options: o.Options}
	p, err := pipeline.ParsePipeline(f.Backend, &pipeline.Table{Passes: []pipeline.Pass{row}})
	if err != nil {
		return nil, inFlag(err, "--backend")
	}
	if len(p.Steps) != 1 || p.Steps[0].Pass == nil {
		return nil, diag.Usage("--backend %q: expected NAME or NAME{OPTION=VALUE,...}", f.Backend)
	}
	return p.Steps[0].Settings, nil
}

// inFlag gives the findings of a parser that reads the text of another flag.
func inFlag(err error, flag string) error {
	list := slices.Clone(diag.FromError(err))
	for i := range list {
		list[i].Location.File = flag
	}
	return &diag.StatusError{Status: diag.ExitUsage, Err: list}
}

// Decide reads the flags that name processors. Without them kernels are decided for those of a machine, "" for none, whose file says it, and for what the back end decides for otherwise.
func (f *Flags) Decide(ctx context.Context, b *backends.Backend, last pipeline.Stage, use, on string) error {
	err := f.Options.Decide(ctx, b, last, use)
	if err != nil || on == "" || last != pipeline.ScheduledKernels || len(f.Options.Processors) > 0 {
		return err
	}
	m, err := machine.Find(on)
	if err != nil {
		return err
	}
	f.Options.Processors, err = standard.On(m, app.OwnBackends().Choosers())
	return err
}

// Place gives where the goal is written, for what -o says.
func (g *Goal) Place(out string) (string, error) {
	g.folder = g.Output != nil && g.Output.Dir != nil && (g.Output.Text == nil || namesFolder(out))
	if g.Output == nil || g.Output.Text != nil && !g.folder {
		out = cmp.Or(out, app.Standard)
		return out, flagfiles.Place(out)
	}
	switch {
	case g.Output.Dir != nil && (out == "" || out == app.Standard):
		return "", diag.Usage("--emit=%s needs the name of a directory: -o DIRECTORY", g.Output.Name)
	case out == "":
		return "", diag.Usage("build needs -o PROGRAM")
	case out == app.Standard:
		return "", diag.Usage("--emit=%s needs the name of a file: -o FILE", g.Output.Name)
	case g.Output.File != nil:
		return out, outputfile.Place(out)
	}
	return out, nil
}

// namesFolder says whether a name, where a text can be written to a file or files to a folder, means the folder: it is one, ends as one, or has no
// suffix and is nothing yet.
func namesFolder(out string) bool {
	if out == "" || out == app.Standard {
		return false
	}
	info, err := os.Stat(out)
	if err == nil {
		return info.IsDir()
	}
	return os.IsPathSeparator(out[len(out)-1]) || filepath.Ext(out) == ""
}

// make lets the back end make its output of a compiled graph.
func makeOutput(ctx context.Context, a *app.App, g *Goal, j *backends.Job, out string) error {
	j.Values = g.Values
	if err := g.Output.Refuses(j.Graph); err != nil {
		return err
	}
	switch o := g.Output; {
	case o.Text != nil && !g.folder:
		text, err := o.Text(ctx, j)
		if err != nil {
			return err
		}
		return a.WriteFile(ctx, out, func(w io.Writer) error { _, err := io.WriteString(w, text); return err })
	case o.File != nil:
		return o.File(ctx, j, out)
	}
	return IntoDirectory(out, func(dir string) error { return g.Output.Dir(ctx, j, dir) })
}

// IntoDirectory makes files in an empty directory and moves them to another, all of them or none.
func IntoDirectory(dir string, write func(dir string) error) error {
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		defer os.Remove(dir) // which does nothing to one that has files
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return outputfile.Unfit(dir, err)
	}
	made, err := os.MkdirTemp(dir, ".tapc-")
	if err != nil {
		return outputfile.Unfit(dir, err)
	}
	defer os.RemoveAll(made)
	if err := write(made); err != nil {
		return err
	}
	files, err := os.ReadDir(made)
	for _, file := range files {
		if info, wrong := os.Stat(filepath.Join(dir, file.Name())); wrong == nil && !info.Mode().IsRegular() {
			return diag.Fault("%s is in the way", filepath.Join(dir, file.Name()))
		} else if wrong != nil && !errors.Is(wrong, fs.ErrNotExist) {
			err = wrong
		}
	}
	if err != nil {
		return diag.Fault("%w", err)
	}
	for _, file := range files {
		if err := os.Rename(filepath.Join(made, file.Name()), filepath.Join(dir, file.Name())); err != nil {
			return diag.Fault("%w", err)
		}
	}
	return nil
}
