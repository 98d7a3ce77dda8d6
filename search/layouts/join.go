package layouts

import (
	"slices"

	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/search/fusion"
	"tensortapestry.org/tapc/search/runs"
)

// Operations that passes/fuse makes one kernel of are one where nothing moves between them: they take together what one kernel of all does, and what is between them is not
// stored. Which these are follows from how operations are cut and tensors are kept, and is no choice of its own. What is spared is a sum over the operands that are not stored, exact where
// all of a kernel is cut alike; where a part of it is not, it is near to that.

// join finds the classes of tensors that are not stored. Of what repeats some parts alone were looked at.
func join(x *Space, steps []step, list *runs.List, unstored ir.NodeSet) {
	apart := map[ir.NodeID]bool{}
	g := &x.found.joins.groups
	*g = fusion.Groups{Steps: list.Steps, Makers: map[int]int{}, Unstored: map[int]bool{}}
	for i, s := range steps {
		x.found.joins.classes = append(x.found.joins.classes, x.found.opOf[s.id].class)
		for k, a := range s.op.operands {
			id := s.tensors[k]
			if apart[id] = apart[id] || !list.Repeats.Near(i); a.out {
				g.Makers[int(id)] = i
			}
		}
	}
	stored := make([]bool, len(x.tensors))
	for id, c := range x.found.tensorOf {
		switch y := x.tensors[c]; {
		case apart[id]:
		case y.leaf || y.sends > 0 || !unstored.Has(id):
			stored[c] = true
		default:
			y.joined = true
		}
	}
	for c, y := range x.tensors {
		y.joined = y.joined && !stored[c]
	}
	for i := range x.edges {
		y := x.tensors[x.edges[i].tensor]
		y.edges = append(y.edges, i)
	}
	for id, c := range x.found.tensorOf {
		g.Unstored[int(id)] = x.tensors[c].joined
	}
	g.Alike = func(p fusion.Part, operand int) (int, bool) { return alike(x, steps, p, operand) }
	joint(x, steps)
}

// alike gives the cut of the operation that makes what an operand reads with which nothing moves.
func alike(x *Space, steps []step, p fusion.Part, operand int) (cut int, ok bool) {
	w := &x.ways.wants[steps[p.Step].edges[operand]]
	need := w.needs[w.of[p.Cut]]
	maker, made := x.found.joins.groups.Makers[int(steps[p.Step].tensors[operand])]
	if !made {
		return 0, false
	}
	for k, a := range steps[maker].op.operands {
		if a.out && steps[maker].tensors[k] == steps[p.Step].tensors[operand] {
			from := &x.ways.wants[steps[maker].edges[k]]
			if n := slices.Index(from.needs, need); n >= 0 {
				cut = slices.Index(from.of, uint16(n))
				return cut, cut >= 0
			}
		}
	}
	return 0, false
}

// joint fills in what is joined, by the first operation that each edge is of.
func joint(x *Space, steps []step) {
	x.found.joins.joints = make([][]fusion.Joint, len(x.edges))
	for i, s := range steps {
		for k, a := range s.op.operands {
			e := s.edges[k]
			if a.out || !x.tensors[x.edges[e].tensor].joined || x.found.joins.joints[e] != nil {
				continue
			}
			list := make([]fusion.Joint, len(x.ops[x.edges[e].op].cuts))
			for c := range list {
				list[c], _ = x.found.joins.groups.Joint(fusion.Part{Step: i, Cut: c}, k)
			}
			x.found.joins.joints[e] = list
		}
	}
}

// waits notes what is held behind the results of an operation, if it is the first that makes such ones: tensors that it reads last.
func waits(x *Space, s *step, last []int) {
	for k, a := range s.op.operands {
		if y := x.tensors[x.found.tensorOf[s.tensors[k]]]; a.out && y.behind.edges == nil {
			y.behind.tensors = last
			for i, b := range s.op.operands {
				if !b.out {
					y.behind.edges = append(y.behind.edges, s.edges[i])
				}
			}
		}
	}
}
