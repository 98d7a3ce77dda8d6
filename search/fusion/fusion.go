// Package fusion says which tensors of a graph no memory holds once kernels are joined, by asking the passes that join them.
//
// So what plans are priced as is what passes/fuse does, and not a second opinion of it. It must not price anything, and leaves the graph as it is. Read next: search/layouts,
// which prices what follows where operations and tensors are cut alike.
package fusion

import (
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/dialects/tensorops/sequence"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/passes/apply"
	"tensortapestry.org/tapc/passes/fuse"
	"tensortapestry.org/tapc/passes/lower"
)

// Unstored gives the tensors that operations make and others read without a buffer between, where the graph is scheduled for one device. Only operations that are asked for
// are looked at, as if the graph had no others: what these make are its inputs. It is empty where an operation can not be scheduled, as one of a kernel that only its tags describe.
func Unstored(g *ir.Graph, lib *kernels.Library, asked func(operation ir.NodeID) bool) (found ir.NodeSet) {
	g = g.Clone()
	read := reduce(g, asked)
	var made ir.NodeSet
	for n := range g.Nodes() {
		if op, ok := n.Body.(*tensorops.Operation); ok && !op.IsSource() && !op.IsSink() && !tensorops.IsPrecomputed(n) {
			made.AddPorts(op.Outputs)
		}
	}
	apply.Run(g)
	if err := lower.Run(g, lib, lower.Options{}); err != nil {
		return ir.NodeSet{}
	}
	if _, err := fuse.Run(g, fuse.Options{May: func(ir.NodeID) bool { return true }}); err != nil {
		return ir.NodeSet{}
	}
	for n := range g.Nodes() {
		if b, ok := n.Body.(*schedule.Buffer); ok {
			made.Remove(b.Tensor)
		}
	}
	for t := range made.All {
		if !read.Has(t) {
			found.Add(t)
		}
	}
	return found
}

// reduce leaves out the operations of a graph that are not asked for, and what only they use, and gives the tensors that they read. A graph with sequence points stays as it is.
func reduce(g *ir.Graph, asked func(operation ir.NodeID) bool) (read ir.NodeSet) {
	var used ir.NodeSet
	var gone []ir.NodeID
	for n := range g.Nodes() {
		switch body := n.Body.(type) {
		case *tensorops.Operation:
			if asked(n.ID) {
				used.AddPorts(body.Inputs)
				used.AddPorts(body.Outputs)
				continue
			}
			read.AddPorts(body.Inputs)
			gone = append(gone, n.ID)
		case *sequence.Point:
			return ir.NodeSet{}
		}
	}
	for _, id := range gone {
		g.Remove(id)
	}
	for n := range g.Nodes() {
		if _, ok := n.Body.(*tensorops.Tensor); ok && !used.Has(n.ID) {
			g.Remove(n.ID)
		}
	}
	return read
}
