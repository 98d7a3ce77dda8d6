package shard

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

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
			{Name: "at", Doc: "what is cut, and how along each index dimension: KERNEL=2x2 or LABEL=2x2; several times for several, which come behind those of a plan", Type: pipeline.String, Many: true,
				Fact: pipeline.Shards},
			pipeline.AllowOption,
			{Name: "devices", Doc: "how many devices there are, over which the parts of what is cut along a reduced dimension are spread; 0 leaves that to what runs behind", Type: pipeline.Int, Default: "0", Fact: pipeline.Devices},
		},
		Run: func(_ context.Context, p *pipeline.Context) error {
			plan, requests, err := requests(p.Texts("at"), p.Text("plan"))
			if err != nil {
				return err
			}
			allow, err := p.Allow()
			if err != nil {
				return err
			}
			for _, d := range replaced(p.Graph, plan.Cuts, requests) {
				p.Remark(d)
			}
			x := sharder{g: p.Graph, lib: lib, allow: allow | plan.Permissions, partial: partial}
			from := ir.NodeID(p.Graph.Bound())
			whole(p.Graph) // before what is cut, as behind pass propagate: the order is one with a plan and without
			if err := x.run(requests); err != nil {
				return err
			}
			whole(p.Graph)
			p.Count("applications", added(p.Graph, from))
			return spread(p.Graph, x.reductions, int64(p.Int("devices")))
		},
	}
}

// added counts the applications whose nodes are behind others.
func added(g *ir.Graph, from ir.NodeID) (n int) {
	for x := range g.Nodes() {
		if _, ok := x.Body.(*application.Application); ok && x.ID >= from {
			n++
		}
	}
	return n
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

// run carries out those that name dimensions which operations reduce, and then the others. Of several requests that name an operation the last holds, for what comes of the operation as well.
func (s *sharder) run(requests []Request) error {
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
		from := ir.NodeID(s.g.Bound())
		parts, err := s.reduced(r, list)
		if err != nil {
			return err
		}
		if !parts {
			rest = append(rest, i)
			continue
		}
		for j := range requests {
			if j == i || !slices.ContainsFunc(asked[requests[j].Target], func(op *ir.Node) bool { return last[op.ID] == i }) {
				continue
			}
			for op := range s.g.Nodes() {
				if _, ok := op.Body.(*tensorops.Operation); ok && op.ID >= from {
					others[j].Add(op.ID)
				}
			}
		}
	}
	left, except := make([]Request, len(rest)), make([]ir.NodeSet, len(rest))
	for at, i := range rest {
		left[at], except[at] = requests[i], others[i]
	}
	_, err := carried(s.g, s.lib, left, except)
	return err
}

// reduced carries out a request for some operations if it names dimensions that they reduce, and says whether it does. What has one part loses the applications that it had.
func (s *sharder) reduced(r Request, list []*ir.Node) (parts bool, err error) {
	made, left, err := s.partial(s.g, s.lib, s.allow, list, r.Cut)
	if err != nil {
		return false, asked(err, r)
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
		if _, err := cut.Operation(s.g, s.lib, p, r.String(), left); err != nil {
			return true, err
		}
	}
	return made != nil, nil
}

// requests gives the plan of a file, which is empty without one, and all that is asked for: its cuts with others behind them.
func requests(at []string, file string) (*planfile.Plan, []Request, error) {
	plan := &planfile.Plan{}
	if len(at) == 0 && file == "" {
		return nil, nil, diag.Usage("shard: nothing to cut; expected shard{at=\"op:linear=2x2\"} or shard{plan=FILE}")
	}
	if file != "" {
		var err error
		if plan, err = planfile.Read(file); err != nil {
			return nil, nil, err
		}
	}
	all, err := plan.Behind(at)
	return plan, all, err
}

// replaced tells which cuts of a plan others replace, that were given beside it.
func replaced(g *ir.Graph, planned, requests []Request) (list []diag.Diagnostic) {
	if len(planned) == 0 {
		return nil
	}
	named := operations(g)
	last := func(list []Request) map[ir.NodeID]int {
		holds := map[ir.NodeID]int{}
		for i, r := range list {
			for _, op := range named[r.Target] {
				holds[op.ID] = i
			}
		}
		return holds
	}
	before, after := last(planned), last(requests)
	for i, c := range planned {
		var names, by []string
		for _, op := range named[c.Target] {
			r := requests[after[op.ID]]
			if before[op.ID] != i || r.From.File != "" {
				continue
			}
			names = append(names, g.Name(op.ID))
			if !slices.Contains(by, r.String()) {
				by = append(by, r.String())
			}
		}
		if len(names) == 0 {
			continue
		}
		text := fmt.Sprintf("%s replaces what the plan says of %s", strings.Join(by, ", "), names[0])
		if n := len(names) - 1; n > 0 {
			text += fmt.Sprintf(" and %d more", n)
		}
		list = append(list, diag.Diagnostic{Code: "TAP0871", Constraint: "shard", Severity: diag.Remark, Location: c.From, Message: text})
	}
	return list
}
