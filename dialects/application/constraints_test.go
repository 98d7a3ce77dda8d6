package application

import (
	"testing"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir"
	. "tensortapestry.org/tapc/ir/check/checktest"
	"tensortapestry.org/tapc/ir/zspace"
)

// builder makes graphs for tests.
type builder struct{ *ir.Graph }

func (b builder) tensor(label, box string) *ir.Node {
	return b.Add(&tensorops.Tensor{DType: "float32", Range: Range(box)}, label)
}

func (b builder) op(label string, in, out ir.Ports, tags ...ir.Body) *ir.Node {
	n := b.Add(&tensorops.Operation{Kernel: "test:op", Inputs: in, Outputs: out}, label)
	for _, t := range tags {
		n.SetTag(t)
	}
	return n
}

func (b builder) app(label string, op *ir.Node, in, out ir.Ports, tags ...ir.Body) *ir.Node {
	n := b.Add(&Application{Operation: op.ID, Inputs: in, Outputs: out}, label)
	for _, t := range tags {
		n.SetTag(t)
	}
	return n
}

func index(box string) *tensorops.Index { return &tensorops.Index{Range: Range(box)} }

// graph runs a function on an empty graph and gives the graph.
func graph(f func(b builder)) *ir.Graph {
	g := ir.New()
	f(builder{g})
	return g
}

// rows is an operation x [0:10, 0:5] -> y [0:10, 0:1] with a signature, in shards [0:5] and [5:10] of its index; edit may
// change anything before it is verified.
func rows(edit func(b builder, op, first, second *ir.Node)) *ir.Graph {
	return graph(func(b builder) {
		x, y := b.tensor("x", "[0:10, 0:5]"), b.tensor("y", "[0:10, 0:1]")
		sig := &tensorops.Signature{
			Inputs:  ir.PortMaps{{Name: "x", Maps: []zspace.ProjectionMap{Map("(d0) -> [d0, 0] + [1, 5]")}}},
			Outputs: ir.PortMaps{{Name: "y", Maps: []zspace.ProjectionMap{Map("(d0) -> [d0, 0] + [1, 1]")}}},
		}
		ports := func(rows string) (in, out ir.Ports) {
			return ir.PortsOf([]ir.Port{Port("x", Sel(x, "["+rows+", 0:5]"))}), ir.PortsOf([]ir.Port{Port("y", Sel(y, "["+rows+", 0:1]"))})
		}
		in, out := ports("0:10")
		op := b.op("sum", in, out, index("[0:10]"), sig)
		in, out = ports("0:5")
		first := b.app("first", op, in, out, index("[0:5]"))
		in, out = ports("5:10")
		second := b.app("second", op, in, out, index("[5:10]"))
		edit(b, op, first, second)
	})
}

func appOf(n *ir.Node) *Application { return n.Body.(*Application) }

// tiles is an operation that writes y, and applications that write the given parts of it.
func tiles(whole string, parts ...string) *ir.Graph {
	return graph(func(b builder) {
		y := b.tensor("y", whole)
		op := b.op("fill", ir.Ports{}, ir.PortsOf([]ir.Port{Port("y", Sel(y, whole))}))
		for _, p := range parts {
			b.app(p, op, ir.Ports{}, ir.PortsOf([]ir.Port{Port("y", Sel(y, p))}))
		}
	})
}

func TestConstraints(t *testing.T) {
	var cases []Case
	for _, k := range [][]Case{agreementCases(), signatureCases(), coverageCases(), choiceCases(), placementCases()} {
		cases = append(cases, k...)
	}
	Run(t, Environment(), Constraints(), cases)
}

func TestOperationExpressionsHaveNoApplications(t *testing.T) {
	g := rows(func(builder, *ir.Node, *ir.Node, *ir.Node) {})
	Expect(t, tensorops.Environment().Verify(t.Context(), g), []string{"TAP0101", "TAP0101"}, []string{"nodes/Application"})
}

func agreementCases() []Case {
	edit := func(f func(op, first, second *ir.Node)) *ir.Graph {
		return rows(func(_ builder, op, first, second *ir.Node) { f(op, first, second) })
	}
	return []Case{
		Of("agreement accepted", edit(func(op, first, second *ir.Node) {}), nil, nil),
		Of("agreement: no such operation", edit(func(op, first, second *ir.Node) { appOf(first).Operation = ir.NoNode }),
			[]string{"TAP0201"}, []string{"a node of type operation", "nothing"}),
		Of("agreement: not an operation", edit(func(op, first, second *ir.Node) { appOf(first).Operation = second.ID }),
			[]string{"TAP0202"}, []string{`found:    application "second"`}),
		Of("agreement: no application", tiles("[0:4]"), []string{"TAP0203"}, []string{`operation "fill" has no application`}),
		Of("agreement: other ports", edit(func(op, first, second *ir.Node) { appOf(first).Inputs.SetName(0, "z") }),
			[]string{"TAP0204"}, []string{`expected: ["x"]`, `found:    ["z"]`, "inputs"}),
		Of("agreement: a port is missing", edit(func(op, first, second *ir.Node) { appOf(second).Outputs = ir.Ports{} }),
			[]string{"TAP0204"}, []string{"outputs", `application "second"`}),
		Of("agreement: more selections", edit(func(op, first, second *ir.Node) {
			in := &appOf(first).Inputs
			in.SetSel(0, append(in.At(0).Sel, in.At(0).Sel[0])...)
		}), []string{"TAP0205"}, []string{"1 selection", "2 selections"}),
		Of("agreement: another tensor", rows(func(b builder, op, first, second *ir.Node) {
			appOf(first).Inputs.At(0).Sel[0].Tensor = b.tensor("other", "[0:10, 0:5]").ID
		}), []string{"TAP0206"}, []string{`tensor "x"`, `tensor "other"`}),
		Of("agreement: another rank", edit(func(op, first, second *ir.Node) {
			appOf(first).Inputs.At(0).Sel[0].SetRange(Range("[0:5]"))
		}), []string{"TAP0207"}, []string{"2, as zr[0:10, 0:5] has", "1 in zr[0:5]"}),
		Of("agreement: another rank where the operation has none", graph(func(b builder) {
			y := b.tensor("y", "[]")
			op := b.op("one", ir.Ports{}, ir.PortsOf([]ir.Port{Port("y", Sel(y, "[]"))}))
			b.app("a", op, ir.Ports{}, ir.PortsOf([]ir.Port{Port("y", Sel(y, "[0:1]"))}))
		}), []string{"TAP0207"}, nil),
		Of("agreement: beyond the operation", edit(func(op, first, second *ir.Node) {
			appOf(second).Inputs.At(0).Sel[0].SetRange(Range("[5:12, 0:5]"))
		}), []string{"TAP0208"}, []string{"a box inside zr[0:10, 0:5]", "of which zr[10:12, 0:5] lies outside"}),
		Of("agreement: beyond the operation, inside the tensor", graph(func(b builder) {
			x := b.tensor("x", "[0:10]")
			op := b.op("sink", ir.PortsOf([]ir.Port{Port("x", Sel(x, "[2:8]"))}), ir.Ports{})
			b.app("a", op, ir.PortsOf([]ir.Port{Port("x", Sel(x, "[1:8]"))}), ir.Ports{})
		}), []string{"TAP0208"}, []string{"zr[1:2] lies outside"}),
		Of("agreement: short of the border", tiles("[0:10]", "[0:4]", "[4:9]"), []string{"TAP0209"},
			[]string{"zr[0:9] around 2 applications, which leaves zr[9:10]"}),
		Of("agreement near miss: inputs overlap and leave a gap", graph(func(b builder) {
			x := b.tensor("x", "[0:10]")
			op := b.op("sink", ir.PortsOf([]ir.Port{Port("x", Sel(x, "[0:10]"))}), ir.Ports{})
			for _, p := range []string{"[0:4]", "[2:5]", "[9:10]"} {
				b.app(p, op, ir.PortsOf([]ir.Port{Port("x", Sel(x, p))}), ir.Ports{})
			}
		}), nil, nil),
		Of("agreement near miss: inputs short of the border", graph(func(b builder) {
			x := b.tensor("x", "[0:10]")
			op := b.op("sink", ir.PortsOf([]ir.Port{Port("x", Sel(x, "[0:10]"))}), ir.Ports{})
			b.app("a", op, ir.PortsOf([]ir.Port{Port("x", Sel(x, "[1:10]"))}), ir.Ports{})
		}), []string{"TAP0209"}, []string{"leaves zr[0:1]"}),
		Of("agreement: borders wait for the rest", tiles("[0:10]", "[0:4]", "[4:11]"), []string{"TAP0208"}, nil),
	}
}

func signatureCases() []Case {
	edit := func(f func(op, first, second *ir.Node)) *ir.Graph {
		return rows(func(_ builder, op, first, second *ir.Node) { f(op, first, second) })
	}
	return []Case{
		Of("signature accepted: indexes without a signature are free", edit(func(op, first, second *ir.Node) {
			op.DropTag(tensorops.SignatureKind)
			first.DropTag(tensorops.IndexKind)
			second.SetTag(index("[100:200, 3:4]"))
		}), nil, nil),
		Of("signature: no index", edit(func(op, first, second *ir.Node) { first.DropTag(tensorops.IndexKind) }),
			[]string{"TAP0211"}, []string{`application "first" has no index, but operation "sum" has a signature`, "zr[0:10]"}),
		Of("signature: index of another rank", edit(func(op, first, second *ir.Node) { first.SetTag(index("[0:5, 0:1]")) }),
			[]string{"TAP0212"}, []string{"1, as zr[0:10] has", "2 in zr[0:5, 0:1]"}),
		Of("signature: index beyond the operation's", edit(func(op, first, second *ir.Node) { second.SetTag(index("[5:11]")) }),
			[]string{"TAP0213"}, []string{"a box inside zr[0:10]", "zr[10:11] lies outside"}),
		Of("signature: beyond 64 bits, where the operation's empty index is not", graph(func(b builder) {
			y := b.tensor("y", "[0:0]")
			op := b.op("none", ir.Ports{}, ir.PortsOf([]ir.Port{Port("y", Sel(y, "[0:0]"))}), index("[0:0, 0:3]"), &tensorops.Signature{
				Outputs: ir.PortMaps{{Name: "y", Maps: []zspace.ProjectionMap{Map("(d0, d1) -> [d0 + 4611686018427387904*d1] + [1]")}}}})
			b.app("a", op, ir.Ports{}, ir.PortsOf([]ir.Port{Port("y", Sel(y, "[0:0]"))}), index("[0:0, 2:3]"))
			b.app("b", op, ir.Ports{}, ir.PortsOf([]ir.Port{Port("y", Sel(y, "[0:0]"))}), index("[0:0, 0:2]"))
		}), []string{"TAP0214"}, []string{`application "a"`, "64 bits"}),
		Of("signature: another selection", edit(func(op, first, second *ir.Node) {
			appOf(first).Inputs.At(0).Sel[0].SetRange(Range("[0:5, 0:4]"))
		}), []string{"TAP0215"}, []string{`application "first"`, "which zr[0:5] selects", "which lacks zr[0:5, 4:5]"}),
		Of("signature near miss: the other shard's index, and all findings", edit(func(op, first, second *ir.Node) {
			first.SetTag(index("[5:10]"))
		}), []string{"TAP0215", "TAP0215", "TAP0216"}, []string{`application "first"`, "which lacks zr[5:10, 0:5]", "a gap: no application has zr[0:5]"}),
		Of("signature: a replicated sink is a warning", graph(func(b builder) {
			x := b.tensor("x", "[0:4]")
			op := b.op("sink", ir.PortsOf([]ir.Port{Port("x", Sel(x, "[0:4]"))}), ir.Ports{}, index("[0:8]"), &tensorops.Signature{
				Inputs: ir.PortMaps{{Name: "x", Maps: []zspace.ProjectionMap{Map("(d0) -> [0] + [4]")}}}})
			for _, at := range []string{"[0:5]", "[6:8]", "[4:5]"} {
				b.app(at, op, ir.PortsOf([]ir.Port{Port("x", Sel(x, "[0:4]"))}), ir.Ports{}, index(at))
			}
		}), []string{"TAP0216"}, []string{"warning", `application "[0:5]" and application "[4:5]" share zr[4:5]`}),
		Of("signature: a gap of a sink's indexes is a warning", graph(func(b builder) {
			x := b.tensor("x", "[0:4]")
			op := b.op("sink", ir.PortsOf([]ir.Port{Port("x", Sel(x, "[0:4]"))}), ir.Ports{}, index("[0:8]"), &tensorops.Signature{
				Inputs: ir.PortMaps{{Name: "x", Maps: []zspace.ProjectionMap{Map("(d0) -> [0] + [4]")}}}})
			b.app("a", op, ir.PortsOf([]ir.Port{Port("x", Sel(x, "[0:4]"))}), ir.Ports{}, index("[0:5]"))
		}), []string{"TAP0216"}, []string{"a gap: no application has zr[5:8]"}),
	}
}

func coverageCases() []Case {
	return []Case{
		Of("coverage accepted: a pinwheel", tiles("[0:3, 0:3]", "[0:1, 0:2]", "[0:2, 2:3]", "[2:3, 1:3]", "[1:3, 0:1]", "[1:2, 1:2]"), nil, nil),
		Of("coverage accepted: empty shards", tiles("[0:4]", "[0:2]", "[1:1]", "[2:4]", "[4:4]"), nil, nil),
		Of("coverage accepted: two shards of an empty output", tiles("[0:0, 0:5]", "[0:0, 0:5]", "[0:0, 0:5]"), nil, nil),
		Of("coverage accepted: volumes beyond 64 bits",
			tiles("[0:4611686018427387904, 0:4611686018427387904]", "[0:1, 0:4611686018427387904]", "[1:4611686018427387904, 0:4611686018427387904]"), nil, nil),
		Of("coverage near miss: an overlap and a gap of one size", tiles("[0:12]", "[0:4]", "[3:7]", "[8:12]"), []string{"TAP0221"},
			[]string{"a tiling of zr[0:12]", `an overlap: application "[0:4]" and application "[3:7]" share zr[3:4]`}),
		Of("coverage: a gap inside", tiles("[0:12]", "[0:4]", "[5:12]"), []string{"TAP0222"},
			[]string{"a gap: no application has zr[4:5]"}),
		Of("coverage near miss: a hole in a pinwheel", tiles("[0:3, 0:3]", "[0:1, 0:2]", "[0:2, 2:3]", "[2:3, 1:3]", "[1:3, 0:1]"),
			[]string{"TAP0222"}, []string{"zr[1:2, 1:2]"}),
		Of("coverage: two shards of a scalar", tiles("[]", "[]", "[]"), []string{"TAP0221"}, []string{"share zr[]"}),
	}
}

func placementCases() []Case {
	placed := func(devices ...int64) *ir.Graph {
		return rows(func(_ builder, _, first, _ *ir.Node) { first.SetTag(&Placement{devices}) })
	}
	return []Case{
		Of("placement accepted", placed(0, 2, 3), nil, nil),
		Of("placement: of an operation", rows(func(_ builder, op, _, _ *ir.Node) { op.SetTag(&Placement{[]int64{1}}) }), []string{"TAP0241"}, []string{"an application", "operation"}),
		Of("placement: nowhere", placed(), []string{"TAP0242"}, []string{"[]"}),
		Of("placement: twice on a device", placed(1, 1), []string{"TAP0242"}, []string{"[1 1]"}),
		Of("placement: a device that can not be", placed(-1), []string{"TAP0242"}, nil),
		Of("placement: out of order", placed(2, 1), []string{"TAP0242"}, nil),
		Of("placement: an effect on two devices", rows(func(_ builder, op, first, _ *ir.Node) {
			op.SetTag(&tensorops.IOSequencePoint{})
			first.SetTag(&Placement{[]int64{0, 1}})
		}), []string{"TAP0243"}, []string{"one device"}),
		Of("placement near miss: an effect on the second device", rows(func(_ builder, op, first, _ *ir.Node) {
			op.SetTag(&tensorops.IOSequencePoint{})
			first.SetTag(&Placement{[]int64{1}})
		}), nil, nil),
	}
}
