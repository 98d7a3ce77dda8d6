package rewrite

import (
	"fmt"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir"
)

// order gives the operations with producers before consumers; where that leaves a choice, as in the graph. A graph that is
// in such an order already is left in it. A cycle is an error.
func (ix *index) order() ([]ir.NodeID, error) {
	if ix.sorted {
		return ix.ops, nil
	}
	s := sorter{ix: ix, state: make([]uint8, len(ix.marks))}
	for _, op := range ix.ops {
		if err := s.visit(op); err != nil {
			return nil, err
		}
	}
	return s.out, nil
}

// The states of an operation while sorting.
const (
	waiting uint8 = iota
	visiting
	done
)

// sorter is a depth-first topological sort without recursion, so that a chain of a million operations needs no deep stack.
type sorter struct {
	ix    *index
	state []uint8
	stack []frame
	out   []ir.NodeID
}

// frame is an operation whose inputs are being visited, up to port and entry.
type frame struct {
	op          ir.NodeID
	port, entry int
}

func (s *sorter) visit(op ir.NodeID) error {
	if s.state[op] != waiting {
		return nil
	}
	s.push(op)
	for len(s.stack) > 0 {
		f := &s.stack[len(s.stack)-1]
		next, more := s.next(f)
		switch {
		case !more:
			s.state[f.op] = done
			s.out = append(s.out, f.op)
			s.stack = s.stack[:len(s.stack)-1]
		case next < 0 || s.state[next] == done:
		case s.state[next] == visiting:
			return fmt.Errorf("%s and %s are on a cycle", s.ix.g.Name(next), s.ix.g.Name(f.op))
		default:
			s.push(next)
		}
	}
	return nil
}

func (s *sorter) push(op ir.NodeID) {
	s.state[op] = visiting
	s.stack = append(s.stack, frame{op: op})
}

// next gives the producer of a frame's next input selection.
func (s *sorter) next(f *frame) (producer ir.NodeID, more bool) {
	in := tensorops.OperationOf(s.ix.g, f.op).Inputs
	for ; f.port < in.Len(); f.port, f.entry = f.port+1, 0 {
		if f.entry < len(in.At(f.port).Sel) {
			f.entry++
			return s.ix.producer[in.At(f.port).Sel[f.entry-1].Tensor], true
		}
	}
	return 0, false
}
