package conformance

import (
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/zspace"
)

// builder makes small graphs in tests.
type builder struct{ g *ir.Graph }

func (b builder) tensor(name, dtype, box string) ir.Selection {
	r, err := zspace.ParseRange(box)
	if err != nil {
		panic(err)
	}
	return ir.Select(b.g.Add(&tensorops.Tensor{DType: dtype, Range: r}, name).ID, r)
}

func (b builder) op(kernel string, params ir.Attrs, in ir.Ports, out ir.Selection, port string) {
	b.g.Add(&tensorops.Operation{Kernel: kernel, Params: params, Inputs: in, Outputs: ir.PortsOf([]ir.Port{{Name: port, Sel: []ir.Selection{out}}})}, "")
}

func in(name string, s ...ir.Selection) ir.Port { return ir.Port{Name: name, Sel: s} }

func linearRelu(m, k, n string, dtype string) *ir.Graph {
	b := builder{ir.New()}
	x, a, c := b.tensor("x", dtype, "[-40:"+m+", 20:"+k+"]"), b.tensor("A", dtype, "[20:"+k+", 0:"+n+"]"), b.tensor("b", dtype, "[0:"+n+"]")
	y, z := b.tensor("y", dtype, "[-40:"+m+", 0:"+n+"]"), b.tensor("z", dtype, "[-40:"+m+", 0:"+n+"]")
	b.op("op:linear", nil, ir.PortsOf([]ir.Port{in("A", a), in("b", c), in("x", x)}), y, "result")
	b.op("op:relu", nil, ir.PortsOf([]ir.Port{in("tensor", y)}), z, "result")
	return b.g
}

func softmaxLike(rows, cols string) *ir.Graph {
	b := builder{ir.New()}
	x := b.tensor("x", "float32", "["+rows+", "+cols+"]")
	e, s, p := b.tensor("e", "float32", "["+rows+", "+cols+"]"), b.tensor("s", "float32", "["+rows+", 0:1]"), b.tensor("p", "float32", "["+rows+", "+cols+"]")
	b.op("op:exp", nil, ir.PortsOf([]ir.Port{in("tensor", x)}), e, "result")
	b.op("op:sum", ir.Attrs{{Name: "dims", Value: ir.IntsAttr(1)}, {Name: "keepdims", Value: ir.BoolAttr(true)}}, ir.PortsOf([]ir.Port{in("tensor", e)}), s, "result")
	b.op("op:div", nil, ir.PortsOf([]ir.Port{in("a", e), in("b", s)}), p, "result")
	return b.g
}

func elementwise(dtype string) *ir.Graph {
	b := builder{ir.New()}
	x, y, m := b.tensor("x", dtype, "[0:7, 5:18]"), b.tensor("y", dtype, "[100:107, 0:1]"), b.tensor("m", "boolean", "[0:13]")
	s, d, q, t := b.tensor("s", dtype, "[0:7, 0:13]"), b.tensor("d", dtype, "[0:7, 0:13]"), b.tensor("q", dtype, "[0:7, 0:13]"), b.tensor("t", dtype, "[0:13, 0:7]")
	total := b.tensor("total", dtype, "[]")
	b.op("builtins:add", ir.Attrs{{Name: "mask_value", Value: ir.IntAttr(12)}}, ir.PortsOf([]ir.Port{in("mask", m), in("tensors", x, y, x)}), s, "result")
	b.op("op:div", nil, ir.PortsOf([]ir.Port{in("a", s), in("b", x)}), d, "result")
	b.op("ops:max", nil, ir.PortsOf([]ir.Port{in("tensors", d, y)}), q, "result")
	b.op("op:permute", ir.Attrs{{Name: "perm", Value: ir.IntsAttr(1, 0)}}, ir.PortsOf([]ir.Port{in("tensor", q)}), t, "result")
	b.op("op:sum", nil, ir.PortsOf([]ir.Port{in("tensor", t)}), total, "result")
	return b.g
}

// testCase is a graph with the shards asked for and the number of kernels that fusion leaves.
type testCase struct {
	name    string
	graph   *ir.Graph
	shards  []string
	kernels int
}

func cases() []testCase {
	return []testCase{
		{"linear-relu", linearRelu("60", "32", "32", "float32"), nil, 1},
		{"linear-relu int", linearRelu("3", "301", "70", "int32"), nil, 1},
		{"linear-relu f64 long", linearRelu("1", "800", "3", "float64"), nil, 1},
		{"linear-relu 4", linearRelu("60", "32", "32", "float32"), []string{"op:linear=2x2", "op:relu=2x2"}, 4},
		{"linear-relu uneven", linearRelu("27", "53", "33", "float32"), []string{"op:linear=3x2", "op:relu=1x5"}, 11},
		{"softmax", softmaxLike("-3:9", "0:700"), nil, 3},
		{"softmax 1", softmaxLike("0:1", "0:10"), []string{"op:div=1x3"}, 5},
		{"empty", softmaxLike("0:0", "0:10"), nil, 3},
		{"elementwise f32", elementwise("float32"), nil, 1},
		{"elementwise f64", elementwise("float64"), nil, 1},
		{"elementwise i32", elementwise("int32"), nil, 1},
		{"elementwise i64", elementwise("int64"), []string{"ops:max=2x2"}, 6},
		{"elementwise i8", elementwise("int8"), nil, 1},
		{"elementwise u16", elementwise("uint16"), nil, 1},
	}
}
