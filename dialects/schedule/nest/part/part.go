// Package part takes statements of a scheduled kernel out as a kernel of its own, which reads what others compute from workspaces. It must not import
// dialects/schedule/nest. Read next: dialects/schedule/nest/backtoback.go.
package part

import (
	"maps"
	"slices"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
)

// Part is some statements of a kernel, taken out as a kernel of its own.
type Part struct {
	Of      *schedule.Kernel
	Over    func(statement int) []int // the loops along which a statement has several values
	Outputs map[int]ir.NodeID         // statements that are written to workspaces; none: the kernel's own result is
	Inputs  map[int]ir.NodeID         // statements that are read from workspaces
	made    *schedule.Kernel
	operand map[int]int // by operand of the kernel
	held    map[ir.NodeID]int
	local   map[int]int // by statement of the kernel
}

// Kernel makes the kernel. Stored is the statement with the result of the whole one; buffers has the workspaces too.
func (s *Part) Kernel(stored int, buffers map[ir.NodeID]*schedule.Buffer) *schedule.Kernel {
	k := s.Of
	s.made = &schedule.Kernel{Name: k.Name, Device: k.Device, Loops: slices.Clone(k.Loops)}
	s.operand, s.held, s.local = map[int]int{}, map[ir.NodeID]int{}, map[int]int{}
	from := []int{stored}
	if len(s.Outputs) > 0 {
		from = slices.Sorted(maps.Keys(s.Outputs))
	}
	read := func(i int) bool { _, ok := s.Inputs[i]; return ok && !slices.Contains(from, i) }
	for i, in := range Closure(s.Of, from, read) {
		if in && !read(i) {
			s.statement(i, buffers)
		}
	}
	for _, i := range from { // what is read from the same place is not needed any more
		if id, ok := s.Outputs[i]; ok {
			x := k.Statements[i]
			x.Name += "_held"
			x.Value = scalar.NewLocal(s.local[i], x.Value.Type)
			x.Store = int64(s.workspaceOperand(i, id, schedule.Write, buffers))
			s.made.Statements = append(s.made.Statements, x)
		}
	}
	s.leaveLoops()
	return s.made
}

// statement adds one.
func (s *Part) statement(i int, buffers map[ir.NodeID]*schedule.Buffer) {
	x := s.Of.Statements[i]
	x.Value = x.Value.Map(func(e *scalar.Expr) *scalar.Expr {
		switch e.Op {
		case scalar.Load:
			return scalar.NewLoad(s.operandOf(e.Ref), e.Type)
		case scalar.Local:
			if id, ok := s.Inputs[e.Ref]; ok {
				return scalar.NewLoad(s.workspaceOperand(e.Ref, id, schedule.Read, buffers), e.Type)
			}
			return scalar.NewLocal(s.local[e.Ref], e.Type)
		}
		return e
	})
	if x.Store >= 0 {
		x.Store = int64(s.operandOf(int(x.Store)))
	}
	s.local[i] = len(s.made.Statements)
	s.made.Statements = append(s.made.Statements, x)
}

func (s *Part) operandOf(i int) int {
	if at, ok := s.operand[i]; ok {
		return at
	}
	s.operand[i] = len(s.made.Operands)
	s.made.Operands = append(s.made.Operands, s.Of.Operands[i])
	return s.operand[i]
}

// workspaceOperand gives the operand through which the values of a statement are read from a workspace, or written to it.
func (s *Part) workspaceOperand(statement int, id ir.NodeID, mode schedule.Mode, buffers map[ir.NodeID]*schedule.Buffer) int {
	key := 2*id + ir.NodeID(mode)
	if at, ok := s.held[key]; ok {
		return at
	}
	b := buffers[id]
	o := schedule.Operand{Name: s.Of.Statements[statement].Name, Buffer: id, DType: b.DType, Mode: mode}
	over := s.Over(statement)
	o.Access.Offset = make([]int64, len(over))
	for _, l := range over {
		row := make([]int64, len(s.made.Loops))
		row[l] = 1
		o.Access.Projection = append(o.Access.Projection, row)
	}
	s.held[key] = len(s.made.Operands)
	s.made.Operands = append(s.made.Operands, o)
	return s.held[key]
}

// leaveLoops gives the loops that no statement of the stage runs along one value.
func (s *Part) leaveLoops() {
	for l := range s.made.Loops {
		if !slices.ContainsFunc(s.made.Statements, func(x schedule.Statement) bool {
			return slices.Contains(x.Over, int64(l)) || x.Value.Any(func(e *scalar.Expr) bool { return slices.Contains(e.Over, l) })
		}) {
			s.made.Loops[l].End, s.made.Loops[l].Of = s.made.Loops[l].Start+1, nil
		}
	}
}

// Closure gives the statements that some values need, these included; what those need at which it stops is not.
func Closure(k *schedule.Kernel, from []int, stop func(i int) bool) []bool {
	in := make([]bool, len(k.Statements))
	for _, i := range from {
		in[i] = true
	}
	for i, s := range slices.Backward(k.Statements) {
		if !in[i] || stop(i) {
			continue
		}
		s.Value.Walk(func(e *scalar.Expr) bool {
			if e.Op == scalar.Local {
				in[e.Ref] = true
			}
			return true
		})
	}
	return in
}
