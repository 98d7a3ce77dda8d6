package reduced_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tensortapestry.org/tapc/backends/reference"
	"tensortapestry.org/tapc/dialects"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/declaration"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/infer"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/instance"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/sample"
	"tensortapestry.org/tapc/dialects/tensorops/reduced"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/tensorfile"
	"tensortapestry.org/tapc/ir/text"
)

// bind reads a graph of one operation.
func bind(t *testing.T, graph string) *instance.Instance {
	t.Helper()
	g, err := text.Read([]byte("tapc 1\n"+graph), "g.tap", dialects.Registry())
	if err != nil {
		t.Fatal(err)
	}
	for n := range g.Nodes() {
		if n.Body.Kind() == tensorops.OperationKind {
			in, err := kernels.Builtin().BindOperation(g, n.ID)
			if err != nil {
				t.Fatal(err)
			}
			return in
		}
	}
	t.Fatal("no operation")
	return nil
}

const tensors = `%a = tensor float32 [0:4, 0:8]
%b = tensor float32 [0:8, 0:4]
%c = tensor float32 [0:4, 0:4]
%d = tensor float32 [0:4, 0:8]
%r = tensor float32 [0:4]
%i = tensor int32 [0:4, 0:8]
%j = tensor int32 [0:4]
%h = tensor float16 [0:4, 0:8]
%k = tensor float16 [0:4]
%l = tensor float16 [0:8, 0:4]
%m = tensor float16 [0:4, 0:4]
`

// What operations are linear in, and which of their dims give partial results, by hand.
func TestPartial(t *testing.T) {
	for _, c := range []struct{ op, want string }{
		{"op:matmul (X: %a, Y: %b) -> (Z: %c)", "X:sum Y:sum | k:sum"},
		{"op:add (tensors: [%a, %d]) -> (result: %a)", "all:sum |"},
		{"op:mul (tensors: [%a, %d]) -> (result: %a)", "tensors:sum |"},
		{"op:neg (tensor: %a) -> (result: %d)", "tensor:sum |"},
		{"op:relu (tensor: %a) -> (result: %d)", "tensor:max |"},
		{"op:gelu (tensor: %a) -> (result: %d)", "|"},
		{"op:sum {dims: [1]} (tensor: %a) -> (result: %r)", "tensor:sum | s1:sum"},
		{"op:mean {dims: [1]} (tensor: %a) -> (result: %r)", "tensor:sum | s1:sum"},
		{"op:reduce_max {dims: [1]} (tensor: %a) -> (result: %r)", "tensor:max | s1:max"},
		{"op:sum {dims: [1]} (tensor: %i) -> (result: %j)", "tensor:sum | s1:sum"},
		{"op:sum {dims: [1]} (tensor: %h) -> (result: %k)", "|"}, // rounded once, behind the sum
		{"op:softmax {dims: [1]} (tensor: %a) -> (result: %d)", "|"},
		{"op:linear (A: %b, b: %r, x: %a) -> (result: %c)", "x+b:sum | i+:sum"}, // the bias joins one part
		{"op:gemm (A: %a, B: %b) -> (Y: %c)", "A:sum B:sum | k:sum"},
	} {
		in := bind(t, tensors+"%op = operation "+c.op+"\n")
		if got := describe(in); got != c.want {
			t.Errorf("%s: %s, expected %s", c.op, got, c.want)
		}
	}
}

// describe writes the inputs, alone, all together and the first with the last, over which an operation distributes, and its dims with partial results.
func describe(in *instance.Instance) string {
	var words, ports []string
	for _, o := range in.Operands {
		if !o.Decl.Out && !slices.Contains(ports, o.Port) {
			ports = append(ports, o.Port)
		}
	}
	for _, by := range []scalar.Op{scalar.Add, scalar.Max} {
		name := ":" + scalar.MonoidName(by)
		one := false
		for _, p := range ports {
			if reduced.Distributes(in, by, func(o *instance.Operand) bool { return o.Port == p && o.Entry == 0 }) {
				words, one = append(words, p+name), true
			}
		}
		if one {
			continue
		}
		if reduced.Distributes(in, by, func(o *instance.Operand) bool { return !o.Decl.Out }) {
			words = append(words, "all"+name)
		} else if reduced.Distributes(in, by, func(o *instance.Operand) bool { return o.Port == "x" || o.Port == "b" }) {
			words = append(words, "x+b"+name)
		}
	}
	words = append(words, "|")
	for i, d := range in.Dims {
		if by, ok := reduced.Partial(in, i); ok {
			words = append(words, d.Name+":"+scalar.MonoidName(by))
		} else if by, ok := reduced.Beside(in, i); ok {
			words = append(words, d.Name+"+:"+scalar.MonoidName(by))
		}
	}
	return strings.Join(words, " ")
}

// Each kernel that is said to distribute over an operator does, on values of which sums are exact; random calls of all kernels.
func TestDistributesIsTrue(t *testing.T) {
	lib, rnd := kernels.Builtin(), rand.New(rand.NewPCG(18, 3))
	seen := map[string]bool{}
	for _, name := range lib.Names() {
		d, _ := lib.Find(name)
		for range 3 {
			c, err := sample.Call(d, rnd, scalar.Float64)
			if err != nil || c == nil || len(c.Outputs) == 0 {
				continue
			}
			x := newCall(t, lib, d, c)
			for _, by := range []scalar.Op{scalar.Add, scalar.Max} {
				for one := range len(x.names) + 1 { // each input alone, and all together
					of := func(i int) bool { return i < len(x.names) && (i == one || one == len(x.names)) }
					if !reduced.Distributes(x.in, by, func(o *instance.Operand) bool { return of(x.number(o)) }) {
						continue
					}
					if x.holds(t, rnd, by, of) {
						seen[name+" "+scalar.MonoidName(by)] = true
					}
				}
			}
		}
	}
	for _, name := range []string{"matmul sum", "sub sum", "permute sum", "sum sum", "conv sum", "concat max", "max max", "mul sum", "slice sum", "pad sum"} {
		if !seen[name] {
			t.Errorf("%s was not tried", name)
		}
	}
}

// call is a graph of one call.
type call struct {
	g     *ir.Graph
	in    *instance.Instance
	ev    *reference.Evaluator
	names []string // of the inputs, in the order of ports and entries
	ports []string
	ids   []ir.NodeID
}

func newCall(t *testing.T, lib *kernels.Library, d *declaration.Kernel, c *infer.Call) *call {
	t.Helper()
	g, x := ir.New(), &call{ev: &reference.Evaluator{Library: lib, Unchecked: true}}
	side := func(ports []infer.Port, letter string) ir.Ports {
		var list []ir.Port
		for _, p := range ports {
			port := ir.Port{Name: p.Name}
			for i, s := range p.Sel {
				n := g.Add(&tensorops.Tensor{DType: s.Type.String(), Range: s.Sel.Range()}, fmt.Sprint(letter, p.Name, i))
				port.Sel = append(port.Sel, ir.Select(n.ID, s.Sel.Range()))
				if letter == "in_" {
					x.names, x.ids = append(x.names, n.Label), append(x.ids, n.ID)
					x.ports = append(x.ports, fmt.Sprint(p.Name, " ", i))
				}
			}
			list = append(list, port)
		}
		slices.SortFunc(list, func(a, b ir.Port) int { return strings.Compare(a.Name, b.Name) })
		return ir.PortsOf(list)
	}
	n := g.Add(&tensorops.Operation{Kernel: d.Name, Params: c.Params, Inputs: side(c.Inputs, "in_"), Outputs: side(c.Outputs, "out_")}, "op")
	in, err := lib.BindOperation(g, n.ID)
	if err != nil {
		t.Fatal(err)
	}
	x.g, x.in = g, in
	return x
}

func (x *call) number(o *instance.Operand) int {
	if o.Decl.Out {
		return 63
	}
	return slices.Index(x.ports, fmt.Sprint(o.Port, " ", o.Entry))
}

// holds evaluates the call on two partial operands, and on what they combine to; it is false if the evaluator does not take the values.
func (x *call) holds(t *testing.T, rnd *rand.Rand, by scalar.Op, of func(int) bool) bool {
	t.Helper()
	a, b, both := map[string]tensorfile.Tensor{}, map[string]tensorfile.Tensor{}, map[string]tensorfile.Tensor{}
	for i, name := range x.names {
		body := tensorops.TensorOf(x.g, x.ids[i])
		if body.Type() != scalar.Float64 && of(i) {
			return false
		}
		p, q := filled(rnd, body), filled(rnd, body)
		a[name], b[name], both[name] = p, p, p
		if of(i) {
			b[name], both[name] = q, combined(p, q, by)
		}
	}
	var results []map[string]tensorfile.Tensor
	for _, in := range []map[string]tensorfile.Tensor{a, b, both} {
		out, err := x.ev.Evaluate(context.Background(), x.g, in)
		if err != nil {
			return false
		}
		results = append(results, out)
	}
	for name, whole := range results[2] {
		want := combined(results[0][name], results[1][name], by)
		for i := 0; i < len(want.Data); i += 8 {
			w, v := number(want, i), number(whole, i)
			if whole.DType == scalar.Float64 && math.Abs(w-v) > 1e-9*(1+math.Abs(w)) {
				t.Fatalf("%s by %s: %v of the whole, %v combined", x.in.Decl.Name, scalar.MonoidName(by), v, w)
			}
		}
	}
	return true
}

func number(x tensorfile.Tensor, at int) float64 {
	return math.Float64frombits(binary.LittleEndian.Uint64(x.Data[at:]))
}

func filled(rnd *rand.Rand, body *tensorops.Tensor) tensorfile.Tensor {
	size, _ := body.Range.Size()
	x := tensorfile.Tensor{DType: body.Type(), Shape: body.Range.Shape(), Data: make([]byte, int(size)*body.Type().Size())}
	if x.DType == scalar.Float64 {
		for i := 0; i < len(x.Data); i += 8 {
			binary.LittleEndian.PutUint64(x.Data[i:], math.Float64bits(float64(rnd.IntN(9)-4)))
		}
	}
	return x
}

func combined(a, b tensorfile.Tensor, by scalar.Op) tensorfile.Tensor {
	out := a
	out.Data = make([]byte, len(a.Data))
	for i := 0; i+8 <= len(a.Data); i += 8 {
		v := number(a, i) + number(b, i)
		if by == scalar.Max {
			v = max(number(a, i), number(b, i))
		}
		binary.LittleEndian.PutUint64(out.Data[i:], math.Float64bits(v))
	}
	return out
}

// What an operation reduces once along a dim is combined once, and what it goes on with is behind that; results along the dim, and a second reduction, need all of it before.
func TestOnce(t *testing.T) {
	for _, c := range []struct {
		op string
		by scalar.Op
		ok bool
	}{
		{`op:sum {dims: 1} (tensor: %h) -> (result: %k)`, scalar.Add, true},
		{`op:mean {dims: 1} (tensor: %h) -> (result: %k)`, scalar.Add, true},
		{`op:linear {activation: "relu"} (x: %h, A: %l) -> (result: %m)`, scalar.Add, true},
		{`op:reduce_max {dims: 1} (tensor: %h) -> (result: %k)`, scalar.Max, true},
		{`op:variance {dims: 1} (tensor: %h) -> (result: %k)`, scalar.Add, false},
		{`op:softmax {dims: 1} (tensor: %h) -> (result: %h2)`, scalar.Add, false},
	} {
		in := bind(t, tensors+"%h2 = tensor float16 [0:4, 0:8]\noperation "+c.op+"\n")
		by, ok := reduced.Once(in, reduced.Dims(in)[0])
		if ok != c.ok || ok && by != c.by {
			t.Errorf("%s: by %v, %v; expected %v, %v", c.op, by, ok, c.by, c.ok)
		}
	}
}
