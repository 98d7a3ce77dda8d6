package shard

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"tensortapestry.org/tapc/dialects/application"
	"tensortapestry.org/tapc/dialects/application/cut"
	"tensortapestry.org/tapc/dialects/application/planfile"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/passes/pipeline"
)

// regrained makes other applications of those of an operation.
type regrained func(g *ir.Graph, lib *kernels.Library, n *ir.Node, apps []ir.NodeID, request string, c cut.Cut) ([]ir.NodeID, error)

// Refine is the row of the pass that cuts applications further. Operations that have none get the one that whole gives.
func Refine(lib *kernels.Library, whole func(g *ir.Graph) int) pipeline.Pass {
	return regrain("refine", "Cut the applications of operations further.", "what is cut further, and how along each index dimension: KERNEL=2x1 or LABEL=2x1", cut.Refine, lib, whole)
}

// Coarsen is the row of the pass that joins applications.
func Coarsen(lib *kernels.Library, whole func(g *ir.Graph) int) pipeline.Pass {
	return regrain("coarsen", "Join neighbouring applications of operations.", "what is joined, and how many neighbours along each index dimension: KERNEL=2x1 or LABEL=2x1", cut.Coarsen, lib, whole)
}

func regrain(name, doc, at string, do regrained, lib *kernels.Library, whole func(g *ir.Graph) int) pipeline.Pass {
	return pipeline.Pass{
		Name: name, Doc: doc, Upto: pipeline.ApplicationExpression, Gives: pipeline.ApplicationExpression,
		Options: []pipeline.Option{{Name: "at", Doc: at, Type: pipeline.String, Required: true}},
		Run: func(_ context.Context, p *pipeline.Context) error {
			r, err := planfile.ParseCut(p.Text("at"))
			if err != nil {
				return diag.Usage("%s: expected %s{at=\"TARGET=2x1\"}, found %q", name, name, p.Text("at"))
			}
			named, apps, made := operations(p.Graph), application.ByOperation(p.Graph), 0
			if len(named[r.Target]) == 0 {
				near, ok := diag.Nearest(r.Target, slices.Sorted(maps.Keys(named)))
				if ok {
					near = fmt.Sprintf(": did you mean %q?", near)
				}
				return diag.Usage("%s: no operation has the kernel or label %q%s", name, r.Target, near)
			}
			for _, n := range named[r.Target] {
				ids, err := do(p.Graph, lib, n, apps[n.ID], fmt.Sprintf("%s %s=%v", name, r.Target, r.Cut), r.Cut)
				if err != nil {
					return err
				}
				made += len(ids)
			}
			p.Count("applications", made+whole(p.Graph))
			return nil
		},
	}
}
