package cpu

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"

	"tensortapestry.org/tapc/backends"
	"tensortapestry.org/tapc/backends/cpu/cabi"
	"tensortapestry.org/tapc/backends/cpu/isa"
	"tensortapestry.org/tapc/backends/cpu/panels"
	"tensortapestry.org/tapc/backends/cpu/toolchain"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/internal/interruptible"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/tensorfile"
	"tensortapestry.org/tapc/passes/pipeline"
	"tensortapestry.org/tapc/passes/tile"
)

// The options of outputs.
var (
	cpuOption = pipeline.Option{Name: "cpu", Type: pipeline.String,
		Doc: "CPU to compile for: native, x86-64-v3, armv8.2-a, … (what the compiler knows), baseline, or portable: versions for several, of which the program takes the best (default: native; portable if the compiler is one for other machines)"}
	ccOption = pipeline.Option{Name: "cc", Type: pipeline.String,
		Doc: "C compiler, which may be one for other machines: its target decides what the program is for (default: $CC, else cc, gcc or clang)"}
	nameOption = pipeline.Option{Name: "name", Type: pipeline.String,
		Doc: "what the names of a library's C functions and macros begin with (default: the name of the graph's file)"}
	weightsOption = pipeline.Option{Name: "weights", Type: pipeline.String, Default: "embed", Words: []string{"embed", "file"},
		Doc: "where constants go: embed, into the program; or file, to a file beside it that the program maps"}
)

// Backend is the row of the list of back ends.
func Backend() backends.Backend {
	t := &tools{found: map[string]*toolchain.Compiler{}}
	each := []pipeline.Option{cpuOption, ccOption}
	named := append(slices.Clone(each), nameOption)
	return backends.Backend{
		Name: "cpu", Doc: "Programs for CPUs, by way of C.", Devices: []schedule.DeviceType{device}, Configs: Choosers()[0], Common: common, Memory: memoryOf, Lab: t.lab,
		Processors: &backends.Processors{Options: each, Targets: t.targets},
		Outputs: []backends.Output{
			{Name: "exe", Doc: "an executable", Options: append(slices.Clone(each), weightsOption), Sizes: true, Files: true, Ready: t.ready,
				File: func(ctx context.Context, j *backends.Job, path string) error {
					return t.make(ctx, j, path, Options{Weights: weightsFile(j, path)}, Build)
				}},
			{Name: "lib", Doc: "a library to load or link", Options: append(slices.Clone(named), weightsOption), Sizes: true, Ready: t.readyNamed, File: func(ctx context.Context, j *backends.Job, path string) error {
				return t.makeNamed(ctx, j, path, Options{Weights: weightsFile(j, path)}, BuildLibrary)
			}},
			{Name: "obj", Doc: "an object file", Options: named, Sizes: true, Ready: t.readyNamed, File: func(ctx context.Context, j *backends.Job, path string) error {
				return t.makeNamed(ctx, j, path, Options{}, BuildObject)
			}},
			{Name: "c", Doc: "the C program; to a folder, with all that it takes to build it", Options: named, Sizes: true, Files: true, Ready: t.readyC, Text: t.text, Dir: t.folder},
			{Name: "tree", Doc: "what kernels do that are written by a tile tree", Files: true, Text: func(ctx context.Context, j *backends.Job) (string, error) {
				return interruptible.Value(ctx, func() (string, error) { return Trees(j.Graph) })
			}},
		},
	}
}

// weightsFile gives the file that the constants of a program go to, or "" if they go into it.
func weightsFile(j *backends.Job, path string) string {
	if j.Values.Text(weightsOption.Name) == "file" {
		return path + cabi.WeightsSuffix
	}
	return ""
}

func emitted(ctx context.Context, j *backends.Job) (*Source, error) {
	made := cabi.MadeFrom(j.Made)
	if j.Sizes != nil {
		loads := make([]panels.LoadConst, len(j.Sizes.Versions))
		for i, v := range j.Sizes.Versions {
			loads[i] = func(c tensorops.Const) (tensorfile.Tensor, error) { return v.Load(ctx, c) }
		}
		return interruptible.Value(ctx, func() (*Source, error) { return EmitSizes(j.Sizes, j.Program, j.Version, made, loads) })
	}
	return interruptible.Value(ctx, func() (*Source, error) { return prepareMade(j.Graph, j.Program, j.Version, made) })
}

func common(ctx context.Context, j *backends.Job) ([]backends.Shared, error) {
	src, err := emitted(ctx, j)
	if err != nil {
		return nil, err
	}
	return src.Common()
}

// memoryOf gives what a program that runs on so many threads has in memory at most, on the processors that kernels are decided for.
func memoryOf(ctx context.Context, j *backends.Job, threads int64) ([]backends.MemoryTerm, error) {
	src, err := emitted(ctx, j)
	if err != nil {
		return nil, err
	}
	if _, err := src.program.emit(decidedFor(j.Graph), ""); err != nil {
		return nil, err
	}
	terms := src.program.memoryTerms()
	if more, groups := threads-1, max(1, min(threads, src.program.groups().Devices)); more > 0 {
		terms = append(terms, backends.MemoryTerm{What: "code of the C library for threads", Bytes: cabi.ThreadsBytes},
			backends.MemoryTerm{What: fmt.Sprintf("stacks of %d threads more", more), Bytes: more * src.program.threadBytes()},
			backends.MemoryTerm{What: "workspaces of these", Bytes: src.program.Process.Workspaces.More(threads, groups) + (groups-1)*src.program.groups().Bytes})
	}
	return terms, nil
}

// decidedFor gives the processor that the kernels of a graph have their first configs for.
func decidedFor(g *ir.Graph) isa.Target {
	for n := range g.Nodes() {
		if k, ok := n.Body.(*schedule.Kernel); ok {
			for _, c := range k.Configs {
				if t, ok := tile.TargetNamed(c.Target); ok {
					return isa.Target{Target: t, Machine: isa.Scheduled.Machine}
				}
			}
		}
	}
	return isa.Scheduled
}

// tools are the compilers of the machine that were looked for, by the value of ccOption.
type tools struct {
	mu    sync.Mutex
	found map[string]*toolchain.Compiler
}

// find finds a compiler, once.
func (t *tools) find(ctx context.Context, v pipeline.OptionValues) (cc *toolchain.Compiler, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	name := v.Text(ccOption.Name)
	if cc = t.found[name]; cc != nil {
		return cc, nil
	}
	if name == "" {
		cc, err = toolchain.FindCompiler(ctx)
	} else {
		cc, err = toolchain.NamedCompiler(ctx, name)
	}
	if err == nil {
		t.found[name] = cc
	}
	return cc, err
}

// versions gives those that a program has. A level is known by its name, without a compiler.
func (t *tools) versions(ctx context.Context, v pipeline.OptionValues) ([]isa.Target, error) {
	name := v.Text(cpuOption.Name)
	if v.Text(ccOption.Name) == "" {
		for _, m := range isa.Machines() {
			if i := m.Level(name); m.Name != "" && i >= 0 {
				return m.Levels[i : i+1], nil
			}
		}
	}
	cc, err := t.find(ctx, v)
	if err != nil {
		return nil, err
	}
	return cc.Targets(ctx, name)
}

// targets gives the targets of configs of a program's versions.
func (t *tools) targets(ctx context.Context, v pipeline.OptionValues) ([]string, error) {
	versions, err := t.versions(ctx, v)
	var names []string
	for _, x := range versions {
		if name := x.Target.Name(); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names, err
}

// lab finds out about the processor that programs are for. They have to be for one.
func (t *tools) lab(ctx context.Context, r backends.LabRequest) (backends.Lab, error) {
	cc, err := t.find(ctx, r.Values)
	if err != nil {
		return nil, err
	}
	l := &Lab{Compiler: cc, CPU: r.Values.Text(cpuOption.Name), Threads: r.Threads, Dir: r.Dir}
	if l.Threads == 0 {
		l.Threads = runtime.NumCPU()
	}
	targets, err := cc.Targets(ctx, l.CPU)
	if err != nil {
		return nil, err
	}
	if len(targets) != 1 {
		return nil, diag.Usage("what is measured is for one processor: expected --cpu=native, or the name of one that this machine can run")
	}
	l.Target = targets[0]
	return l, nil
}

// writtenFor gives what C in one file is for: what kernels are decided for if nothing names a processor or a compiler.
func (t *tools) writtenFor(ctx context.Context, v pipeline.OptionValues) (isa.Target, error) {
	if v.Text(cpuOption.Name) == "" && v.Text(ccOption.Name) == "" {
		return isa.Scheduled, nil
	}
	versions, err := t.versions(ctx, v)
	if err != nil {
		return isa.Target{}, err
	}
	if len(versions) > 1 {
		var names []string
		for _, x := range versions {
			names = append(names, x.Name)
		}
		return isa.Target{}, diag.Usage("--emit=c writes for one processor, and there are versions for several: expected --cpu=%s; -o FOLDER/ has versions for all", strings.Join(names, ", or "))
	}
	return versions[0], nil
}

// text writes C in one file.
func (t *tools) text(ctx context.Context, j *backends.Job) (string, error) {
	target, err := t.writtenFor(ctx, j.Values)
	if err != nil {
		return "", err
	}
	src, err := emittedNamed(ctx, j)
	if err != nil {
		return "", err
	}
	text, err := interruptible.Value(ctx, func() (*Text, error) { return src.Text(target) })
	if err != nil {
		return "", err
	}
	return text.C, nil
}

// folder writes C and all that it takes to build it.
func (t *tools) folder(ctx context.Context, j *backends.Job, dir string) error {
	for _, o := range []pipeline.Option{cpuOption, ccOption} {
		if text := j.Values.Text(o.Name); text != "" {
			return diag.Usage("--%s=%s does not go with --emit=c and a folder, which has versions for all processors", o.Name, text)
		}
	}
	src, err := emittedNamed(ctx, j)
	if err != nil {
		return err
	}
	load := func(x tensorops.Const) (tensorfile.Tensor, error) { return j.Load(ctx, x) }
	_, err = interruptible.Value(ctx, func() (bool, error) { return true, src.Folder(ctx, load, dir) })
	return err
}

func (t *tools) ready(ctx context.Context, v pipeline.OptionValues) (machine string, err error) {
	cc, err := t.find(ctx, v)
	if err != nil {
		return "", err
	}
	return cc.Triple(), nil
}

// readyC checks the prefix, and that a processor that is named is known.
func (t *tools) readyC(ctx context.Context, v pipeline.OptionValues) (machine string, err error) {
	if err := checkName(v); err != nil {
		return "", err
	}
	_, err = t.writtenFor(ctx, v)
	return "", err
}

// checkName checks the prefix of what has one.
func checkName(v pipeline.OptionValues) error {
	if name := v.Text(nameOption.Name); name != "" {
		return cabi.CheckPrefix(name)
	}
	return nil
}

// emittedNamed is emitted for what has a prefix, which is the program's name.
func emittedNamed(ctx context.Context, j *backends.Job) (*Source, error) {
	j.Program = cmp.Or(j.Values.Text(nameOption.Name), j.Program)
	return emitted(ctx, j)
}

// readyNamed is ready for what has a prefix.
func (t *tools) readyNamed(ctx context.Context, v pipeline.OptionValues) (machine string, err error) {
	if err := checkName(v); err != nil {
		return "", err
	}
	return t.ready(ctx, v)
}

// makeNamed is make for what has a prefix, which is the program's name.
func (t *tools) makeNamed(ctx context.Context, j *backends.Job, path string, opt Options, build builder) error {
	j.Program = cmp.Or(j.Values.Text(nameOption.Name), j.Program)
	h := headerBeside(path)
	if h == path {
		return diag.Usage("%s is the name of the header too, which stands beside what is written: expected a name that ends otherwise", path)
	}
	if err := j.Writable(h); err != nil {
		return err
	}
	return t.make(ctx, j, path, opt, build)
}

// builder builds a program in one of its forms.
type builder func(ctx context.Context, cc *toolchain.Compiler, src *Source, load panels.LoadConst, path string, opt Options) error

// make builds a program. Missing or unfit data is found before the compiler runs.
func (t *tools) make(ctx context.Context, j *backends.Job, path string, opt Options, build builder) error {
	opt.Version, opt.CPU, opt.Stage = j.Version, j.Values.Text(cpuOption.Name), j.Begin
	j.Begin("emit")
	cc, err := t.find(ctx, j.Values)
	if err != nil {
		return err
	}
	src, err := emitted(ctx, j)
	if err != nil {
		return err
	}
	load := func(x tensorops.Const) (tensorfile.Tensor, error) { return j.Load(ctx, x) }
	for _, x := range src.Constants {
		if x.Computed || src.loaded {
			continue
		}
		if _, err := load(x); err != nil {
			return err
		}
	}
	for _, out := range []string{path, path + cabi.WeightsSuffix} {
		if err := j.Writable(out); err != nil {
			return err
		}
	}
	return build(ctx, cc, src, load, path, opt)
}
