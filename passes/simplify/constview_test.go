package simplify_test

import (
	"context"
	"encoding/base64"
	"math/rand/v2"
	"slices"
	"testing"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/zspace"
	"tensortapestry.org/tapc/passes/rewrite"
	"tensortapestry.org/tapc/passes/simplify"
)

// mover builds a graph of operations that move or convert the elements of a constant that is stored as bytes.
type mover struct {
	rnd *rand.Rand
	g   *ir.Graph
	at  ir.Selection
	d   scalar.DType
}

func (m *mover) tensor(shape []int64) ir.Selection {
	by := make(zspace.Point, len(shape))
	for i := range by {
		by[i] = int64(m.rnd.IntN(9) - 4)
	}
	r, err := zspace.MustShape(shape...).Translate(by)
	if err != nil {
		panic(err)
	}
	return ir.Select(m.g.Add(&tensorops.Tensor{DType: m.d.String(), Range: r}, "").ID, r)
}

func (m *mover) op(kernel string, params ir.Attrs, in ir.Ports, shape []int64) {
	out := m.tensor(shape)
	m.g.Add(&tensorops.Operation{Kernel: kernel, Params: params, Inputs: in, Outputs: ir.PortsOf([]ir.Port{{Name: "result", Sel: []ir.Selection{out}}})}, "")
	m.at = out
}

func (m *mover) constant(shape ...int64) {
	n := int64(1)
	for _, x := range shape {
		n *= x
	}
	data := make([]byte, n*int64(m.d.Size()))
	for i := range n {
		randomValue(m.rnd, m.d).Encode(data[i*int64(m.d.Size()):])
	}
	m.op("op:constant", ir.Attrs{{Name: "bytes", Value: ir.StringAttr(base64.StdEncoding.EncodeToString(data))}}, ir.Ports{}, shape)
}

// move adds one operation.
func (m *mover) move() {
	shape := m.at.Range().Shape()
	if m.rnd.IntN(4) == 0 && shape[0] > 1 { // a part of what there is
		part := m.at.Range().Clone()
		part.Start[0]++
		m.at.SetRange(part)
		shape[0]--
	}
	in := ir.PortsOf([]ir.Port{{Name: "tensor", Sel: []ir.Selection{m.at}}})
	last := len(shape) - 1
	switch m.rnd.IntN(7) {
	case 0:
		perm := make([]int64, len(shape))
		to := make([]int64, len(shape))
		for i, p := range m.rnd.Perm(len(shape)) {
			perm[i], to[i] = int64(p), shape[p]
		}
		m.op("op:permute", ir.Attrs{{Name: "perm", Value: ir.IntsAttr(perm...)}}, in, to)
	case 1:
		n := int64(1)
		for _, x := range shape {
			n *= x
		}
		to := []int64{n}
		if n%2 == 0 {
			to = []int64{2, n / 2}
		}
		m.op("op:reshape", ir.Attrs{{Name: "shape", Value: ir.IntsAttr(to...)}}, in, to)
	case 2:
		m.op("op:unsqueeze", ir.Attrs{{Name: "dims", Value: ir.IntsAttr(1)}}, in, slices.Insert(slices.Clone(shape), 1, 1))
	case 3:
		m.op("op:reverse", ir.Attrs{{Name: "dims", Value: ir.IntsAttr(0)}}, in, shape)
	case 4:
		starts, steps, to := make([]int64, len(shape)), make([]int64, len(shape)), slices.Clone(shape)
		for i := range starts {
			steps[i] = 1
		}
		if to[last] > 2 {
			starts[last], steps[last], to[last] = shape[last]-1, -2, (shape[last]+1)/2
		}
		m.op("op:slice", ir.Attrs{{Name: "lengths", Value: ir.IntsAttr(to...)}, {Name: "starts", Value: ir.IntsAttr(starts...)}, {Name: "steps", Value: ir.IntsAttr(steps...)}}, in, to)
	case 5:
		to := []scalar.DType{scalar.Float32, scalar.Float16, scalar.Int32, scalar.Int8, scalar.Bool}[m.rnd.IntN(5)]
		m.d = to
		m.op("op:cast", ir.Attrs{{Name: "dtype", Value: ir.StringAttr(to.String())}}, in, shape)
	case 6:
		if len(shape) > 1 {
			m.op("op:select", ir.Attrs{{Name: "axis", Value: ir.IntAttr(int64(last))}, {Name: "index", Value: ir.IntAttr(-1)}}, in, shape[:last])
		}
	}
}

// A constant that is moved and converted in any way is read as the operations would leave it.
func TestConstantView(t *testing.T) {
	view := simplify.Rules()[1]
	applied := 0
	for seed := range uint64(800) {
		rnd := rand.New(rand.NewPCG(seed, 5))
		m := &mover{rnd: rnd, g: ir.New(), d: []scalar.DType{scalar.Float32, scalar.BFloat16, scalar.Int8, scalar.Int4, scalar.Float8E4M3FNUZ}[rnd.IntN(5)]}
		m.constant(int64(1+rnd.IntN(4)), int64(1+rnd.IntN(5)), int64(1+rnd.IntN(3)))
		for range 1 + rnd.IntN(5) {
			m.move()
		}
		m.op("op:copy", nil, ir.PortsOf([]ir.Port{{Name: "tensor", Sel: []ir.Selection{m.at}}}), m.at.Range().Shape())
		before := m.g.Clone()
		s, err := rewrite.Run(context.Background(), m.g, []rewrite.Rule{view}, rewrite.Options{Verify: true})
		if err != nil {
			t.Fatal(err)
		}
		applied += s.Applied
		if err := sameValues(evaluate(t, before, nil), evaluate(t, m.g, nil)); err != nil {
			t.Fatalf("seed %d: %v\nbefore\n%s\nafter\n%s", seed, err, dump(before), dump(m.g))
		}
	}
	if applied < 1000 {
		t.Errorf("the rule was applied %d times in 800 graphs", applied)
	}
}

// What reads a constant in several ways, or reads it larger than it is, does not make the program larger.
func TestConstantViewKeepsTheSize(t *testing.T) {
	for _, c := range []struct {
		uses int64
		part int64 // of the constant's 8 elements that each reads
		want int
	}{{1, 8, 1}, {2, 8, 0}, {2, 4, 2}, {3, 4, 0}} {
		m := &mover{rnd: rand.New(rand.NewPCG(1, 1)), g: ir.New(), d: scalar.Float32}
		m.constant(8)
		from := m.at
		for range c.uses {
			m.op("op:slice", ir.Attrs{{Name: "lengths", Value: ir.IntsAttr(c.part)}, {Name: "starts", Value: ir.IntsAttr(c.part - 1)}, {Name: "steps", Value: ir.IntsAttr(-1)}},
				ir.PortsOf([]ir.Port{{Name: "tensor", Sel: []ir.Selection{from}}}), []int64{c.part})
			m.op("op:exp", nil, ir.PortsOf([]ir.Port{{Name: "tensor", Sel: []ir.Selection{m.at}}}), []int64{c.part})
		}
		s, err := rewrite.Run(context.Background(), m.g, []rewrite.Rule{simplify.Rules()[1]}, rewrite.Options{Verify: true})
		if err != nil || s.Applied != c.want {
			t.Errorf("%d uses of %d elements: applied %d times, want %d: %v", c.uses, c.part, s.Applied, c.want, err)
		}
	}
}
