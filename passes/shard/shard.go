// Package shard is the pass that cuts operations into applications along their index space.
//
// A request names operations (by kernel or by label) and how their index is cut. The operation's signature, its own or the
// one derived from its kernel, projects each block to the boxes of the shard. Read next: passes/lower.
package shard

import (
	"maps"
	"slices"

	"tensortapestry.org/tapc/dialects/application"
	"tensortapestry.org/tapc/dialects/application/cut"
	"tensortapestry.org/tapc/dialects/application/planfile"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
)

// Request asks for the operations that Target names, a kernel name or a label, to be cut. From is its place in a plan; without one, it is
// the command line's.
type Request = planfile.Cut

// Run cuts the operations that each request names, replacing applications they had, and gives the number of applications
// made. A request that names nothing, or does not fit an operation's index, is an error.
func Run(g *ir.Graph, lib *kernels.Library, requests []Request) (int, error) {
	return carried(g, lib, requests, make([]ir.NodeSet, len(requests)))
}

// carried does so, but for the operations that another request has instead of each.
func carried(g *ir.Graph, lib *kernels.Library, requests []Request, others []ir.NodeSet) (int, error) {
	apps := application.ByOperation(g)
	named := operations(g)
	made := 0
	for i, r := range requests {
		if slices.ContainsFunc(requests[:i], func(x Request) bool { return x.Target == r.Target }) {
			return made, diag.Usage("--shard %s is given twice", r.Target)
		}
		if len(named[r.Target]) == 0 && others[i].Len() == 0 {
			return made, missing(r, named)
		}
		for _, n := range named[r.Target] {
			if others[i].Has(n.ID) {
				continue
			}
			for _, a := range apps[n.ID] {
				g.Remove(a)
			}
			cut, err := cut.Operation(g, lib, n, r.String(), r.Cut)
			if err != nil {
				return made, err
			}
			apps[n.ID] = cut
			made += len(cut)
		}
	}
	return made, nil
}

// missing says that a request names nothing.
func missing(r Request, named map[string][]*ir.Node) error {
	near, ok := diag.Nearest(r.Target, slices.Sorted(maps.Keys(named)))
	if r.From.File != "" {
		d := diag.Errorf("TAP0827", "shard", r.From, "the plan cuts what is not there").Want("the kernel or label of an operation", r.Target)
		if ok {
			d = d.WithHint("did you mean %q?", near)
		}
		return d
	}
	if ok {
		return diag.NotKnown("--shard: no operation has the kernel or label %q: did you mean %q?", r.Target, near)
	}
	return diag.Usage("--shard: no operation has the kernel or label %q", r.Target)
}

// operations gives the operations by what a request may call them, in graph order.
func operations(g *ir.Graph) map[string][]*ir.Node {
	named := map[string][]*ir.Node{}
	for n := range g.Nodes() {
		op, ok := n.Body.(*tensorops.Operation)
		if !ok {
			continue
		}
		named[op.Kernel] = append(named[op.Kernel], n)
		if n.Label != op.Kernel {
			named[n.Label] = append(named[n.Label], n)
		}
	}
	return named
}
