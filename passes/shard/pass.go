package shard

import (
	"context"
	"errors"
	"slices"

	"tensortapestry.org/tapc/dialects/application"
	"tensortapestry.org/tapc/dialects/application/cut"
	"tensortapestry.org/tapc/dialects/application/planfile"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/permission"
	"tensortapestry.org/tapc/passes/pipeline"
)

// Partial cuts operations along the dimensions which they reduce and a cut names, and gives the operations with partial results and the rest of the cut for
// these; no operations if it names none. Those of one reduction are in order.
type Partial func(g *ir.Graph, lib *kernels.Library, allow permission.Set, target string, c cut.Cut) (reductions [][]*ir.Node, rest cut.Cut, err error)

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
			requests, reductions, cut, err := partials(p.Graph, lib, allow, requests, partial)
			if err != nil {
				return err
			}
			n, err := Run(p.Graph, lib, requests)
			if err != nil {
				return err
			}
			p.Count("applications", cut+n+whole(p.Graph))
			return spread(p.Graph, reductions, int64(p.Int("devices")))
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

// partials carries out the requests that name dimensions which operations reduce, and gives the others, the parts of each reduction and the number of applications.
func partials(g *ir.Graph, lib *kernels.Library, allow permission.Set, requests []Request, partial Partial) (rest []Request, reductions [][]*ir.Node, n int, err error) {
	for _, r := range requests {
		made, left, err := partial(g, lib, allow, r.Target, r.Cut)
		if err != nil {
			return nil, nil, n, asked(err, r)
		}
		if made == nil {
			rest = append(rest, r)
			continue
		}
		reductions = append(reductions, made...)
		for _, p := range slices.Concat(made...) {
			if len(left.Levels) == 0 {
				break
			}
			shards, err := cut.Operation(g, lib, p, r.String(), left)
			if err != nil {
				return nil, nil, n, err
			}
			n += len(shards)
		}
	}
	return rest, reductions, n, nil
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
