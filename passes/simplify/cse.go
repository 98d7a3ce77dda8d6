package simplify

import (
	"math"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/zspace"
	"tensortapestry.org/tapc/passes/rewrite"
)

// CSERule gives the rule cse for one run over a graph. It keeps a table of the operations seen. An entry may have changed
// since, so equality is always decided by the operations as they are.
func CSERule(g *ir.Graph) rewrite.Rule {
	operations, size := 0, 64 // enough for all: growing would hold two tables
	for n := range g.Nodes() {
		if _, ok := n.Body.(*tensorops.Operation); ok {
			operations++
		}
	}
	for size*3 < operations*4 {
		size *= 2
	}
	t := &table{g: g, slots: make([]slot, size)}
	return rewrite.Rule{
		Name: "cse", Source: "Go", Depth: 2,
		Text:    "An operation with the kernel, parameters, inputs and result types of an earlier one gives its consumers the earlier one's results.",
		Because: "kernels are functions: what has an effect carries the tag IOSequencePoint, and is left alone",
		Match:   t.match,
	}
}

// table finds operations by hash, with linear probing; its length is a power of 2.
type table struct {
	g     *ir.Graph
	slots []slot
	count int
}

type slot struct {
	hash uint32 // 0 for an empty one
	op   ir.NodeID
}

func (t *table) match(s *rewrite.Site) (rewrite.Result, bool) {
	if s.Decl() == nil && s.Kernel() != "constant" {
		return rewrite.Result{}, false
	}
	h := t.hash(s.Kernel(), s.Op)
	mask := uint32(len(t.slots) - 1)
	i := h & mask
	for ; t.slots[i].hash != 0; i = (i + 1) & mask {
		if t.slots[i].hash != h {
			continue
		}
		if t.slots[i].op == s.Node.ID {
			return rewrite.Result{}, false
		}
		if op := tensorops.OperationOf(t.g, t.slots[i].op); op != nil && t.same(op, s.Op) {
			return forwardTo(op, t.slots[i].op), true
		}
	}
	t.slots[i] = slot{h, s.Node.ID}
	if t.count++; t.count*4 > len(t.slots)*3 {
		t.grow()
	}
	return rewrite.Result{}, false
}

func (t *table) grow() {
	old := t.slots
	t.slots = make([]slot, 2*len(old))
	mask := uint32(len(t.slots) - 1)
	for _, e := range old {
		if e.hash == 0 {
			continue
		}
		i := e.hash & mask
		for t.slots[i].hash != 0 {
			i = (i + 1) & mask
		}
		t.slots[i] = e
	}
}

// forwardTo gives the results of an earlier operation.
func forwardTo(op *tensorops.Operation, id ir.NodeID) rewrite.Result {
	r := rewrite.Result{From: []ir.NodeID{id}}
	op.Outputs.All(func(_, _ int, s *ir.Selection) {
		r.Outputs = append(r.Outputs, rewrite.Operand{Sel: *s})
	})
	return r
}

// same says whether two operations compute the same.
func (t *table) same(a, b *tensorops.Operation) bool {
	if a.Kernel != b.Kernel || a.Outputs.Len() != b.Outputs.Len() || !a.Inputs.Equal(b.Inputs) || !a.Params.Equal(b.Params) {
		return false
	}
	for i := range a.Outputs.Len() {
		x, y := a.Outputs.At(i), b.Outputs.At(i)
		if x.Name != y.Name || len(x.Sel) != len(y.Sel) {
			return false
		}
		for j := range x.Sel {
			if !t.sameType(x.Sel[j].Tensor, y.Sel[j].Tensor) {
				return false
			}
		}
	}
	return true
}

// sameType says whether two tensors have the same element type and shape; they may start at different places.
func (t *table) sameType(a, b ir.NodeID) bool {
	x, y := tensorops.TensorOf(t.g, a), tensorops.TensorOf(t.g, b)
	if x == nil || y == nil || x.DType != y.DType || x.Range.Rank() != y.Range.Rank() {
		return false
	}
	for i := range x.Range.Start {
		if x.Range.End[i]-x.Range.Start[i] != y.Range.End[i]-y.Range.Start[i] {
			return false
		}
	}
	return true
}

// hash mixes what same compares of an operation's inputs, with the multipliers of the 64-bit finalizer of MurmurHash3.
func (t *table) hash(kernel string, op *tensorops.Operation) uint32 {
	h := hasher(op.Inputs.Len())
	h.text(op.Kernel)
	h.attrs(op.Params)
	for _, p := range op.Inputs.Each() {
		h.add(uint64(len(p.Sel)))
		for i := range p.Sel {
			h.add(uint64(p.Sel[i].Tensor))
			h.point(p.Sel[i].Range().Start)
		}
	}
	return max(1, uint32(h))
}

type hasher uint64

func (h *hasher) add(x uint64) {
	v := (uint64(*h) ^ x) * 0xff51afd7ed558ccd
	*h = hasher((v ^ v>>33) * 0xc4ceb9fe1a85ec53)
}

func (h *hasher) text(s string) {
	for ; len(s) >= 8; s = s[8:] {
		h.add(uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 | uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56)
	}
	x := uint64(len(s)) << 56
	for i := range len(s) {
		x |= uint64(s[i]) << (8 * i)
	}
	h.add(x)
}

func (h *hasher) point(p zspace.Point) {
	for _, x := range p {
		h.add(uint64(x))
	}
}

func (h *hasher) attrs(as ir.Attrs) {
	h.add(uint64(len(as)))
	for i := range as {
		h.text(as[i].Name)
		h.value(&as[i].Value)
	}
}

func (h *hasher) value(v *ir.AttrValue) {
	h.add(uint64(v.Kind))
	h.add(uint64(v.Int))
	h.text(v.Str)
	if v.Num == v.Num {
		h.add(math.Float64bits(v.Num))
	}
	for i := range v.List {
		h.value(&v.List[i])
	}
	h.attrs(v.Map)
}
