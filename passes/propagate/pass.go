package propagate

import (
	"context"
	"fmt"
	"os"
	"strings"

	"tensortapestry.org/tapc/cost/machine"
	"tensortapestry.org/tapc/dialects/application/planfile"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/internal/outputfile"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/passes/pipeline"
)

// Pass is the row of the pass table, with the kernels that graphs may use. Operations that get no axes get the one application that the dialect
// asks for from whole, which gives their number.
func Pass(lib *kernels.Library, whole func(g *ir.Graph) int, split Partial) pipeline.Pass {
	return pipeline.Pass{
		Name: "propagate", Doc: "Cut operations into applications as a few tensors lie on a mesh of devices.",
		Upto: pipeline.ApplicationExpression, Gives: pipeline.ApplicationExpression,
		Standard: pipeline.Standard{Phase: pipeline.Lowering},
		Options: []pipeline.Option{
			{Name: "plan", Doc: "the plan file (docs/plans.md) whose mesh and tensors are propagated", Type: pipeline.Path, Required: true, Fact: pipeline.Plans},
			{Name: "at", Doc: "what is cut otherwise, as the option of pass shard has it: what the plan says of that is replaced", Type: pipeline.String, Many: true, Fact: pipeline.Shards},
			{Name: "reshard", Doc: "what happens where layouts do not agree: a transfer, which is reported, or an error", Type: pipeline.String, Default: Implicit,
				Words: []string{Implicit, Refuse}, Fact: pipeline.Reshards},
			{Name: "machine", Doc: "the machine that transfers are priced for: a name that tapc machine lists, or the path of a machine file", Type: pipeline.String,
				Fact: pipeline.Machines},
			{Name: "write", Doc: "a file for the plan with the layouts of all tensors that have a label", Type: pipeline.String, Fact: pipeline.Propagated},
			pipeline.AllowOption,
			{Name: "devices", Doc: "how many devices there are: the mesh's, on which applications are placed, or 1, on which all are", Type: pipeline.Int, Default: "1", Fact: pipeline.Devices},
		},
		Run: func(_ context.Context, p *pipeline.Context) error {
			plan, err := planfile.Read(p.Text("plan"))
			if err != nil {
				return err
			}
			s := Settings{Library: lib, Split: split, Devices: int64(p.Int("devices"))}
			if s.Allow, err = p.Allow(); err != nil {
				return err
			}
			s.Allow |= plan.Permissions
			if name := p.Text("machine"); name != "" {
				if s.Machine, err = machine.Find(name); err != nil {
					return err
				}
			}
			at := p.Texts("at")
			if err := tell(p, plan, at, s); err != nil {
				return err
			}
			if plan.Cuts, err = plan.Behind(at); err != nil {
				return err
			}
			var complete *planfile.Plan
			if p.Text("write") != "" {
				if complete, err = Complete(p.Graph, plan, s); err != nil {
					return err
				}
			}
			n, r, err := Run(p.Graph, plan, s)
			if err != nil {
				return err
			}
			if err := report(p, r.Transfers); err != nil {
				return err
			}
			if path := p.Text("write"); path != "" {
				if err := outputfile.Replace(path, 0o644, func(f *os.File) error { return planfile.Write(f, complete) }); err != nil {
					return err
				}
			}
			p.Count("applications", n+whole(p.Graph))
			return nil
		},
	}
}

// The values of the option reshard.
const (
	Implicit = "implicit"
	Refuse   = "refuse"
)

// report tells of transfers, or refuses those that need another layout.
func report(p *pipeline.Context, transfers []Transfer) error {
	var refused diag.List
	for _, t := range transfers {
		if p.Text("reshard") == Refuse && !t.Halo {
			refused = append(refused, t.Diagnostic(diag.Error))
			continue
		}
		p.Remark(t.Diagnostic(diag.Remark))
	}
	return refused.Err()
}

// tell tells which operations the layouts of a plan would cut that others, given beside it, replace.
func tell(p *pipeline.Context, plan *planfile.Plan, at []string, s Settings) error {
	if len(at) == 0 || len(plan.Tensors) == 0 {
		return nil
	}
	given, err := (&planfile.Plan{}).Behind(at)
	if err != nil {
		return err
	}
	g := p.Graph.Clone() // which gets signatures
	operations, err := Find(g, plan, s)
	if err != nil {
		return err
	}
	for _, o := range operations {
		var along []string
		for d, axes := range o.Axes {
			if len(axes) > 0 {
				along = append(along, o.Names[d]+":"+plan.Mesh.Names(axes))
			}
		}
		by := cutBy(given, o.Label, o.Kernel)
		if by == nil || along == nil || cutBy(plan.Cuts, o.Label, o.Kernel) != nil {
			continue
		}
		p.Remark(diag.Diagnostic{Code: "TAP0872", Constraint: constraint, Severity: diag.Remark, Location: p.Graph.At(p.Graph.Node(o.Node), ""),
			Message: fmt.Sprintf("%v replaces the cut of %s that follows from how the plan lays out tensors: %s", by, o.Name, strings.Join(along, ", "))})
	}
	return nil
}
