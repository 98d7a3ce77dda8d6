package simplify_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/zspace"
	"tensortapestry.org/tapc/passes/rewrite"
	"tensortapestry.org/tapc/passes/simplify"
)

// moving makes a random sequence of selectors, of parts that are joined, and of work on single elements.
type moving struct {
	g     *ir.Graph
	rnd   *rand.Rand
	at    ir.Selection
	shape []int64
}

func (m *moving) draw(lo, hi int64) int64 { return lo + m.rnd.Int64N(hi-lo+1) }

func (m *moving) tensor(shape []int64) ir.Selection {
	r := zspace.Range{Start: make(zspace.Point, len(shape)), End: slices.Clone(zspace.Point(shape))}
	return ir.Select(m.g.Add(&tensorops.Tensor{DType: "int16", Range: r}, "").ID, r)
}

func (m *moving) op(kernel, port string, params ir.Attrs, shape []int64, in ...ir.Selection) {
	m.shape = slices.Clone(shape)
	out := m.tensor(shape)
	m.g.Add(&tensorops.Operation{Kernel: "op:" + kernel, Params: params, Inputs: ir.PortsOf([]ir.Port{{Name: port, Sel: in}}),
		Outputs: ir.PortsOf([]ir.Port{{Name: "result", Sel: []ir.Selection{out}}})}, "")
	m.at = out
}

func attr(name string, list ...int64) ir.Attrs { return ir.Attrs{}.With(name, ir.IntsAttr(list...)) }

func (m *moving) selector() {
	rank, shape := int64(len(m.shape)), slices.Clone(m.shape)
	d := m.draw(0, max(rank-1, 0))
	switch kind := m.draw(0, 6); {
	case kind == 0 || rank == 0:
		at := m.draw(0, rank)
		m.op("unsqueeze", "tensor", attr("dims", at), slices.Insert(shape, int(at), 1), m.at)
	case kind == 1:
		order := m.rnd.Perm(int(rank))
		perm := make([]int64, rank)
		for i, p := range order {
			shape[i], perm[i] = m.shape[p], int64(p)
		}
		m.op("permute", "tensor", attr("perm", perm...), shape, m.at)
	case kind == 2:
		m.op("reverse", "tensor", attr("dims", d), shape, m.at)
	case kind == 3:
		starts, steps := make([]int64, rank), slices.Repeat([]int64{1}, int(rank))
		starts[d], steps[d] = m.draw(0, shape[d]-1), m.draw(1, 2)
		shape[d] = m.draw(1, (shape[d]-starts[d]+steps[d]-1)/steps[d])
		if m.rnd.IntN(2) == 0 { // backwards over the same
			starts[d], steps[d] = starts[d]+(shape[d]-1)*steps[d], -steps[d]
		}
		m.op("slice", "tensor", attr("lengths", shape...).With("starts", ir.IntsAttr(starts...)).With("steps", ir.IntsAttr(steps...)), shape, m.at)
	case kind == 4 && rank > 1:
		m.op("select", "tensor", ir.Attrs{}.With("axis", ir.IntAttr(d)).With("index", ir.IntAttr(m.draw(0, shape[d]-1))), slices.Delete(shape, int(d), int(d)+1), m.at)
	case kind == 5 && shape[d] == 1:
		m.op("squeeze", "tensor", attr("dims", d), slices.Delete(shape, int(d), int(d)+1), m.at)
	default:
		if shape[d] == 1 {
			shape[d] = 2
		}
		m.op("broadcast", "tensor", attr("shape", shape...), shape, m.at)
	}
}

// TestSelectors: any sequence of selectors becomes at most four, a slice or reverse, a permute, one that adds or drops sizes of 1, and a
// broadcast, and has the values that it had.
func TestSelectors(t *testing.T) {
	seeds, fired := uint64(400), 0
	if testing.Short() {
		seeds = 60
	}
	for seed := range seeds {
		m := moving{g: ir.New(), rnd: rand.New(rand.NewPCG(seed, 3))}
		for range m.draw(1, 3) {
			m.shape = append(m.shape, m.draw(1, 5))
		}
		m.at = m.tensor(m.shape)
		for range m.draw(2, 8) {
			m.selector()
		}
		if fired += m.simplified(t, "selectors"); operations(m.g) > 4 {
			t.Errorf("seed %d: %d operations\n%s", seed, operations(m.g), dump(m.g))
		}
	}
	if fired < int(seeds)/2 {
		t.Errorf("fired %d times", fired)
	}
}

// TestParts: what is read of a concatenation, a stack, or a result, and joined again, has the values that it had.
func TestParts(t *testing.T) {
	fired := map[string]int{}
	for seed := range uint64(150) {
		m := moving{g: ir.New(), rnd: rand.New(rand.NewPCG(seed, 4)), shape: []int64{4, 3}}
		a, b := m.tensor(m.shape), m.tensor(m.shape)
		m.at = a
		name := []string{"concat-part", "concat-part", "concat-slices", "slice-of-result", "concat-box"}[seed%5]
		switch seed % 5 {
		case 0:
			axis := m.draw(0, 1)
			shape := slices.Clone(m.shape)
			shape[axis] *= 2
			m.op("concat", "tensors", ir.Attrs{}.With("axis", ir.IntAttr(axis-2*m.draw(0, 1))), shape, a, b)
			m.selector()
		case 1:
			m.op("stack", "tensors", ir.Attrs{}.With("axis", ir.IntAttr(1)), []int64{4, 2, 3}, a, b)
			m.op("select", "tensor", ir.Attrs{}.With("axis", ir.IntAttr(1)).With("index", ir.IntAttr(m.draw(-2, 1))), []int64{4, 3}, m.at)
		case 2:
			cut, gap := m.draw(1, 3), m.draw(0, 1)
			m.op("slice", "tensor", attr("lengths", cut, 3), []int64{cut, 3}, a)
			first := m.at
			m.op("slice", "tensor", attr("lengths", 4-cut, 3).With("starts", ir.IntsAttr(cut-gap, 0)), []int64{4 - cut, 3}, a)
			m.op("concat", "tensors", nil, []int64{4, 3}, first, m.at)
		case 4:
			axis := m.draw(0, 1)
			shape := slices.Clone(m.shape)
			shape[axis] *= 2
			m.op("concat", "tensors", ir.Attrs{}.With("axis", ir.IntAttr(axis)), shape, a, b)
			box := tensorops.TensorOf(m.g, m.at.Tensor).Range.Clone()
			box.Start[axis] += m.draw(0, 5)
			box.End[axis] = min(box.End[axis], box.Start[axis]+2)
			m.at = ir.Select(m.at.Tensor, box)
			m.shape = box.Shape()
		default:
			m.op("add", "tensors", nil, []int64{4, 3}, a, b)
			from, step := m.draw(0, 1), m.draw(1, 2)
			m.op("slice", "tensor", attr("lengths", 2, 2).With("starts", ir.IntsAttr(from, 1)).With("steps", ir.IntsAttr(step, 1)), []int64{2, 2}, m.at)
		}
		m.op("abs", "tensor", nil, m.shape, m.at) // an output is no input
		fired[name] += m.simplified(t, name)
	}
	for _, name := range []string{"concat-part", "concat-slices", "slice-of-result", "concat-box"} { // near misses are among them
		if fired[name] < 10 || fired[name] == 30*map[bool]int{false: 1, true: 2}[name == "concat-part"] {
			t.Errorf("%s fired %d times", name, fired[name])
		}
	}
}

// TestSplitSlices: parts of a split, empty ones too, are slices if some operation reads one, and have the values that they had.
func TestSplitSlices(t *testing.T) {
	for seed := range uint64(60) {
		m := moving{g: ir.New(), rnd: rand.New(rand.NewPCG(seed, 6)), shape: []int64{m4(seed), 3}}
		x, axis := m.tensor(m.shape), int64(seed%2)
		first := int64(rand.New(rand.NewPCG(seed, 7)).IntN(int(m.shape[axis]) + 1))
		sizes := []int64{first, m.shape[axis] - first}
		var parts []ir.Selection
		for _, n := range sizes {
			shape := slices.Clone(m.shape)
			shape[axis] = n
			parts = append(parts, m.tensor(shape))
		}
		m.g.Add(&tensorops.Operation{Kernel: "op:split", Params: attr("sizes", sizes...).With("axis", ir.IntAttr(axis-2*m.draw(0, 1))),
			Inputs: ir.PortsOf([]ir.Port{{Name: "tensor", Sel: []ir.Selection{x}}}), Outputs: ir.PortsOf([]ir.Port{{Name: "parts", Sel: parts}})}, "")
		want := 0
		if seed%3 > 0 { // else nobody reads a part
			want = 1
			m.op("abs", "tensor", nil, parts[seed%3-1].Range().Shape(), parts[seed%3-1])
		}
		if n := m.simplified(t, "split-slices"); n != want {
			t.Errorf("seed %d: applied %d times, expected %d\n%s", seed, n, want, dump(m.g))
		}
	}
}

// TestGatherSlices: what constant indices in runs name is read by slices, and has the values that it had; indices outside, data, and numbers without runs are near misses.
func TestGatherSlices(t *testing.T) {
	fired, none := 0, 0
	for seed := range uint64(200) {
		m := moving{g: ir.New(), rnd: rand.New(rand.NewPCG(seed, 8)), shape: []int64{6, 5, 7}}
		x, axis := m.tensor(m.shape), m.draw(0, 2)
		var list []ir.AttrValue
		for range m.draw(0, 3) {
			at, step := m.draw(-m.shape[axis], m.shape[axis]-1), m.draw(-2, 2)
			if seed%2 == 0 {
				at, step = m.draw(0, 1)-m.shape[axis], 1
			}
			for range m.draw(1, 5) {
				if seed%5 > 0 && (at < -m.shape[axis] || at >= m.shape[axis]) {
					break
				}
				list, at = append(list, ir.IntAttr(at)), at+step
			}
		}
		shape, value := []int64{int64(len(list))}, listOf(list)
		switch n := int64(len(list)); {
		case n == 1 && seed%2 == 0:
			shape, value = nil, list[0]
		case n%2 == 0 && n > 0:
			shape, value = []int64{2, n / 2}, listOf([]ir.AttrValue{listOf(list[:n/2]), listOf(list[n/2:])})
		}
		indices := m.tensor(shape)
		m.g.Node(indices.Tensor).Body.(*tensorops.Tensor).DType = "int64"
		if seed%7 > 0 {
			m.g.Add(&tensorops.Operation{Kernel: "op:constant", Params: ir.Attrs{}.With("value", value), Outputs: ir.PortsOf([]ir.Port{{Name: "result", Sel: []ir.Selection{indices}}})}, "")
		}
		want := slices.Concat(m.shape[:axis], shape, m.shape[axis+1:])
		out := m.tensor(want)
		m.g.Add(&tensorops.Operation{Kernel: "op:gather", Params: ir.Attrs{}.With("axis", ir.IntAttr(axis-3*m.draw(0, 1))),
			Inputs:  ir.PortsOf([]ir.Port{{Name: "indices", Sel: []ir.Selection{indices}}, {Name: "tensor", Sel: []ir.Selection{x}}}),
			Outputs: ir.PortsOf([]ir.Port{{Name: "result", Sel: []ir.Selection{out}}})}, "")
		if m.simplified(t, "gather-slices") > 0 {
			fired++
		} else {
			none++
		}
	}
	if fired < 30 || none < 50 {
		t.Errorf("applied to %d graphs, and not to %d", fired, none)
	}
}

func listOf(list []ir.AttrValue) ir.AttrValue { return ir.AttrValue{Kind: ir.AttrList, List: list} }

// m4 is 4, or once in a while nothing.
func m4(seed uint64) int64 { return []int64{4, 4, 4, 0}[seed/3%4] }

// TestTwice: an operation on what it gives itself, once with both parameters, has the values that it had.
func TestTwice(t *testing.T) {
	fired := map[string]int{}
	names := []string{"reshape-reshape", "roll-roll", "repeat-repeat", "pad-pad", "concat-concat"}
	for seed := range uint64(150) {
		m := moving{g: ir.New(), rnd: rand.New(rand.NewPCG(seed, 5)), shape: []int64{4, 3}}
		m.at = m.tensor(m.shape)
		name := names[seed%5]
		for range 2 {
			a, b := m.draw(-1, 2), m.draw(0, 2)
			switch seed % 5 {
			case 0:
				m.op("reshape", "tensor", attr("shape", 2, 2, 3), []int64{2, 2, 3}, m.at)
			case 1:
				m.op("roll", "tensor", attr("shifts", a, b), m.shape, m.at)
			case 2:
				m.op("repeat", "tensor", attr("repeats", b, 2), []int64{m.shape[0] * b, m.shape[1] * 2}, m.at)
			case 3:
				params := attr("pads", a, b).With("value", ir.IntAttr(m.draw(6, 7)))
				m.op("pad", "tensor", params, []int64{m.shape[0] + 2*a, m.shape[1] + 2*b}, m.at)
			default:
				other := m.tensor(m.shape)
				axis := m.draw(0, 1)
				shape := slices.Clone(m.shape)
				shape[axis] *= 2
				m.op("concat", "tensors", ir.Attrs{}.With("axis", ir.IntAttr(axis-2*m.draw(0, 1))), shape, m.at, other)
			}
		}
		fired[name] += m.simplified(t, name)
	}
	for i, name := range names {
		if fired[name] < 5 || i > 2 && fired[name] == 30 { // near misses are among the last
			t.Errorf("%s fired %d times", name, fired[name])
		}
	}
}

// simplified runs one rule and compares the values; it gives how often the rule fired.
func (m *moving) simplified(t *testing.T, rule string) int {
	t.Helper()
	i := slices.IndexFunc(simplify.Rules(), func(r rewrite.Rule) bool { return r.Name == rule })
	in, old, before := inputsOf(t, m.g, m.rnd), m.g.Clone(), dump(m.g)
	stats, err := rewrite.Run(context.Background(), m.g, simplify.Rules()[i:i+1], rewrite.Options{Verify: true, Load: inlineConstant})
	if err != nil {
		t.Fatalf("%v\n%s", err, before)
	}
	if err := sameValues(evaluate(t, old, in), evaluate(t, m.g, in)); err != nil {
		t.Fatalf("%v\nbefore\n%s\nafter\n%s", err, before, dump(m.g))
	}
	mustBeValid(t, tensorops.Environment(), m.g)
	return stats.Applied
}

func operations(g *ir.Graph) int {
	n := 0
	for x := range g.Nodes() {
		if _, ok := x.Body.(*tensorops.Operation); ok {
			n++
		}
	}
	return n
}
