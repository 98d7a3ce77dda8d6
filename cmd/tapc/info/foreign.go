package info

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/frontends/foreign"
	"tensortapestry.org/tapc/frontends/mapping"
	"tensortapestry.org/tapc/frontends/mapping/outcome"
	"tensortapestry.org/tapc/frontends/survey"
	"tensortapestry.org/tapc/internal/shellwords"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/scalar"
)

// OfForeign looks at a graph in a foreign vocabulary. Flags are those of the command line that say how it is read.
func OfForeign(ctx context.Context, g *foreign.Graph, o mapping.Options, flags []string) (*Info, error) {
	s, err := survey.Look(ctx, g, o)
	if err != nil {
		return nil, err
	}
	x := &Info{File: g.File, Versions: versions(g), Inputs: []Port{}, Outputs: []Port{}, Dimensions: []Dimension{}, Faults: []string{}}
	for _, p := range survey.Takes(g) {
		if o.Bind[p.Name] == nil {
			x.Inputs = append(x.Inputs, x.input(p, s.Report))
		}
	}
	for _, p := range g.Outputs {
		x.Outputs = append(x.Outputs, output(p, s.Graph))
	}
	x.dimensions(g, s)
	x.operators(g, s)
	x.Parameters.foreign(g)
	if s.Err != nil && len(s.Report.Unmapped) == 0 {
		for _, d := range diag.FromError(s.Err) {
			x.Faults = append(x.Faults, d.Message)
		}
	}
	x.command(flags)
	return x, nil
}

func versions(g *foreign.Graph) []Version {
	list := []Version{}
	for _, domain := range slices.Sorted(maps.Keys(g.Versions)) {
		list = append(list, Version{cmp.Or(domain, g.Namespace), g.Versions[domain]})
	}
	return list
}

func (x *Info) input(p foreign.Port, r *outcome.Report) Port {
	out := port(p)
	wanted := slices.ContainsFunc(r.Unmapped, func(u outcome.Unmapped) bool { return u.Wants == p.Name })
	switch {
	case p.Reason != "":
		x.Faults = append(x.Faults, fmt.Sprintf("input %q %s", p.Name, p.Reason))
	case p.DType == scalar.Invalid:
		x.Faults = append(x.Faults, fmt.Sprintf("input %q has no element type", p.Name))
	case !p.Ranked:
		out.Note = fmt.Sprintf("has no shape: --shape %s=SIZExSIZE", p.Name)
		x.Faults = append(x.Faults, fmt.Sprintf("input %q has no shape: --shape %s=SIZExSIZE", p.Name, p.Name))
	case wanted:
		out.known = known(p)
		out.Note = "must be known when compiling: --known " + shellwords.Quote(out.known[1])
		x.Faults = append(x.Faults, fmt.Sprintf("input %q %s", p.Name, out.Note))
	}
	return out
}

// known gives the flag that gives the value of an input, with a word for each number of a few, else for a file.
func known(p foreign.Port) []string {
	shape := []int64{}
	for _, s := range p.Shape {
		if s.Name != "" {
			return []string{"--known", p.Name + "=FILE"}
		}
		shape = append(shape, s.Value)
	}
	if n := foreign.Elements(shape); n >= 1 && n <= maxNumbers {
		return []string{"--known", p.Name + "=" + strings.Repeat(",NUMBER", int(n))[1:]}
	}
	return []string{"--known", p.Name + "=FILE"}
}

// maxNumbers bounds the numbers that a command line is shown with.
const maxNumbers = 4

func port(p foreign.Port) Port {
	out := Port{Name: p.Name, Note: p.Reason}
	if p.DType != scalar.Invalid {
		out.Type = p.DType.String()
	}
	if p.Ranked {
		out.Shape = []Size{}
	}
	for _, s := range p.Shape {
		switch {
		case s.Name != "":
			out.Shape = append(out.Shape, Size(s.Name))
		case s.Value >= 0:
			out.Shape = append(out.Shape, Size(fmt.Sprint(s.Value)))
		default:
			out.Shape = append(out.Shape, "?")
		}
	}
	return out
}

// output describes an output: what the file does not say of it is as the mapped graph has it, with the sizes of the command.
func output(p foreign.Port, g *ir.Graph) Port {
	out := port(p)
	if g == nil || out.Shape != nil && out.Type != "" {
		return out
	}
	program, err := tensorops.ProgramOf(g)
	if err != nil {
		return out
	}
	for _, o := range program.Outputs {
		if o.Name == p.Name {
			t := tensorops.TensorOf(g, o.Tensor)
			out.Type, out.Shape, out.Note = t.Type().String(), shapeOf(t), "at the sizes below"
		}
	}
	return out
}

func (x *Info) dimensions(g *foreign.Graph, s *survey.Survey) {
	for _, d := range survey.Dims(g) {
		i := slices.IndexFunc(s.Assumed, func(a survey.Assumed) bool { return a.Name == d.Key() })
		if i < 0 {
			continue // given
		}
		dim := Dimension{Name: d.Name, Places: d.Places, Size: s.Assumed[i].Size}
		for _, word := range append([]string{d.Name}, d.Places...) {
			if word != "" {
				dim.Flags = append(dim.Flags, fmt.Sprintf("--dim %s=N", shellwords.Quote(word)))
			}
		}
		x.Dimensions = append(x.Dimensions, dim)
	}
}

// operators counts the operations of a graph, and of graphs inside of it, and says of each kind what the survey found.
func (x *Info) operators(g *foreign.Graph, s *survey.Survey) {
	counts := map[string]int{}
	count(g, g.Versions, counts)
	for _, u := range s.Report.Unmapped {
		counts[u.Op] = max(counts[u.Op], 1) // one that a function of the file holds
	}
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		o := Operator{Name: name, Count: counts[name], Mapped: true}
		for _, u := range s.Report.Unmapped {
			if u.Op == name {
				o.Reasons = append(o.Reasons, Reason{u.Cause, u.Reason, u.Nodes})
			}
		}
		if n := s.Report.Waiting[name]; n > 0 {
			o.Reasons = append(o.Reasons, Reason{Cause: "waits", Text: fmt.Sprintf("%d of them need what is not known", n)})
		}
		o.Mapped = len(o.Reasons) == 0
		x.Operators = append(x.Operators, o)
	}
	x.Builds = s.Graph != nil
}

func count(g *foreign.Graph, versions map[string]int64, into map[string]int) {
	for _, op := range g.Ops {
		into[title(op, versions)]++
		for _, a := range op.Attrs {
			a.Value.Graphs(func(inner *foreign.Graph) { count(inner, versions, into) })
		}
	}
}

func title(op *foreign.Op, versions map[string]int64) string {
	name := op.Type
	if op.Domain != "" {
		name = op.Domain + ":" + name
	}
	if v := versions[op.Domain]; v > 0 {
		name += fmt.Sprintf("@%d", v)
	}
	return name
}

// foreign counts the constants of a graph and of graphs inside of it: those beside its operations, and those that are attributes.
func (p *Parameters) foreign(g *foreign.Graph) {
	for _, d := range g.Consts {
		p.data(d)
	}
	for _, op := range g.Ops {
		for _, a := range op.Attrs {
			if a.Value.Kind == foreign.DataKind {
				p.data(a.Value.Data)
			}
			a.Value.Graphs(p.foreign)
		}
	}
}

func (p *Parameters) data(d *foreign.Data) { p.add(d.Len(), d.Len()*int64(d.DType.Size())) }

// command makes the command line that builds the program.
func (x *Info) command(flags []string) {
	words := []string{"tapc", "build", x.File}
	words = append(words, flags...)
	for _, p := range x.Inputs {
		if p.Shape == nil && p.Type != "" {
			words = append(words, "--shape", p.Name+"=SIZExSIZE")
		}
		words = append(words, p.known...)
	}
	for _, d := range x.Dimensions {
		words = append(words, "--dim", fmt.Sprintf("%s=%d", cmp.Or(d.Name, d.Places[0]), d.Size))
	}
	words = append(words, "-o", programName(x.File))
	for i, w := range words {
		words[i] = shellwords.Quote(w)
	}
	x.Command = strings.Join(words, " ")
}
