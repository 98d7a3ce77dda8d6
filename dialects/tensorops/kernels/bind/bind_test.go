package bind_test

import (
	"strings"
	"testing"

	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/bind"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/infer"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/zspace"
)

func port(name string, d scalar.DType, ranges ...string) infer.Port {
	p := infer.Port{Name: name}
	for _, text := range ranges {
		r, err := zspace.ParseRange(text)
		if err != nil {
			panic(err)
		}
		p.Sel = append(p.Sel, infer.Selected{Sel: ir.Select(0, r), Type: d})
	}
	return p
}

func ports(p ...infer.Port) []infer.Port { return p }

func TestLinearSignature(t *testing.T) {
	d, ok := kernels.Builtin().Find("op:linear")
	if !ok {
		t.Fatal("no kernel linear")
	}
	f := scalar.Float32
	in, err := bind.Instance(d, infer.Call{
		Inputs:  ports(port("x", f, "[-40:60, 20:32]"), port("A", f, "[0:12, 0:32]"), port("b", f, "[0:32]")),
		Outputs: ports(port("result", f, "[0:100, 0:32]")),
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := in.Index().String(); got != "zr[0:100, 0:32]" {
		t.Errorf("index %s", got)
	}
	inputs, outputs, err := in.Signature()
	if err != nil {
		t.Fatal(err)
	}
	shard := zspace.Range{Start: zspace.Point{50, 16}, End: zspace.Point{100, 32}}
	want := map[string]string{"x": "zr[10:60, 20:32]", "A": "zr[0:12, 16:32]", "b": "zr[16:32]", "result": "zr[50:100, 16:32]"}
	for _, p := range append(inputs, outputs...) {
		r, err := p.Maps[0].Apply(shard)
		if err != nil || r.String() != want[p.Name] {
			t.Errorf("%s: %s %v, want %s", p.Name, r, err, want[p.Name])
		}
	}
}

func TestRefusals(t *testing.T) {
	f, i := scalar.Float32, scalar.Int32
	cases := []struct {
		name, kernel, want string
		call               infer.Call
	}{
		{"unknown port", "relu", `no such port: expected "tensor", found "x"`, infer.Call{Inputs: ports(port("x", f, "[0:2]"))}},
		{"missing port", "relu", `misses a port: expected "result"`, infer.Call{Inputs: ports(port("tensor", f, "[0:2]"))}},
		{"dtypes", "sub", "dtypes differ: expected float32, found int32", infer.Call{Inputs: ports(port("a", f, "[0:2]"), port("b", i, "[0:2]")), Outputs: ports(port("result", f, "[0:2]"))}},
		{"class", "exp", "expected a dtype that is float, found int32", infer.Call{Inputs: ports(port("tensor", i, "[0:2]")), Outputs: ports(port("result", i, "[0:2]"))}},
		{"shape", "sub", "expected a shape that broadcasts to [2], found [3]", infer.Call{Inputs: ports(port("a", f, "[0:2]"), port("b", f, "[0:3]")), Outputs: ports(port("result", f, "[0:2]"))}},
		{"inner", "matmul", "k = [5], found [6]", infer.Call{Inputs: ports(port("X", f, "[0:2,0:5]"), port("Y", f, "[0:6,0:3]")), Outputs: ports(port("Z", f, "[0:2,0:3]"))}},
		{"result", "matmul", "n = [3], found [4]", infer.Call{Inputs: ports(port("X", f, "[0:2,0:5]"), port("Y", f, "[0:5,0:3]")), Outputs: ports(port("Z", f, "[0:2,0:4]"))}},
		{"rank", "matmul", "wrong rank", infer.Call{Inputs: ports(port("X", f, "[0:2]"), port("Y", f, "[0:5,0:3]")), Outputs: ports(port("Z", f, "[0:2,0:4]"))}},
		{"param", "relu", "no such parameter", infer.Call{Params: ir.Attrs{{Name: "slope", Value: ir.IntAttr(1)}}, Inputs: ports(port("tensor", f, "[0:2]")), Outputs: ports(port("result", f, "[0:2]"))}},
		{"mask value", "add", "misses a parameter", infer.Call{Inputs: ports(port("tensors", f, "[0:2]"), port("mask", scalar.Bool, "[0:2]")), Outputs: ports(port("result", f, "[0:2]"))}},
		{"axes", "sum", "axes of a rank of 1", infer.Call{Params: ir.Attrs{{Name: "dims", Value: ir.IntsAttr(1)}}, Inputs: ports(port("tensor", f, "[0:2]")), Outputs: ports(port("result", f, "[]"))}},
		{"perm", "permute", "perm of a rank of 2", infer.Call{Params: ir.Attrs{{Name: "perm", Value: ir.IntsAttr(1, 1)}}, Inputs: ports(port("tensor", f, "[0:2,0:3]")), Outputs: ports(port("result", f, "[0:3,0:2]"))}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			d, _ := kernels.Builtin().Find(c.kernel)
			_, err := bind.Instance(d, c.call)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestIndexDims(t *testing.T) {
	f := scalar.Float32
	cases := []struct {
		kernel string
		call   infer.Call
		index  string
		dims   int
	}{
		{"matmul", infer.Call{Inputs: ports(port("X", f, "[-10:0, 0:5]"), port("Y", f, "[0:5, 0:12]")), Outputs: ports(port("Z", f, "[0:10, 0:12]"))}, "zr[0:10, 0:12]", 3},
		{"matmul", infer.Call{Inputs: ports(port("X", f, "[0:3, 0:10, 0:5]"), port("Y", f, "[0:3, 0:5, 0:12]")), Outputs: ports(port("Z", f, "[0:3, 0:10, 0:12]"))}, "zr[0:3, 0:10, 0:12]", 4},
		{"sum", infer.Call{Params: ir.Attrs{{Name: "dims", Value: ir.IntsAttr(-1)}, {Name: "keepdims", Value: ir.BoolAttr(true)}}, Inputs: ports(port("tensor", f, "[0:4, 0:5]")), Outputs: ports(port("result", f, "[0:4, 0:1]"))}, "zr[0:4]", 2},
		{"sum", infer.Call{Inputs: ports(port("tensor", f, "[0:4, 0:5]")), Outputs: ports(port("result", f, "[]"))}, "zr[]", 2},
		{"permute", infer.Call{Params: ir.Attrs{{Name: "perm", Value: ir.IntsAttr(1, 2, 0)}}, Inputs: ports(port("tensor", f, "[5:8, 6:9, 7:11]")), Outputs: ports(port("result", f, "[6:9, 7:11, 5:8]"))}, "zr[0:3, 0:4, 0:3]", 3},
		{"broadcast", infer.Call{Inputs: ports(port("tensor", f, "[0:1, 0:3]")), Outputs: ports(port("result", f, "[0:2, 0:4, 0:3]"))}, "zr[0:2, 0:4, 0:3]", 3},
	}
	for _, c := range cases {
		d, _ := kernels.Builtin().Find(c.kernel)
		in, err := bind.Instance(d, c.call)
		if err != nil {
			t.Errorf("%s: %v", c.kernel, err)
			continue
		}
		if got := in.Index().String(); got != c.index || len(in.Dims) != c.dims {
			t.Errorf("%s: index %s with %d dims, want %s with %d", c.kernel, got, len(in.Dims), c.index, c.dims)
		}
	}
}
