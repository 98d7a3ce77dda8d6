package tensorops

import "tensortapestry.org/tapc/ir"

// CostsKind is the kind of the tag that says what an operation takes whose kernel tapc does not know.
var CostsKind = &ir.Kind{URI: tapcTagBase + "MarginalCosts", Keyword: "costs", Num: 9, New: func() ir.Body { return new(MarginalCosts) }}

// MarginalCosts is what a part of an operation takes: the sum of its terms. What one step along a dimension takes follows, for terms are products. What a
// part reads and writes of its operands the signature says.
type MarginalCosts struct {
	DType string // that it computes with; "" for the type of the first operand
	Terms []CostTerm
}

// CostTerm is what each point of some dimensions takes: numbers of dimensions of the index and, behind them, of the reduced ones, in order; with none, each part.
type CostTerm struct {
	Over       []int64
	Products   int64 // multiply-adds of sums of products
	Operations int64 // others
	Bytes      int64 // loaded and stored beside the operands, each once
	Memory     int64 // bytes held beside the operands
}

// Kind is CostsKind.
func (*MarginalCosts) Kind() *ir.Kind { return CostsKind }

// Fields names the type and the terms.
func (m *MarginalCosts) Fields(f ir.Fields) {
	f.String(ir.Field{Num: 1, Name: "dtype", Optional: true}, &m.DType)
	f.List(ir.Field{Num: 2, Name: "terms"}, len(m.Terms), func(n int) { m.Terms = make([]CostTerm, n) }, func(i int, f ir.Fields) { m.Terms[i].fields(f) })
}

func (t *CostTerm) fields(f ir.Fields) {
	f.Ints(ir.Field{Num: 1, Name: "over", Style: ir.Positional}, &t.Over)
	f.Int(ir.Field{Num: 2, Name: "products", Optional: true}, &t.Products)
	f.Int(ir.Field{Num: 3, Name: "operations", Optional: true}, &t.Operations)
	f.Int(ir.Field{Num: 4, Name: "bytes", Optional: true}, &t.Bytes)
	f.Int(ir.Field{Num: 5, Name: "memory", Optional: true}, &t.Memory)
}

// CostsOf gives what a node is said to take, or nil.
func CostsOf(n *ir.Node) *MarginalCosts {
	m, _ := n.Tag(CostsKind).(*MarginalCosts)
	return m
}
