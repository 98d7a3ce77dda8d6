package marginal

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"tensortapestry.org/tapc/dialects"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/declaration"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/infer"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/sample"
	"tensortapestry.org/tapc/dialects/tensorops/reduced"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/text"
	"tensortapestry.org/tapc/ir/zspace"
)

const product = `tapc 1
%x = tensor float32 [0:6, 0:5]
%w = tensor float32 [0:5, 0:7]
%z = tensor float32 [0:6, 0:7]
%product = operation op:matmul (X: %x, Y: %w) -> (Z: %z)
`

// first gives the first operation of a graph.
func first(t *testing.T, graph string) (*ir.Graph, *ir.Node) {
	t.Helper()
	g, err := text.Read([]byte(graph), "g.tap", dialects.Registry())
	if err != nil {
		t.Fatal(err)
	}
	for n := range g.Nodes() {
		if n.Body.Kind() == tensorops.OperationKind {
			return g, n
		}
	}
	t.Fatal("no operation")
	return nil, nil
}

// A step of a product of 6×5 by 5×7 floats, counted by hand: along rows, one of 5 is read and one of 7 written; along columns one of 5, and one of 6; along
// what is summed, 6 and 7 cells are read.
func TestStepsOfAProduct(t *testing.T) {
	g, n := first(t, product)
	o, err := Of(g, kernels.Builtin(), n)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct {
		name                    string
		operations, bytes, cell float64
	}{{"m", 2 * 5 * 7, 4 * (2*35 + 7), 4 * (5 + 7)}, {"n", 2 * 5 * 6, 4 * (2*30 + 6), 4 * (5 + 6)}, {"k", 2 * 6 * 7, 4 * 2 * 42, 4 * (6 + 7)}} {
		a, err := o.Step(i)
		if err != nil || o.Names[i] != want.name || a.Operations() != want.operations || a.Bytes != want.bytes || a.Footprint != want.cell {
			t.Errorf("%s: %+v, %v, expected %+v", o.Names[i], a, err, want)
		}
	}
}

// What a graph says of a kernel that is not known, where it says what a product takes, is what the declaration gives, of every part.
func TestWhatIsSaidIsWhatIsDeclared(t *testing.T) {
	g, n := first(t, product)
	lib := kernels.Builtin()
	in, err := lib.BindOperation(g, n.ID)
	if err != nil {
		t.Fatal(err)
	}
	if err := reduced.Sign(n, in); err != nil {
		t.Fatal(err)
	}
	tag, err := reduced.Of(in)
	if err != nil {
		t.Fatal(err)
	}
	n.SetTag(tag)
	known, err := Of(g, lib, n)
	if err != nil {
		t.Fatal(err)
	}
	h := g.Clone()
	m := h.Node(n.ID)
	op := *m.Body.(*tensorops.Operation)
	op.Kernel, m.Body = "mine:product", &op
	m.SetTag(&tensorops.MarginalCosts{Terms: []tensorops.CostTerm{{Over: []int64{0, 1, 2}, Products: 1}}})
	said, err := Of(h, lib, m)
	if err != nil || said.Said() == nil || known.Said() != nil {
		t.Fatalf("%v, %v", said, err)
	}
	rnd := rand.New(rand.NewPCG(18, 2))
	for range 100 {
		box := known.Box.Clone()
		for d := range box.Start {
			box.Start[d] = rnd.Int64N(box.End[d])
			box.End[d] = box.Start[d] + 1 + rnd.Int64N(box.End[d]-box.Start[d])
		}
		a, errA := known.Part(box)
		b, errB := said.Part(box)
		if errA != nil || errB != nil || a.Products != b.Products || a.Footprint != b.Footprint || a.Type != b.Type {
			t.Fatalf("%v: declared %+v, %v; said %+v, %v", box, a, errA, b, errB)
		}
	}
}

// Parts of random calls of all kernels, cut anywhere along their index, take together what the whole does, but for cells that both touch; and a part is no more than
// the whole.
func TestPartsAddUp(t *testing.T) {
	lib, rnd := kernels.Builtin(), rand.New(rand.NewPCG(18, 3))
	compared := 0
	for _, name := range lib.Names() {
		d, _ := lib.Find(name)
		c, err := sample.Call(d, rnd, scalar.Float32)
		if err != nil || c == nil {
			continue
		}
		g, n := call(d, c)
		o, err := Of(g, lib, n)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		whole, err := o.Part(o.Box)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for j := range o.rank {
			if o.Box.End[j] < 2 {
				continue
			}
			low, high := o.Box.Clone(), o.Box.Clone()
			low.End[j] = 1 + rnd.Int64N(o.Box.End[j]-1)
			high.Start[j] = low.End[j]
			compared += add(t, fmt.Sprintf("%s along %s", name, o.Names[j]), o, whole, low, high)
		}
	}
	if compared < 100 {
		t.Errorf("only %d cuts were compared", compared)
	}
}

func add(t *testing.T, what string, o *Operation, whole Amount, low, high zspace.Range) int {
	t.Helper()
	a, errA := o.Part(low)
	b, errB := o.Part(high)
	if errA != nil || errB != nil {
		t.Fatalf("%s: %v, %v", what, errA, errB)
	}
	near := func(x, y float64) bool { return math.Abs(x-y) <= 1e-9*math.Max(math.Abs(x), 1) }
	// what does not depend on the dimension is computed by both parts
	if sum := a.Operations() + b.Operations(); sum < whole.Operations()-1e-6 || a.Operations() > whole.Operations()+1e-6 {
		t.Errorf("%s: %v and %v operations, the whole has %v", what, a.Operations(), b.Operations(), whole.Operations())
	}
	// boxes around what steps of more than one read have gaps: between those of parts nothing is counted
	if sum := a.Footprint + b.Footprint; sum < whole.Footprint && !near(sum, whole.Footprint) && !apart(t, o, low, high) || a.Footprint > whole.Footprint {
		t.Errorf("%s: %v and %v bytes are touched, of the whole %v", what, a.Footprint, b.Footprint, whole.Footprint)
	}
	if a.Bytes+b.Bytes < whole.Bytes && !near(a.Bytes+b.Bytes, whole.Bytes) {
		t.Errorf("%s: %v and %v bytes, the whole has %v", what, a.Bytes, b.Bytes, whole.Bytes)
	}
	return 1
}

// apart says whether what two parts read of an operand lies in boxes with a gap between them, which together have the box of the whole around them.
func apart(t *testing.T, o *Operation, low, high zspace.Range) (gap bool) {
	t.Helper()
	reads := func(operand int, box zspace.Range) zspace.Range {
		dims := zspace.Range{Start: make(zspace.Point, len(o.dims)), End: make(zspace.Point, len(o.dims))}
		for i, d := range o.dims {
			dims.Start[d], dims.End[d] = box.Start[i], box.End[i]
		}
		r, err := o.in.Reads(operand, dims)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	for i := range o.in.Operands {
		a, b, whole := reads(i, low), reads(i, high), reads(i, o.Box)
		if a.Empty() || b.Empty() {
			continue
		}
		if around, _ := zspace.Bounding(a, b); !around.Equal(whole) {
			return false
		}
		for d := range a.Start {
			gap = gap || a.End[d] < b.Start[d] || b.End[d] < a.Start[d]
		}
	}
	return gap
}

// call makes a graph of one call.
func call(d *declaration.Kernel, c *infer.Call) (*ir.Graph, *ir.Node) {
	g := ir.New()
	side := func(ports []infer.Port) ir.Ports {
		var list []ir.Port
		for _, p := range ports {
			port := ir.Port{Name: p.Name}
			for _, s := range p.Sel {
				t := g.Add(&tensorops.Tensor{DType: s.Type.String(), Range: s.Sel.Range()}, "")
				port.Sel = append(port.Sel, ir.Select(t.ID, s.Sel.Range()))
			}
			list = append(list, port)
		}
		return ir.PortsOf(list)
	}
	return g, g.Add(&tensorops.Operation{Kernel: d.Name, Params: c.Params, Inputs: side(c.Inputs), Outputs: side(c.Outputs)}, "op")
}

// Costs of a kernel that tapc knows are refused, and so is a kernel that nothing is known of.
func TestRefused(t *testing.T) {
	g, n := first(t, product)
	n.SetTag(&tensorops.MarginalCosts{})
	if _, err := Of(g, kernels.Builtin(), n); diag.FromError(err)[0].Code != CodeKnown {
		t.Errorf("costs of a matmul: %v", err)
	}
	if found := CheckOperations(g, kernels.Builtin()); len(found) != 1 || found[0].Code != CodeKnown {
		t.Errorf("costs of a matmul: %v", found)
	}
	g, n = first(t, strings.Replace(product, "op:matmul", `"mine:product"`, 1))
	if _, err := Of(g, kernels.Builtin(), n); err == nil || diag.FromError(err)[0].Code != "TAP0601" {
		t.Errorf("a kernel that nothing is known of: %v", err)
	}
}
