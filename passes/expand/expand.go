// Package expand makes choices of operations: beside an operation as it is come the expansions that rules offer for it (docs/choices.md).
//
// Rules are those of package rewrite, text in rules/ or Go; each is an identity that holds in one direction, up to its permission. This package must
// not import another pass. Read next: rules/products.rules, then build.go.
package expand

import (
	"context"
	"fmt"
	"slices"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/passes/rewrite"
)

// Settings say what is expanded, and how far.
type Settings struct {
	At    []string // kernels without namespace, and labels; none: every operation
	Depth int      // rounds: in each further one, what the last one made is expanded
	Limit int      // choices that may be made

	Offered func(rule string) // is told of each rule that a choice has a branch of; may be nil
}

// itself is the rewrite's name: what makes a choice.
const itself = "expand"

// Run makes choices of the operations of a graph that rules expand, and gives their number. A rule that needs a permission that the options do not
// give, or that they turn off, offers nothing.
func Run(ctx context.Context, g *ir.Graph, rules []rewrite.Rule, set Settings, opt rewrite.Options) (int, error) {
	rules = slices.DeleteFunc(slices.Clone(rules), func(r rewrite.Rule) bool {
		return !opt.Allow.Has(r.Allow) || slices.Contains(opt.Disable, r.Name)
	})
	made, from := 0, ir.NodeID(0)
	for range set.Depth {
		x := &round{set: set, rules: rules, left: set.Limit - made, kept: asItIs(g), from: from, to: ir.NodeID(g.Bound())}
		s, err := rewrite.Run(ctx, g, []rewrite.Rule{x.rule()}, x.told(opt))
		made += s.Applied
		if err != nil || s.Applied == 0 || s.OutOfFuel {
			return made, err
		}
		from = x.to
	}
	return made, nil
}

// asItIs gives the operations that choices have for what these are of.
func asItIs(g *ir.Graph) (out ir.NodeSet) {
	flow := ir.NewFlow(g, tensorops.OperationKind)
	for _, id := range flow.Ops {
		if op := tensorops.OperationOf(g, id); op.IsChoice() {
			for _, p := range flow.Producers(op.Inputs.Get("branches").Sel[0].Tensor) {
				out.Add(p)
			}
		}
	}
	return out
}

// told gives options by which who asked hears of the rules of each choice that is made.
func (x *round) told(opt rewrite.Options) rewrite.Options {
	trace := opt.Trace
	opt.Trace = func(c rewrite.Change) {
		if trace != nil {
			trace(c)
		}
		for _, rule := range x.last {
			if x.set.Offered != nil {
				x.set.Offered(rule)
			}
		}
	}
	return opt
}

// round expands the operations from one number to another.
type round struct {
	set      Settings
	rules    []rewrite.Rule
	left     int
	kept     ir.NodeSet
	from, to ir.NodeID
	last     []string // the rules of the choice that was matched last
}

func (x *round) rule() rewrite.Rule {
	r := rewrite.Rule{Name: itself, Source: "Go", Text: "An operation becomes a choice between itself and what rules offer for it.",
		Because: "every rule says on which identity it rests", Match: x.match}
	for _, o := range x.rules {
		r.Depth = max(r.Depth, o.Depth)
	}
	return r
}

func (x *round) match(s *rewrite.Site) (rewrite.Result, bool) {
	result, ok := s.Result()
	if !ok || x.left <= 0 || s.Node.ID < x.from || s.Node.ID >= x.to || x.kept.Has(s.Node.ID) || s.Op.IsChoice() || !x.asked(s, result) {
		return rewrite.Result{}, false
	}
	x.last = nil
	b := branches{site: s, like: rewrite.Output{Port: "result", DType: s.Tensor(result.Tensor).DType, Range: result.Range()}}
	must := false
	for _, r := range x.rules {
		if n := len(b.args); len(r.Roots) == 0 || slices.Contains(r.Roots, s.Kernel()) {
			must = b.offer(r) || must
			if len(b.args) > n {
				x.last = append(x.last, r.Name)
			}
		}
	}
	if len(b.args) == 0 {
		return rewrite.Result{}, false
	}
	if !must {
		b.keep()
	}
	n := min(len(b.args), tensorops.MaxBranches)
	b.names, b.args = b.names[:n], b.args[:n]
	x.left--
	op := &rewrite.Op{Kernel: s.Name("choice"), Params: tensorops.ChoiceParams(b.names), Inputs: []rewrite.Input{{Port: "branches", Args: b.args}}, Outputs: []rewrite.Output{b.like}}
	return rewrite.One(rewrite.Operand{New: op}, b.from...), true
}

// asked says whether an operation is one that is to be expanded.
func (x *round) asked(s *rewrite.Site, result ir.Selection) bool {
	return len(x.set.At) == 0 || x.from > 0 || slices.ContainsFunc(x.set.At, func(name string) bool {
		return name == s.Op.Kernel || name == s.Kernel() || name == s.Node.Label && name != "" || name == s.Graph.Node(result.Tensor).Label && name != ""
	})
}

// branches collects what a choice is made of.
type branches struct {
	site  *rewrite.Site
	like  rewrite.Output
	names []string
	args  []rewrite.Operand
	from  []ir.NodeID
}

// offer adds what a rule offers, and says whether the operation must not stay as it is.
func (b *branches) offer(r rewrite.Rule) bool {
	res, ok := r.Match(b.site)
	if !ok {
		return false
	}
	for i, one := range append([]rewrite.Result{res}, res.Others...) {
		if len(one.Outputs) != 1 || one.Outputs[0].New != nil && !b.fits(one.Outputs[0].New) {
			continue
		}
		b.names, b.args = append(b.names, b.unique(r.Name, i+1)), append(b.args, one.Outputs[0])
		b.from = append(b.from, one.From...)
	}
	return r.Class == rewrite.Semantic
}

// unique gives the name of an alternative of a rule: the rule's, behind the first one with its number, and with a greater one where another branch, or the operation as it is, has that.
func (b *branches) unique(rule string, number int) string {
	name := rule
	if number > 1 {
		name = fmt.Sprintf("%s-%d", rule, number)
	}
	for k := number + 1; name == b.site.Kernel() || slices.Contains(b.names, name); k++ {
		name = fmt.Sprintf("%s-%d", rule, k)
	}
	return name
}

// fits says whether an operation that a rule offers has the type of the choice. A result may be larger than what its kernel makes of its inputs: an
// expansion whose steps would broadcast less than the operation is none of it.
func (b *branches) fits(op *rewrite.Op) bool {
	if _, known := b.site.Library().Find(op.Kernel); !known || len(op.Outputs) != 1 {
		return !known
	}
	probe := *op
	probe.Outputs = slices.Clone(op.Outputs)
	return b.site.Infer(&probe) && probe.Outputs[0].DType == b.like.DType && probe.Outputs[0].Range.Shape().Equal(b.like.Range.Shape())
}

// keep puts the operation itself before what rules offer, under its kernel's name.
func (b *branches) keep() {
	itself := like(b.site, b.site.Op, b.site.Op.Inputs)
	itself.New.Outputs = []rewrite.Output{b.like}
	itself.New.Outputs[0].Port = b.site.Op.Outputs.At(0).Name
	b.names = slices.Insert(b.names, 0, b.site.Kernel())
	b.args = slices.Insert(b.args, 0, itself)
}
