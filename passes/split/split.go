// Package split is the pass that cuts operations along dimensions that they reduce: into operations that give partial results, and what combines these.
//
// The identity is that of the reduction: it is associative, so that all of a dimension is reduced by combining what its parts give. An operation that does more than reduce
// is written as its steps first; softmax and normalizations so that they reduce once, to a pair (pairs.go). Float sums are cut where blocks of their tree begin, and parts hand over the sums of blocks that are added in
// the tree's order, so that every bit stays (docs/numerics.md); every other cut of a float sum needs the permission reassociate.
//
// It must not import another pass. Read next: dialects/tensorops/reduced, which finds the dimensions.
package split

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"tensortapestry.org/tapc/dialects/application"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/instance"
	"tensortapestry.org/tapc/dialects/tensorops/reduced"
	"tensortapestry.org/tapc/dialects/tensorops/sequence"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/permission"
)

// Run cuts the operations that each request names, and gives the number of operations with partial results. Applications that they had are taken
// away. A request that names nothing, or does not fit an operation, is an error, after which the graph is of no use.
func Run(g *ir.Graph, lib *kernels.Library, allow permission.Set, requests []Request) (int, error) {
	return RunWhile(g, lib, allow, requests, always)
}

func always(string, ir.NodeID) bool { return true }

// RunWhile is Run that asks before each application of a rule (Rules). An operation to which one is not applied stays as it is.
func RunWhile(g *ir.Graph, lib *kernels.Library, allow permission.Set, requests []Request, may func(rule string, operation ir.NodeID) bool) (int, error) {
	c := newCutter(g, lib, allow)
	c.may = may
	for _, r := range requests {
		named := operations(g)
		if len(named[r.Target]) == 0 {
			d := diag.Usage("split: no operation has the kernel or label %q", r.Target)
			if near, ok := diag.Nearest(r.Target, slices.Sorted(maps.Keys(named))); ok {
				d = diag.NotKnown("split: no operation has the kernel or label %q: did you mean %q?", r.Target, near)
			}
			return c.parts, d
		}
		for _, n := range named[r.Target] {
			if _, err := c.cut([]*ir.Node{n}, r.Cuts); err != nil {
				return c.parts, err
			}
		}
	}
	return c.parts, nil
}

func newCutter(g *ir.Graph, lib *kernels.Library, allow permission.Set) *cutter {
	return &cutter{g: g, lib: lib, allow: allow, apps: application.ByOperation(g), ordered: sequence.Ordered(g), widening: map[ir.NodeID]*ir.Node{}, moved: map[ir.NodeID]int{}, may: always}
}

// operations gives the operations by what a request may call them, in graph order.
func operations(g *ir.Graph) map[string][]*ir.Node {
	named := map[string][]*ir.Node{}
	for n := range g.Nodes() {
		if op, ok := n.Body.(*tensorops.Operation); ok && !op.IsSource() && !op.IsSink() && !op.IsCheck() {
			named[op.Kernel] = append(named[op.Kernel], n)
			if n.Label != op.Kernel && n.Label != "" {
				named[n.Label] = append(named[n.Label], n)
			}
		}
	}
	return named
}

// cut cuts the parts of a reduction along one dimension, and what comes of it along the next. It gives the operations with partial results, those of each reduction: an operation that is cut in
// steps may have several, one behind the other.
func (c *cutter) cut(list []*ir.Node, cuts []Cut) (reductions [][]*ir.Node, err error) {
	if len(cuts) == 0 {
		return [][]*ir.Node{list}, nil
	}
	for _, n := range list {
		whole, err := c.lib.BindOperation(c.g, n.ID)
		if err != nil {
			return nil, err
		}
		made, err := c.along(n, whole, cuts[0])
		if err != nil {
			return nil, err
		}
		var all [][]*ir.Node
		for _, parts := range made {
			rest, err := c.named(cuts[1:], n, whole, parts[0])
			if err != nil {
				return nil, err
			}
			more, err := c.cut(parts, rest)
			if err != nil {
				return nil, err
			}
			all = append(all, more...)
		}
		for i, parts := range all {
			if i == len(reductions) {
				reductions = append(reductions, nil)
			}
			reductions[i] = append(reductions[i], parts...)
		}
	}
	return reductions, nil
}

// along cuts an operation along a dimension, and gives the operations with partial results of each reduction, or itself if that has one part.
func (c *cutter) along(n *ir.Node, in *instance.Instance, cut Cut) ([][]*ir.Node, error) {
	dim, err := c.dimension(n, in, cut)
	if err != nil {
		return nil, err
	}
	at, want, found := cut.places(in.Dims[dim].Extent)
	if found != "" {
		return nil, diag.Errorf("TAP0813", "split", c.g.At(n, ""), "%v does not fit %s", cut, c.g.Name(n.ID)).Want(want, found)
	}
	if len(at) == 0 {
		return [][]*ir.Node{{n}}, nil
	}
	if c.ordered.Has(n.ID) {
		return nil, diag.Errorf("TAP0178", "split", c.g.At(n, ""), "%v would replace %s, which a sequence point names", cut, c.g.Name(n.ID)).
			Want("an operation that stays one", c.g.Name(n.ID))
	}
	c.asked, c.whose = cut, c.g.Name(n.ID)
	for _, a := range c.apps[n.ID] {
		c.g.Remove(a)
	}
	return c.reduction(n, in, dim, at)
}

// named gives cuts of an operation by the names that a part of it has for what it reduces: steps have names of their own, for what moves along the same coordinate of their operand.
func (c *cutter) named(cuts []Cut, n *ir.Node, whole *instance.Instance, part *ir.Node) ([]Cut, error) {
	if len(cuts) == 0 || part == n {
		return cuts, nil
	}
	in, err := c.lib.BindOperation(c.g, part.ID)
	if err != nil {
		return nil, err
	}
	own := slices.Clone(cuts)
	for _, d := range reduced.Dims(whole) {
		at := slices.IndexFunc(cuts, func(x Cut) bool { return x.Name == whole.Dims[d].Name })
		if k, ok := coordinate(whole, d); ok && at >= 0 {
			if d, ok := dimAt(in, k+c.moved[part.ID]); ok {
				own[at].Name = in.Dims[d].Name
			}
		}
	}
	return own, nil
}

// reduction cuts an operation along a dim at some places, or leaves it as it is where a rule is not to be applied.
func (c *cutter) reduction(n *ir.Node, in *instance.Instance, dim int, at []int64) ([][]*ir.Node, error) {
	parts, err := c.parted(n, in, dim, at)
	if errors.Is(err, errLeft) {
		return [][]*ir.Node{{n}}, nil
	}
	return parts, err
}

// dimension finds the dim that a cut names.
func (c *cutter) dimension(n *ir.Node, in *instance.Instance, cut Cut) (int, error) {
	var names []string
	for _, i := range reduced.Dims(in) {
		if in.Dims[i].Name == cut.Name {
			return i, nil
		}
		names = append(names, in.Dims[i].Name)
	}
	want, found := fmt.Sprintf("one of %q", names), fmt.Sprintf("%q", cut.Name)
	if names == nil {
		want = "an operation that reduces"
	}
	for _, d := range in.Dims {
		if d.Name == cut.Name && d.Index {
			found += ", which is free: shards are cut along it"
		}
	}
	return 0, diag.Errorf("TAP0811", "split", c.g.At(n, ""), "%s reduces no dimension %q", c.g.Name(n.ID), cut.Name).Want(want, found)
}

// parted gives the parts of an operation that is cut as it is, or of the steps that reduce along the dim.
func (c *cutter) parted(n *ir.Node, in *instance.Instance, dim int, at []int64) ([][]*ir.Node, error) {
	if joins[in.Decl.Name] != "" {
		parts, err := c.pair(n, in, dim, at)
		return [][]*ir.Node{parts}, err
	}
	p, why := plainOf(in, dim)
	if p != nil {
		parts, err := c.plain(n, p, at)
		return [][]*ir.Node{parts}, err
	}
	before, _ := coordinate(in, dim)
	made, k, err := c.inSteps(n, in, dim)
	if err != nil {
		return nil, err
	}
	var parts [][]*ir.Node
	for _, m := range made {
		in, err := c.lib.BindOperation(c.g, m.ID)
		if err != nil {
			return nil, err
		}
		d, ok := dimAt(in, k)
		if !ok {
			continue
		}
		more, err := c.reduction(m, in, d, at)
		if err != nil {
			return nil, err
		}
		for _, p := range slices.Concat(more...) {
			c.moved[p.ID] += k - before
		}
		parts = append(parts, more...)
	}
	if parts == nil {
		return nil, c.refuse(n, in, why)
	}
	return parts, nil
}

// Divisible says whether an operation can be cut along a dimension that it reduces: it is tried on the operation alone. The error says why not.
func Divisible(g *ir.Graph, lib *kernels.Library, n *ir.Node, name string) error {
	_, err := Undivided(g, lib, n, name)
	return err
}

// Undivided says the same, and why in a few words where the kernel is at fault.
func Undivided(g *ir.Graph, lib *kernels.Library, n *ir.Node, name string) (why string, err error) {
	alone := ir.New()
	copied := map[ir.NodeID]ir.NodeID{}
	op := ir.CloneBody(n.Body).(*tensorops.Operation)
	for _, ports := range []ir.Ports{op.Inputs, op.Outputs} {
		ports.All(func(_, _ int, s *ir.Selection) {
			id, ok := copied[s.Tensor]
			if !ok {
				id = alone.Add(ir.CloneBody(g.Node(s.Tensor).Body), "").ID
				copied[s.Tensor] = id
			}
			s.Tensor = id
		})
	}
	m := alone.Add(op, "op")
	in, err := lib.BindOperation(alone, m.ID)
	if err != nil {
		return "", err
	}
	c := newCutter(alone, lib, permission.Reassociate)
	c.asked, c.whose = Cut{Name: name}, "the operation"
	for _, d := range reduced.Dims(in) {
		if in.Dims[d].Name == name {
			_, err := c.reduction(m, in, d, []int64{in.Dims[d].Extent / 2})
			return c.why, err
		}
	}
	return "", fmt.Errorf("it reduces no dimension %q", name)
}
