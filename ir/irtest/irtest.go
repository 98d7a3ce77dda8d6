// Package irtest is support for tests of whatever reads, writes or changes graphs: random graphs of every dialect, graphs of a
// given size for benchmarks, and a structural comparison. Only tests may import it. Read next: diff.go.
package irtest

import (
	"fmt"

	"pgregory.net/rapid"

	"tensortapestry.org/tapc/dialects/application"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/collective"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/sequence"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/zspace"
)

// Dialect says which nodes a random graph may hold.
type Dialect int

// The dialects; each holds the nodes of those before it.
const (
	Operations Dialect = iota
	Applications
	Schedule
)

// Random draws a graph whose every body and tag keeps its schema. It need not keep the constraints of the dialect: ranges may
// not agree, references may dangle or form cycles. Labels, names and ids are drawn so that whatever is hard to write comes up.
func Random(t *rapid.T, dialect Dialect) *ir.Graph {
	r := &random{t: t, g: ir.New()}
	r.g.File = rapid.SampledFrom([]string{"", "g.loom.json", "a \"b\".tap"}).Draw(t, "file")
	if r.flip("graph id") {
		r.g.ID, r.g.HasID = r.uuid(), true
	}
	for range r.upTo(5) {
		r.tensors = append(r.tensors, r.add(&tensorops.Tensor{DType: r.dtype(), Range: r.box()}))
	}
	for range r.upTo(4) {
		r.ops = append(r.ops, r.add(&tensorops.Operation{Kernel: r.word(), Params: r.attrs(3), Inputs: r.ports(), Outputs: r.ports()}))
	}
	if r.flip("note") {
		r.add(&tensorops.Note{Message: r.text()})
	}
	if r.flip("definition") {
		r.add(r.definition())
	}
	for range r.upTo(2) {
		r.add(&sequence.Point{After: r.refs(r.ops), Before: r.refs(r.ops)})
	}
	if dialect >= Applications {
		for range r.upTo(4) {
			r.apps = append(r.apps, r.add(&application.Application{Operation: r.ref(r.ops), Inputs: r.ports(), Outputs: r.ports()}))
		}
	}
	if dialect >= Schedule {
		r.schedule()
	}
	if r.g.Len() > 0 && r.flip("remove") { // leaves a gap in the numbers, and perhaps references to nothing
		r.g.Remove(ir.NodeID(rapid.IntRange(0, r.g.Bound()-1).Draw(t, "gone")))
		r.mend()
	}
	return r.g
}

type random struct {
	t                  *rapid.T
	g                  *ir.Graph
	tensors, ops, apps []ir.NodeID
	ids                map[ir.UUID]bool
}

func (r *random) flip(label string) bool { return rapid.Bool().Draw(r.t, label) }
func (r *random) upTo(n int) int         { return rapid.IntRange(0, n).Draw(r.t, "count") }

func (r *random) uuid() ir.UUID {
	for {
		var u ir.UUID
		copy(u[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(r.t, "uuid"))
		if !r.ids[u] {
			if r.ids == nil {
				r.ids = map[ir.UUID]bool{}
			}
			r.ids[u] = true
			return u
		}
	}
}

// add puts a node with random trimmings into the graph.
func (r *random) add(body ir.Body) ir.NodeID {
	n := r.g.Add(body, r.label())
	if r.flip("id") {
		n.SetUUID(r.uuid())
	}
	if r.flip("index") {
		n.SetTag(&tensorops.Index{Range: r.box()})
	}
	if r.flip("signature") {
		n.SetTag(&tensorops.Signature{Inputs: r.maps(), Outputs: r.maps()})
	}
	if r.flip("io") {
		n.SetTag(&tensorops.IOSequencePoint{})
	}
	if r.flip("pos") {
		n.Pos = r.pos()
	}
	if r.flip("origin") {
		o := &ir.Origin{Rule: r.word()}
		for range r.upTo(2) {
			o.From = append(o.From, r.pos())
		}
		n.SetOrigin(o)
	}
	return n.ID
}

func (r *random) pos() ir.Pos {
	p := rapid.Int32Range(0, 1<<30)
	return ir.Pos{Line: p.Draw(r.t, "line"), Col: p.Draw(r.t, "col"), Doc: p.Draw(r.t, "doc")}
}

func (r *random) label() string {
	return rapid.OneOf(
		rapid.Just(""),
		rapid.SampledFrom([]string{"a", "b", "x1", "op:add", "w/1.weight", "a//b", "0", "12", "a b", "index", "tensor", "\"", "é", "_", "a-b", "a:", "a/"}),
		rapid.String(),
	).Draw(r.t, "label")
}

func (r *random) word() string {
	return rapid.OneOf(
		rapid.SampledFrom([]string{"op:add", "onnx/17:Gemm", "x", "", "io", "a b", "true", "12", "name:", "->", "{"}),
		rapid.String(),
	).Draw(r.t, "word")
}

func (r *random) text() string { return rapid.String().Draw(r.t, "text") }

func (r *random) dtype() string {
	return rapid.SampledFrom([]string{"int32", "float32", "float8_e4m3", "no such type", ""}).Draw(r.t, "dtype")
}

func (r *random) ident() string {
	return rapid.StringMatching(`[a-zA-Z_][a-zA-Z0-9_]{0,3}`).Draw(r.t, "name")
}

func (r *random) int() int64 {
	return rapid.OneOf(rapid.Int64Range(-5, 300), rapid.Int64()).Draw(r.t, "int")
}

func (r *random) ints(n int) []int64 {
	v := make([]int64, n)
	for i := range v {
		v[i] = r.int()
	}
	return v
}

func (r *random) box() zspace.Range {
	box := zspace.Range{Start: zspace.Point{}, End: zspace.Point{}}
	for range r.upTo(3) {
		start := rapid.Int64Range(-1<<62, 1<<62).Draw(r.t, "start")
		if r.flip("near") {
			start %= 100
		}
		box.Start = append(box.Start, start)
		box.End = append(box.End, start+rapid.Int64Range(0, 1<<61).Draw(r.t, "extent"))
	}
	return box
}

// ref draws a reference to one of the nodes, or one that dangles, or to nothing.
func (r *random) ref(to []ir.NodeID) ir.NodeID {
	switch k := rapid.IntRange(0, 9).Draw(r.t, "ref"); {
	case k == 0:
		return r.g.AddDangling(r.uuid())
	case len(to) == 0:
		return r.g.AddDangling(r.uuid())
	}
	return rapid.SampledFrom(to).Draw(r.t, "to")
}

func (r *random) refs(to []ir.NodeID) []ir.NodeID {
	ids := make([]ir.NodeID, r.upTo(3))
	for i := range ids {
		ids[i] = r.ref(to)
	}
	return ids
}

func (r *random) ports() ir.Ports {
	one := map[string]ir.Selection{}
	for range r.upTo(3) {
		one[r.ident()] = r.selection()
	}
	list := ir.NewPorts(one).List()
	for i := range list {
		for range r.upTo(2) {
			list[i].Sel = append(list[i].Sel, r.selection())
		}
	}
	return ir.PortsOf(list)
}

func (r *random) selection() ir.Selection {
	s := ir.Select(r.ref(r.tensors), r.box())
	if t := tensorops.TensorOf(r.g, s.Tensor); t != nil && r.flip("whole") {
		s.SetRange(t.Range)
	}
	return s
}

func (r *random) maps() ir.PortMaps {
	maps := ir.PortMaps{}
	for _, p := range r.ports().Each() {
		m := ir.NamedMaps{Name: p.Name, Maps: []zspace.ProjectionMap{}}
		for range r.upTo(2) {
			a := r.affine(r.upTo(3))
			shape := r.ints(len(a.Offset))
			for i := range shape {
				shape[i] &= 1<<62 - 1
			}
			m.Maps = append(m.Maps, zspace.ProjectionMap{AffineMap: a, Shape: shape})
		}
		maps = append(maps, m)
	}
	return maps
}

func (r *random) affine(cols int) zspace.AffineMap {
	a := zspace.AffineMap{Projection: zspace.Matrix{}, Offset: zspace.Point{}}
	for range r.upTo(3) {
		a.Projection = append(a.Projection, r.ints(cols))
		a.Offset = append(a.Offset, r.int())
	}
	return a
}

func (r *random) attrs(depth int) ir.Attrs {
	var a ir.Attrs
	for range r.upTo(3) {
		a = a.With(r.ident(), r.attr(depth))
	}
	return a
}

func (r *random) attr(depth int) ir.AttrValue {
	k := ir.AttrKind(rapid.IntRange(0, int(ir.AttrMap)).Draw(r.t, "kind"))
	if depth == 0 && k >= ir.AttrList {
		k = ir.AttrInt
	}
	v := ir.AttrValue{Kind: k}
	switch k {
	case ir.AttrBool:
		return ir.BoolAttr(r.flip("bool"))
	case ir.AttrInt:
		v.Int = r.int()
	case ir.AttrFloat:
		v.Num = rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{1, -0.5, 1e300, 5e-324})).Draw(r.t, "num")
	case ir.AttrString:
		v.Str = r.text()
	case ir.AttrList:
		for range r.upTo(3) {
			v.List = append(v.List, r.attr(depth-1))
		}
	case ir.AttrMap:
		for range r.upTo(3) {
			v.Map = v.Map.With(r.text(), r.attr(depth-1))
		}
	}
	return v
}

// schedule adds devices, buffers, kernels and transfers.
func (r *random) schedule() {
	var devices, buffers, steps []ir.NodeID
	for range r.upTo(2) {
		devices = append(devices, r.add(&schedule.Device{Type: schedule.DeviceType(r.upTo(1)), Number: r.int(), Memory: r.int()}))
	}
	for range r.upTo(3) {
		b := &schedule.Buffer{Tensor: ir.NoNode, Device: r.ref(devices), DType: r.dtype(), Range: r.box(), Strides: r.ints(r.upTo(3)),
			Space: schedule.Space(r.upTo(3)), Align: r.int(), Offset: r.int(), Bytes: r.int(), First: r.int(), Last: r.int(), Over: ir.NoNode}
		if r.flip("tensor") {
			b.Tensor = r.ref(r.tensors)
		}
		if r.flip("over") {
			b.Over = r.ref(buffers)
		}
		buffers = append(buffers, r.add(b))
	}
	for range r.upTo(3) {
		k := &schedule.Kernel{Name: r.word(), Device: r.ref(devices), Applications: r.refs(r.apps), After: r.refs(steps)}
		r.fill(k, buffers)
		steps = append(steps, r.add(k))
	}
	var transfers []ir.NodeID
	for range r.upTo(1) {
		t := &schedule.Transfer{From: r.ref(buffers), To: r.ref(buffers), After: r.refs(steps)}
		if r.flip("part") {
			t.Range = r.box()
		}
		transfers = append(transfers, r.add(t))
	}
	for range r.upTo(1) {
		r.add(&collective.Collective{Does: collective.Does(r.upTo(4)), Devices: r.refs(devices), Transfers: r.refs(transfers), Kernels: r.refs(steps)})
	}
}

// fill gives a kernel loops, operands and statements whose expressions are typed.
func (r *random) fill(k *schedule.Kernel, buffers []ir.NodeID) {
	for i := range r.upTo(3) {
		l := schedule.Loop{Name: fmt.Sprint("d", i), Start: r.int(), End: r.int()}
		for range r.upTo(2) {
			l.Levels = append(l.Levels, schedule.Level{Tile: r.int(), Bind: schedule.Binding(r.upTo(6))})
		}
		k.Loops = append(k.Loops, l)
	}
	for i := range r.upTo(3) {
		k.Operands = append(k.Operands, schedule.Operand{Name: fmt.Sprint("A", i), Buffer: r.ref(buffers), DType: "float32",
			Mode: schedule.Mode(r.upTo(1)), Access: r.affine(len(k.Loops))})
	}
	for i := range r.upTo(3) {
		k.Statements = append(k.Statements, schedule.Statement{Name: fmt.Sprint("v", i), Over: r.ints(r.upTo(3)), Store: r.int(),
			Value: r.expr(k, i, 3)})
	}
}

// expr draws an expression of float32 over the kernel's operands and earlier statements.
func (r *random) expr(k *schedule.Kernel, at, depth int) *scalar.Expr {
	pick := rapid.IntRange(0, 6).Draw(r.t, "expr")
	switch {
	case pick <= 1 && len(k.Operands) > 0:
		return scalar.NewLoad(rapid.IntRange(0, len(k.Operands)-1).Draw(r.t, "operand"), scalar.Float32)
	case pick == 2 && at > 0:
		return scalar.NewLocal(rapid.IntRange(0, at-1).Draw(r.t, "local"), scalar.Float32)
	case depth == 0 || pick <= 2:
		return scalar.NewConst(scalar.FloatValue(scalar.Float32, float64(rapid.Int32Range(-99, 99).Draw(r.t, "const"))/4))
	case pick == 3 && len(k.Loops) > 0:
		return scalar.NewReduce(scalar.Add, []int{len(k.Loops) - 1}, r.expr(k, at, depth-1))
	}
	op := rapid.SampledFrom([]scalar.Op{scalar.Add, scalar.Sub, scalar.Mul, scalar.Max, scalar.Pow}).Draw(r.t, "op")
	e, err := scalar.New(op, r.expr(k, at, depth-1), r.expr(k, at, depth-1))
	if err != nil {
		r.t.Fatal(err)
	}
	return e
}

// mend points the references to removed nodes elsewhere.
func (r *random) mend() {
	fix := func(ref *ir.NodeID) {
		if *ref >= 0 && r.g.Node(*ref) == nil {
			*ref = r.g.AddDangling(r.uuid())
		}
	}
	for n := range r.g.Nodes() {
		ir.EachReference(n.Body, fix)
	}
}
