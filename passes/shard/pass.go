package shard

import (
	"context"
	"errors"
	"slices"

	"tensortapestry.org/tapc/dialects/application"
	"tensortapestry.org/tapc/dialects/application/cut"
	"tensortapestry.org/tapc/dialects/application/planfile"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/permission"
	"tensortapestry.org/tapc/passes/pipeline"
)

// Partial cuts operations along the dimensions which they reduce and a cut names, and gives the operations with partial results and the rest of the cut for
// these; no operations if it names none. Those of one reduction are in order.
type Partial func(g *ir.Graph, lib *kernels.Library, allow permission.Set, list []*ir.Node, c cut.Cut) (reductions [][]*ir.Node, rest cut.Cut, err error)

// Pass is the row of the pass table, with the kernels that graphs may use. Operations that it does not cut get the one
// application that the dialect asks for from whole, which gives their number.
func Pass(lib *kernels.Library, whole func(g *ir.Graph) int, partial Partial) pipeline.Pass {
	return pipeline.Pass{
		Name: "shard", Doc: "Cut operations into applications along their index.",
		Upto: pipeline.ApplicationExpression, Gives: pipeline.ApplicationExpression,
		Standard: pipeline.Standard{Phase: pipeline.Lowering},
		Options: []pipeline.Option{
			{Name: "plan", Doc: "the cuts of a plan file (docs/plans.md)", Type: pipeline.Path, Fact: pipeline.Plans},
			{Name: "at", Doc: "what is cut, and how along each index dimension: KERNEL=2x2 or LABEL=2x2", Type: pipeline.String, Fact: pipeline.Shards},
			pipeline.AllowOption,
			{Name: "devices", Doc: "how many devices there are, over which the parts of what is cut along a reduced dimension are spread; 0 leaves that to what runs behind", Type: pipeline.Int, Default: "0", Fact: pipeline.Devices},
		},
		Run: func(_ context.Context, p *pipeline.Context) error {
			requests, planned, err := requests(p.Text("at"), p.Text("plan"))
			if err != nil {
				return err
			}
			allow, err := p.Allow()
			if err != nil {
				return err
			}
			allow |= planned
			x := sharder{g: p.Graph, lib: lib, allow: allow, partial: partial}
			n, err := x.run(requests)
			if err != nil {
				return err
			}
			p.Count("applications", n+whole(p.Graph))
			return spread(p.Graph, x.reductions, int64(p.Int("devices")))
		},
	}
}

// asked adds to an error of a cut where a plan asks for that.
func asked(err error, r Request) error {
	var d diag.Diagnostic
	if r.From.File == "" || !errors.As(err, &d) {
		return err
	}
	return d.WithNote(r.From, "the plan cuts %s so", r.Target)
}

// spread puts the shards of all parts of a reduction on devices in their order, as it is done with the shards of one operation.
func spread(g *ir.Graph, reductions [][]*ir.Node, devices int64) error {
	if devices < 0 || devices > planfile.MaxDevices {
		return diag.Usage("shard: devices=%d: expected 0 to %d", devices, planfile.MaxDevices)
	}
	if devices <= 1 || len(reductions) == 0 {
		return nil
	}
	apps := application.ByOperation(g)
	for _, parts := range reductions {
		var list []ir.NodeID
		for _, p := range parts {
			list = append(list, apps[p.ID]...)
		}
		application.Spread(g, list, devices)
	}
	return nil
}

// sharder carries out the requests of the pass.
type sharder struct {
	g          *ir.Graph
	lib        *kernels.Library
	allow      permission.Set
	partial    Partial
	reductions [][]*ir.Node // the parts of each reduction that was cut
}

// run carries out those that name dimensions which operations reduce, and then the others. It gives the number of applications. Of several requests that name an operation the last
// holds, for what comes of the operation as well.
func (s *sharder) run(requests []Request) (n int, err error) {
	asked, last := operations(s.g), map[ir.NodeID]int{}
	for i, r := range requests {
		for _, op := range asked[r.Target] {
			last[op.ID] = i
		}
	}
	others := make([]ir.NodeSet, len(requests))
	for i, r := range requests {
		for _, op := range asked[r.Target] {
			if last[op.ID] != i {
				others[i].Add(op.ID)
			}
		}
	}
	var rest []int
	for i, r := range requests {
		list := slices.DeleteFunc(operations(s.g)[r.Target], func(op *ir.Node) bool { return others[i].Has(op.ID) })
		there := s.operations()
		parts, shards, err := s.reduced(r, list)
		if err != nil {
			return n, err
		}
		if n += shards; !parts {
			rest = append(rest, i)
			continue
		}
		for j := range requests {
			if j == i || !slices.ContainsFunc(asked[requests[j].Target], func(op *ir.Node) bool { return last[op.ID] == i }) {
				continue
			}
			for op := range s.g.Nodes() {
				if _, ok := op.Body.(*tensorops.Operation); ok && !there.Has(op.ID) {
					others[j].Add(op.ID)
				}
			}
		}
	}
	left, except := make([]Request, len(rest)), make([]ir.NodeSet, len(rest))
	for at, i := range rest {
		left[at], except[at] = requests[i], others[i]
	}
	cut, err := carried(s.g, s.lib, left, except)
	return n + cut, err
}

// operations are those that there are.
func (s *sharder) operations() (all ir.NodeSet) {
	for n := range s.g.Nodes() {
		if _, ok := n.Body.(*tensorops.Operation); ok {
			all.Add(n.ID)
		}
	}
	return all
}

// reduced carries out a request for some operations if it names dimensions that they reduce, and gives the number of applications of their parts. What has one part loses the applications that it had.
func (s *sharder) reduced(r Request, list []*ir.Node) (parts bool, n int, err error) {
	made, left, err := s.partial(s.g, s.lib, s.allow, list, r.Cut)
	if err != nil {
		return false, 0, asked(err, r)
	}
	s.reductions = append(s.reductions, made...)
	apps := application.ByOperation(s.g)
	for _, p := range slices.Concat(made...) {
		for _, a := range apps[p.ID] {
			s.g.Remove(a)
		}
		if len(left.Levels) == 0 {
			continue
		}
		shards, err := cut.Operation(s.g, s.lib, p, r.String(), left)
		if err != nil {
			return true, n, err
		}
		n += len(shards)
	}
	return made != nil, n, nil
}

// requests joins what the options of the pass ask for, and gives the permissions of the plan.
func requests(at, plan string) (out []Request, allow permission.Set, err error) {
	if at == "" && plan == "" {
		return nil, 0, diag.Usage("shard: nothing to cut; expected shard{at=\"op:linear=2x2\"} or shard{plan=FILE}")
	}
	if plan != "" {
		p, err := planfile.Read(plan)
		if err != nil {
			return nil, 0, err
		}
		out, allow = p.Cuts, p.Permissions
	}
	if at != "" {
		r, err := Parse(at)
		if err != nil {
			return nil, 0, err
		}
		out = append(out, r)
	}
	return out, allow, nil
}
