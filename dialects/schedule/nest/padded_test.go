package nest

import (
	"testing"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/zspace"
)

// TestPaddedOperand: only a condition that says just where the operand's elements are makes a load one of a padded operand.
func TestPaddedOperand(t *testing.T) {
	k := &schedule.Kernel{
		Loops: []schedule.Loop{{Name: "o", End: 4}, {Name: "k", End: 3}},
		Operands: []schedule.Operand{{Name: "x", DType: "float32", Buffer: 1,
			Access: zspace.AffineMap{Projection: zspace.Matrix{{1, 1}}, Offset: zspace.Point{-1}}}},
	}
	buffers := map[ir.NodeID]*schedule.Buffer{1: {DType: "float32", Range: zspace.Range{Start: zspace.Point{0}, End: zspace.Point{4}}}}
	node, number := scalar.Must, scalar.Number
	at := func(shift int64) *scalar.Expr {
		return node(scalar.Sub, node(scalar.Add, scalar.NewLoop(0), scalar.NewLoop(1)), number(shift))
	}
	low, high := node(scalar.Ge, at(1), number(0)), node(scalar.Lt, at(1), number(4))
	zero, load := scalar.NewConst(scalar.FloatValue(scalar.Float32, 0)), scalar.NewLoad(0, scalar.Float32)
	for _, c := range []struct {
		name      string
		condition *scalar.Expr
		outside   *scalar.Expr
		want      bool
	}{
		{"both borders", node(scalar.And, low, high), zero, true},
		{"the other way round", node(scalar.And, node(scalar.Le, at(1), number(3)), node(scalar.Gt, at(0), number(0))), zero, true},
		{"one border", low, zero, false},
		{"a part of the buffer", node(scalar.And, low, node(scalar.Lt, at(1), number(3))), zero, true},
		{"a border too high", node(scalar.And, low, node(scalar.Lt, at(1), number(5))), zero, false},
		{"something else outside", node(scalar.And, low, high), scalar.NewConst(scalar.FloatValue(scalar.Float32, 1)), false},
		{"one more condition", node(scalar.And, node(scalar.And, low, high), node(scalar.Lt, scalar.NewLoop(0), number(2))), zero, false},
	} {
		if _, _, got := paddedOperand(k, buffers, node(scalar.Where, c.condition, load, c.outside)); got != c.want {
			t.Errorf("%s: a padded operand: %v, want %v", c.name, got, c.want)
		}
	}
}
