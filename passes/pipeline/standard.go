package pipeline

import (
	"fmt"
	"slices"
	"strings"
)

// Phase is when a pass runs in the standard pipeline, the one that makes programs of graphs.
type Phase uint8

// The phases, in order. The user's own passes come before Simplifying.
const (
	OnRequest   Phase = iota // nowhere: it runs where a pipeline names it
	Completing               // it adds to the graph what belongs to it
	Choosing                 // it settles what the graph leaves open, and inlines definitions
	Simplifying              // it changes operations and no value, and is left out where that is not asked for
	Lowering                 // it takes the graph towards a program
)

// Standard is a pass's part in the standard pipeline, which has the rows of the table in the table's order. Neighbouring rows that
// say Fix run again and again until they change nothing.
type Standard struct {
	Phase Phase
	Fix   bool
}

// String says when the pass runs.
func (s Standard) String() string {
	text := [...]string{"where a pipeline names it", "in every compilation, before the user's own passes", "where a graph holds choices open or uses definitions", "where operations are simplified", "in every compilation"}[s.Phase]
	if s.Fix {
		text += ", with its neighbours until they change nothing"
	}
	return text
}

// Fact is something that the standard pipeline is asked for, which options take their values from.
type Fact uint8

// The facts. The first five are lists: a pass that takes some is there once for each value, in the order of its options. Shards all go to one use of a pass. A pass that takes any of these six is not
// there without one.
const (
	NoFact        Fact = iota
	Bindings           // data files whose tensors become constants
	Plans              // files that say how operations are cut
	Choices            // how choices are made that are still open
	Composites         // definitions whose uses stay until they are cut, with commas between; "" is none
	CutComposites      // definitions whose uses stay although they were cut
	Shards             // what is cut into shards, and into how many
	Reshards           // what happens where layouts on a mesh do not agree
	Machines           // what transfers are priced for
	Propagated         // a file for the layouts that are found out
	Target             // what kernels run on
	Permissions        // what the program may do to numbers
	Processors         // targets that kernels are decided for
	CostModel          // the machine by whose costs passes choose
	Devices            // how many devices there are
	Places             // the plan file that says where shards are
	Memories           // bytes of the devices, by number
	facts
)

// isList says whether a pass takes the fact's values one at a time.
func (f Fact) isList() bool { return f >= Bindings && f <= CutComposites }

// Request is what the standard pipeline is asked for.
type Request struct {
	From     Stage // of the graph; what is scheduled is not scheduled again
	Last     Stage // where to stop
	Simplify bool
	First    string // a pipeline of the user's own
	Facts    map[Fact][]string
}

// Standard gives the text of the pipeline that takes a graph to a stage.
func (t *Table) Standard(r Request) string {
	var steps, group []string
	first := r.First
	flush := func() {
		if len(group) > 0 {
			steps, group = append(steps, groupName+"("+strings.Join(group, ",")+")"), nil
		}
	}
	for i := range t.Passes {
		p := &t.Passes[i]
		if p.Standard.Phase > Completing && first != "" {
			steps, first = append(steps, first), ""
		}
		if !p.Standard.Fix {
			flush()
		}
		for _, s := range p.uses(r) {
			if p.Standard.Fix {
				group = append(group, s.String())
			} else {
				steps = append(steps, s.String())
			}
		}
	}
	flush()
	if first != "" {
		steps = append(steps, first)
	}
	return strings.Join(steps, ",")
}

// Opens says whether a pipeline has a pass that may leave choices open.
func (t *Table) Opens(text string) bool {
	p, err := ParsePipeline(text, t)
	return err == nil && opens(p.Steps)
}

func opens(steps []Step) bool {
	return slices.ContainsFunc(steps, func(s Step) bool { return s.Pass != nil && s.Pass.Opens || opens(s.Group) })
}

// Using gives the steps that take the values of a fact, in the order of the standard pipeline: one for each value of a list.
func (t *Table) Using(f Fact, r Request) []string {
	var steps []string
	for i := range t.Passes {
		p := &t.Passes[i]
		for _, o := range p.Options {
			if o.Fact != f || len(r.Facts[f]) == 0 {
				continue
			}
			if !f.isList() {
				steps = append(steps, (&Step{Pass: p, Settings: p.settings(r)}).String())
				continue
			}
			for _, v := range r.Facts[f] {
				steps = append(steps, (&Step{Pass: p, Settings: append([]Setting{{o.Name, v}}, p.settings(r)...)}).String())
			}
		}
	}
	return steps
}

// uses gives the steps that a pass has in the standard pipeline.
func (p *Pass) uses(r Request) []Step {
	lists, many := p.lists(), slices.ContainsFunc(p.Options, func(o Option) bool { return o.Many })
	switch {
	case p.Standard.Phase == OnRequest, p.Standard.Phase == Simplifying && !r.Simplify, p.Gives > r.Last,
		lists == nil && !many && r.From == ScheduledKernels:
		return nil
	case lists == nil && !many:
		return []Step{{Pass: p, Settings: p.settings(r)}}
	}
	var out []Step
	for _, list := range lists {
		for _, v := range r.Facts[list.Fact] {
			settings := p.settings(r)
			if v != "" {
				settings = append([]Setting{{list.Name, v}}, settings...)
			}
			out = append(out, Step{Pass: p, Settings: settings})
		}
	}
	alone := slices.ContainsFunc(p.Options, func(o Option) bool { return o.Many && len(r.Facts[o.Fact]) > 0 }) && !slices.ContainsFunc(p.Options, func(o Option) bool { return o.Required })
	if len(out) == 0 && alone {
		out = append(out, Step{Pass: p, Settings: p.settings(r)})
	}
	return out
}

// settings gives what a request says of a pass's options, lists left out.
func (p *Pass) settings(r Request) []Setting {
	var out []Setting
	for _, o := range p.Options {
		v := r.Facts[o.Fact]
		if o.Fact == NoFact || o.Fact.isList() || len(v) == 0 {
			continue
		}
		if !o.Many {
			v = v[:1]
		}
		for _, x := range v {
			out = append(out, Setting{o.Name, x})
		}
	}
	return out
}

// lists gives the options that take the values of lists.
func (p *Pass) lists() (list []*Option) {
	for i := range p.Options {
		if p.Options[i].Fact.isList() {
			list = append(list, &p.Options[i])
		}
	}
	return list
}

// checkStandard checks the rows' parts in the standard pipeline: phases are in order, every pass takes what is there when it runs,
// order constraints are kept, and facts go to passes that run there.
func (t *Table) checkStandard() error {
	phase, stage := Completing, OperationExpression
	for i := range t.Passes {
		p := &t.Passes[i]
		for _, o := range p.Options {
			if o.Fact != NoFact && (p.Standard.Phase == OnRequest || o.Fact >= facts) {
				return fmt.Errorf("pass table: pass %q: option %q: there is no such fact, or it is not asked for", p.Name, o.Name)
			}
		}
		if p.Standard.Phase == OnRequest {
			continue
		}
		if p.Standard.Phase < phase || p.Standard.Phase > Lowering || !p.takes(stage) {
			return fmt.Errorf("pass table: pass %q: its row is out of order for the standard pipeline", p.Name)
		}
		for _, c := range p.After {
			if j := slices.IndexFunc(t.Passes, func(x Pass) bool { return x.Name == c.Name }); j > i && t.Passes[j].Standard.Phase != OnRequest {
				return fmt.Errorf("pass table: pass %q: the standard pipeline has %q later: %s", p.Name, c.Name, c.Reason)
			}
		}
		phase, stage = p.Standard.Phase, p.after(stage)
	}
	return nil
}
