package gen

import (
	"bufio"
	"fmt"
	"io"
)

// MLIR is the sink that writes the same operations as an MLIR module, a function for each chain, for races against
// mlir-opt. It has no shards.
type MLIR struct {
	w    *bufio.Writer
	typ  string
	open bool
	args [2]Value
	one  Value
	n    int
}

// NewMLIR makes a sink that writes to w.
func NewMLIR(w io.Writer) *MLIR { return &MLIR{w: bufio.NewWriterSize(w, 1<<16)} }

// Begin writes the start of the module.
func (s *MLIR) Begin(o Options) error {
	if o.Shape == Sharded {
		return fmt.Errorf("MLIR modules have no shards")
	}
	s.typ = fmt.Sprintf("tensor<%dx%dxf32>", o.Extent, o.Extent)
	_, err := fmt.Fprintln(s.w, "module {")
	return err
}

// Input notes an argument of every function.
func (s *MLIR) Input(v Value, name string) error {
	s.args[int(name[0]-'a')] = v
	return nil
}

var mlirNames = map[string]string{"add": "arith.addf", "mul": "arith.mulf", "sub": "arith.subf", "exp": "math.exp"}

// Op writes an operation, and before the first one of a chain the head of its function.
func (s *MLIR) Op(op Op, _ string) error {
	if op.Kernel == "constant" {
		s.one = op.Result
		return nil
	}
	if !s.open {
		s.open = true
		fmt.Fprintf(s.w, "func.func @f%d(%%%d: %s, %%%d: %s) -> %s {\n", s.n, s.args[0], s.typ, s.args[1], s.typ, s.typ)
		fmt.Fprintf(s.w, "%%%d = arith.constant dense<1.0> : %s\n", s.one, s.typ)
		s.n++
	}
	fmt.Fprintf(s.w, "%%%d = %s ", op.Result, mlirNames[op.Kernel])
	for i, a := range op.Args {
		if i > 0 {
			s.w.WriteString(", ")
		}
		fmt.Fprintf(s.w, "%%%d", a)
	}
	_, err := fmt.Fprintf(s.w, " : %s\n", s.typ)
	return err
}

// EndChain writes the end of a function.
func (s *MLIR) EndChain(v Value) error {
	s.open = false
	_, err := fmt.Fprintf(s.w, "return %%%d : %s\n}\n", v, s.typ)
	return err
}

// End writes the end of the module.
func (s *MLIR) End() error {
	fmt.Fprintln(s.w, "}")
	return s.w.Flush()
}
