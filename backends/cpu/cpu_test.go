package cpu

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	rt "tensortapestry.org/tapc/backends/cpu/runtime"
	"tensortapestry.org/tapc/backends/reference"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/tensorfile"
	"tensortapestry.org/tapc/ir/zspace"
	"tensortapestry.org/tapc/passes/apply"
	"tensortapestry.org/tapc/passes/fuse"
	"tensortapestry.org/tapc/passes/lower"
	"tensortapestry.org/tapc/passes/plan"
	"tensortapestry.org/tapc/passes/shard"
	"tensortapestry.org/tapc/passes/tile"
)

// builder makes small graphs in tests.
type builder struct{ g *ir.Graph }

func (b builder) tensor(name, dtype, box string) ir.Selection {
	r, err := zspace.ParseRange(box)
	if err != nil {
		panic(err)
	}
	return ir.Selection{Tensor: b.g.Add(&tensorops.Tensor{DType: dtype, Range: r}, name).ID, Range: r}
}

func (b builder) op(kernel string, params ir.Attrs, in ir.Ports, out ir.Selection, port string) {
	b.g.Add(&tensorops.Operation{Kernel: kernel, Params: params, Inputs: in, Outputs: ir.Ports{{Name: port, Sel: []ir.Selection{out}}}}, "")
}

func in(name string, s ...ir.Selection) ir.Port { return ir.Port{Name: name, Sel: s} }

func linearRelu(m, k, n string, dtype string) *ir.Graph {
	b := builder{ir.New()}
	x, a, c := b.tensor("x", dtype, "[-40:"+m+", 20:"+k+"]"), b.tensor("A", dtype, "[20:"+k+", 0:"+n+"]"), b.tensor("b", dtype, "[0:"+n+"]")
	y, z := b.tensor("y", dtype, "[-40:"+m+", 0:"+n+"]"), b.tensor("z", dtype, "[-40:"+m+", 0:"+n+"]")
	b.op("op:linear", nil, ir.Ports{in("A", a), in("b", c), in("x", x)}, y, "result")
	b.op("op:relu", nil, ir.Ports{in("tensor", y)}, z, "result")
	return b.g
}

func softmaxLike(rows, cols string) *ir.Graph {
	b := builder{ir.New()}
	x := b.tensor("x", "float32", "["+rows+", "+cols+"]")
	e, s, p := b.tensor("e", "float32", "["+rows+", "+cols+"]"), b.tensor("s", "float32", "["+rows+", 0:1]"), b.tensor("p", "float32", "["+rows+", "+cols+"]")
	b.op("op:exp", nil, ir.Ports{in("tensor", x)}, e, "result")
	b.op("op:sum", ir.Attrs{{Name: "dims", Value: ir.IntsAttr(1)}, {Name: "keepdims", Value: ir.BoolAttr(true)}}, ir.Ports{in("tensor", e)}, s, "result")
	b.op("op:div", nil, ir.Ports{in("a", e), in("b", s)}, p, "result")
	return b.g
}

func elementwise(dtype string) *ir.Graph {
	b := builder{ir.New()}
	x, y, m := b.tensor("x", dtype, "[0:7, 5:18]"), b.tensor("y", dtype, "[100:107, 0:1]"), b.tensor("m", "boolean", "[0:13]")
	s, d, q, t := b.tensor("s", dtype, "[0:7, 0:13]"), b.tensor("d", dtype, "[0:7, 0:13]"), b.tensor("q", dtype, "[0:7, 0:13]"), b.tensor("t", dtype, "[0:13, 0:7]")
	total := b.tensor("total", dtype, "[]")
	b.op("builtins:add", ir.Attrs{{Name: "mask_value", Value: ir.IntAttr(12)}}, ir.Ports{in("mask", m), in("tensors", x, y, x)}, s, "result")
	b.op("op:div", nil, ir.Ports{in("a", s), in("b", x)}, d, "result")
	b.op("ops:max", nil, ir.Ports{in("tensors", d, y)}, q, "result")
	b.op("op:permute", ir.Attrs{{Name: "perm", Value: ir.IntsAttr(1, 0)}}, ir.Ports{in("tensor", q)}, t, "result")
	b.op("op:sum", nil, ir.Ports{in("tensor", t)}, total, "result")
	return b.g
}

// inputs gives the random inputs of a program with seed 1.
func inputs(t *testing.T, g *ir.Graph) map[string]tensorfile.Tensor {
	t.Helper()
	p, err := tensorops.ProgramOf(g)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]tensorfile.Tensor{}
	for _, x := range p.Inputs {
		body := tensorops.TensorOf(g, x.Tensor)
		n, _ := body.Range.Size()
		out[x.Name] = tensorfile.Tensor{DType: body.Type(), Shape: body.Range.Shape(), Data: rt.Random(body.Type(), 1, x.Name, n)}
	}
	return out
}

func evaluate(t *testing.T, what string, g *ir.Graph, in, want map[string]tensorfile.Tensor) map[string]tensorfile.Tensor {
	t.Helper()
	ev := reference.Evaluator{Library: kernels.Builtin()}
	got, err := ev.Evaluate(context.Background(), g, in)
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	compareAll(t, what, want, got)
	return got
}

func compareAll(t *testing.T, what string, want, got map[string]tensorfile.Tensor) {
	t.Helper()
	for name, w := range want {
		if err := reference.Compare(name, w, got[name]); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// schedules takes a graph through the passes, comparing the values after each with the reference.
func schedules(t *testing.T, g *ir.Graph, shards ...string) (in, want map[string]tensorfile.Tensor) {
	t.Helper()
	in = inputs(t, g)
	want = evaluate(t, "operations", g, in, nil)
	lib := kernels.Builtin()
	var requests []shard.Request
	for _, s := range shards {
		r, err := shard.Parse(s)
		if err != nil {
			t.Fatal(err)
		}
		requests = append(requests, r)
	}
	if _, err := shard.Run(g, lib, requests); err != nil {
		t.Fatal(err)
	}
	apply.Run(g)
	evaluate(t, "applications", g, in, want)
	if err := lower.Run(g, lib, lower.Options{}); err != nil {
		t.Fatal(err)
	}
	evaluate(t, "lower", g, in, want)
	if _, err := fuse.Run(g); err != nil {
		t.Fatal(err)
	}
	evaluate(t, "fuse", g, in, want)
	tile.Run(g)
	if _, err := plan.Run(g); err != nil {
		t.Fatal(err)
	}
	evaluate(t, "plan", g, in, want)
	return in, want
}

func kernelCount(g *ir.Graph) int {
	n := 0
	for x := range g.Nodes() {
		if _, ok := x.Body.(*schedule.Kernel); ok {
			n++
		}
	}
	return n
}

func TestPrograms(t *testing.T) {
	cases := []struct {
		name    string
		graph   *ir.Graph
		shards  []string
		kernels int
	}{
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
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			in, want := schedules(t, c.graph, c.shards...)
			if n := kernelCount(c.graph); n != c.kernels {
				t.Errorf("%d kernels, want %d", n, c.kernels)
			}
			compareAll(t, "executable", want, execute(t, c.graph, in, want))
		})
	}
}

// execute builds a scheduled graph with every warning an error and with sanitizers, and runs it.
func execute(t *testing.T, g *ir.Graph, in, want map[string]tensorfile.Tensor) map[string]tensorfile.Tensor {
	t.Helper()
	cc, err := FindCompiler()
	if err != nil {
		t.Skip(err)
	}
	src, err := Emit(g, "test", "test")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	exe := filepath.Join(dir, "program")
	err = cc.Build(context.Background(), src, nil, exe, Options{Version: "test", CPU: "native",
		Flags: []string{"-Wall", "-Wextra", "-Werror", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"}})
	if err != nil {
		t.Fatalf("%v\n%s", err, src.C)
	}
	args := []string{"--threads", "2"}
	for name, x := range in {
		path := filepath.Join(dir, "in-"+name+".npy")
		if err := tensorfile.WriteNPY(path, x); err != nil {
			t.Fatal(err)
		}
		args = append(args, "--input", name+"="+path)
	}
	for name := range want {
		args = append(args, "--output", name+"="+filepath.Join(dir, "out-"+name+".npy"))
	}
	if out, err := exec.Command(exe, args...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	got := map[string]tensorfile.Tensor{}
	for name := range want {
		f, err := tensorfile.Open(filepath.Join(dir, "out-"+name+".npy"))
		if err != nil {
			t.Fatal(err)
		}
		if got[name], err = f.Load(f.Tensors()[0].Name); err != nil {
			t.Fatal(err)
		}
	}
	if os.Getenv("TAPC_KEEP_C") != "" {
		t.Log(src.C)
	}
	return got
}
