package cpu

import (
	"fmt"
	"slices"
	"strings"

	"tensortapestry.org/tapc/backends"
	"tensortapestry.org/tapc/backends/cexpr"
	"tensortapestry.org/tapc/backends/cpu/cabi"
	"tensortapestry.org/tapc/backends/cpu/isa"
	"tensortapestry.org/tapc/backends/cpu/panels"
	"tensortapestry.org/tapc/backends/cpu/template"
	"tensortapestry.org/tapc/backends/cpu/unit"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/ir/diag"
)

// ranged is a program for so many sizes that its versions have their code in common: functions that differ in numbers alone are one.
type ranged struct{ *sized }

// EmitSizes prepares a program for several sizes, whose constants the loaders give: those of the same bytes are one.
func EmitSizes(s *backends.Sizes, name, version string, made *cabi.Made, loads []panels.LoadConst) (*Source, error) {
	all, common, err := newSized(s, name, version, made, loads)
	if err != nil {
		return nil, err
	}
	var f form = all
	if len(all.versions) > backends.MaxVersions {
		f = ranged{all}
	}
	return &Source{Constants: common.Constants, program: all.versions[len(all.versions)-1], form: f, loaded: true}, nil
}

// shared is the code of all versions for one target.
type shared struct {
	target   int
	place    int // of the target in the table of numbers, which has those of one architecture
	versions []*emitter
	families []*kernelFamily
	known    map[string]*kernelFamily
	of       []map[int]use // what codes of each version are
	run      *template.Written
}

// kernelFamily is a kernel at many sizes.
type kernelFamily struct {
	*template.Family
	about   string
	written bool
	c       *template.Written
}

// use is a text of a family.
type use struct {
	family *kernelFamily
	text   int
}

// common writes the kernels of all versions for a target.
func (s ranged) common(number int, t isa.Target) (*shared, error) {
	x := &shared{target: number, known: map[string]*kernelFamily{}}
	for _, p := range s.versions {
		e := &emitter{program: p, unit: unit.New(p.Memory, t, ""), known: map[string]int{}, calls: map[int]call{}, numbered: true}
		if len(x.versions) > 0 {
			e.unit.W, e.unit.V = x.versions[0].unit.W, x.versions[0].unit.V
		}
		if err := e.all(); err != nil {
			return nil, err
		}
		if err := x.take(e); err != nil {
			return nil, err
		}
	}
	for _, f := range x.families {
		f.c = f.Write()
	}
	if err := x.check(); err != nil {
		return nil, err
	}
	return x, x.runs()
}

// maxShared bounds the C of a target's kernels: compilers take about a minute for it.
const maxShared = 8 << 20

// check refuses kernels that are written in too many ways.
func (x *shared) check() error {
	total := 0
	var most *kernelFamily
	for _, f := range x.families {
		total += len(f.c.Text)
		if most == nil || len(f.c.Text) > len(most.c.Text) {
			most = f
		}
	}
	if total <= maxShared {
		return nil
	}
	n, _ := most.c.Count()
	greatest := x.versions[len(x.versions)-1]
	return diag.Errorf("TAP0905", "cpu", diag.Location{File: greatest.g.File}, "%d sizes take %d KiB of C, of which %s has %d KiB in %d functions; expected at most %d KiB", len(x.versions), total>>10,
		most.about, len(most.c.Text)>>10, n, maxShared>>10).WithHint("fewer sizes have fewer functions; what numbers alone can not tell apart has functions for each size")
}

// Common says what the kernels of a program for many sizes take, for the processors that passes/tile cuts loops for.
func (src *Source) Common() ([]backends.Shared, error) {
	s, ok := src.form.(ranged)
	if !ok {
		return nil, nil
	}
	x, err := s.common(0, isa.Scheduled)
	if err != nil {
		return nil, err
	}
	var out []backends.Shared
	for _, f := range x.families {
		n, once := f.c.Count()
		out = append(out, backends.Shared{Kernel: f.about, Functions: n, Once: once, Bytes: len(f.c.Text)})
	}
	return out, nil
}

// take adds the kernels of a version to families: each to the kernels of other versions that have its name and its number among those of its name.
func (x *shared) take(e *emitter) error {
	of, nth := map[int]use{}, map[string]int{}
	for i, c := range e.codes {
		nth[c.first.Name]++
		key := fmt.Sprintf("%d %v %s", nth[c.first.Name], c.written, c.first.Name)
		f := x.known[key]
		if f == nil {
			f = &kernelFamily{Family: template.New(fmt.Sprintf("tapc_v%d_f%d", x.target, len(x.families))), about: c.first.Name, written: c.written}
			x.known[key] = f
			x.families = append(x.families, f)
		}
		text, err := f.Add(c.text, numberedKernel, nil)
		if err != nil {
			return err
		}
		of[i] = use{f, text}
	}
	e.codes, e.known = nil, nil
	x.versions, x.of = append(x.versions, e), append(x.of, of)
	return nil
}

// runs writes the functions that carry out the steps of versions.
func (x *shared) runs() error {
	all := template.New(fmt.Sprintf("tapc_v%d_run", x.target))
	for i, e := range x.versions {
		outside := map[string]template.Outside{}
		for step, c := range e.calls {
			u := x.of[i][c.code]
			outside[stepOf(step)] = template.Outside{Function: true, Text: u.family.c.Entry(u.text)}
			outside[rowOf(step)] = template.Outside{Text: u.family.c.Row(u.text)}
		}
		var text strings.Builder
		if err := e.run(&text, "static ", "run"); err != nil {
			return err
		}
		if _, err := all.Add(text.String(), "run", outside); err != nil {
			return err
		}
	}
	x.run = all.Write()
	return nil
}

// files writes the code in files that compile side by side: one for each kernel, and one for the functions that carry out the steps.
func (x *shared) files() []part {
	greatest := x.versions[len(x.versions)-1]
	top := fmt.Sprintf(header, greatest.name+" for "+greatest.unit.Target.Name, greatest.version, "") + "#define HIDDEN __attribute__((visibility(\"hidden\")))\n\n" +
		greatest.prelude() + template.Type
	flags := greatest.unit.Target.Flags
	var out []part
	var programs []*program
	for _, e := range x.versions {
		programs = append(programs, e.program)
	}
	run := top + fmt.Sprintf("#define TAPC_TARGET %d\n\n", x.place)
	for i, f := range x.families {
		own := flags
		if f.written {
			own = slices.Concat(flags, []string{writtenFlag})
		}
		out = append(out, part{fmt.Sprintf("kernels%d_%d", x.target, i), top + "// " + f.about + "\n" + f.c.Text, own, greatest.unit.Target.Name, programs})
		run += f.c.Declare
	}
	return append(out, part{fmt.Sprintf("run%d", x.target), run + x.run.Text, flags, greatest.unit.Target.Name, programs})
}

// code is as a form has it.
func (s ranged) code(first int, targets []isa.Target) (written, error) {
	out := written{next: first + len(targets)}
	var calls strings.Builder
	calls.WriteString("#define HIDDEN __attribute__((visibility(\"hidden\")))\n\n" + template.Type)
	choice(&calls, targets)
	for _, p := range s.versions {
		if err := p.checkConfigs(targets); err != nil {
			return written{}, err
		}
	}
	var all []*shared
	for i, t := range targets {
		x, err := s.common(first+i, t)
		if err != nil {
			return written{}, err
		}
		x.place = i
		out.parts, all = append(out.parts, x.files()...), append(all, x)
		calls.WriteString(x.run.Declare)
	}
	functions := map[string]string{}
	for i := range s.versions {
		fmt.Fprintf(&calls, "#define %s %s\n", named(prefix(i)).run, runOf(&calls, i, all, targets, functions))
		calls.WriteString(numbersOf(i, all))
	}
	out.calls = calls.String() + "\n"
	return out, nil
}

// main is as a form has it.
func (s ranged) main(out *strings.Builder, separate bool) error {
	all, steps := make([]names, len(s.versions)), map[string]string{}
	for i, p := range s.versions {
		all[i] = named(prefix(i))
		p.table(out, all[i].inputs, p.Inputs, p.Sources)
		p.table(out, all[i].outputs, p.Outputs, p.Sinks)
		all[i].steps = p.sharedSteps(out, steps)
	}
	return s.record(out, separate, func(version int) (names, string) {
		return all[version], "  .numbers = " + all[version].prefix + "numbers,\n"
	})
}

// sharedSteps writes the table of the kernels' names, unless it was written for another version, and gives its name.
func (p *program) sharedSteps(out *strings.Builder, known map[string]string) string {
	list := ""
	for _, id := range p.steps {
		name := "copy"
		if k, ok := p.g.Node(id).Body.(*schedule.Kernel); ok {
			name = k.Name
		}
		list += "  " + cexpr.String(name) + ",\n"
	}
	if known[list] == "" && len(p.steps) > 0 {
		known[list] = fmt.Sprintf("steps%d", len(known))
		fmt.Fprintf(out, "static const char *const %s[] = {\n%s};\n\n", known[list], list)
	}
	return known[list]
}

// runOf writes the function that runs a version, unless it was written for another, and gives its name.
func runOf(out *strings.Builder, version int, code []*shared, targets []isa.Target, known map[string]string) string {
	var names []string
	for _, x := range code {
		names = append(names, x.run.Entry(version))
	}
	key := strings.Join(names, " ")
	if known[key] == "" {
		prefix := fmt.Sprintf("r%d_", len(known))
		known[key] = prefix + "run"
		dispatch(out, names, targets, prefix)
	}
	return known[key]
}

// numbersOf writes the numbers of a version, for each target.
func numbersOf(version int, code []*shared) string {
	var rows []string
	for _, x := range code {
		rows = append(rows, x.run.Row(version))
	}
	return fmt.Sprintf("static const void *const %snumbers[] = {%s};\n", prefix(version), strings.Join(rows, ", "))
}
