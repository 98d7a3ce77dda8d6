package expand

import (
	"context"
	"testing"

	"tensortapestry.org/tapc/backends/reference"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/sample"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/tensorfile"
	"tensortapestry.org/tapc/ir/zspace"
)

// Every kernel that is said to keep zeros gives 0, never -0, of zeros, with the type of what it reads, or that of a complex number's parts.
func TestKeepsZero(t *testing.T) {
	for _, name := range keepsZero {
		d, ok := kernels.Builtin().Find("op:" + name)
		if !ok {
			t.Fatalf("no kernel %s", name)
		}
		for _, dtype := range sample.Types(d) {
			g, box := ir.New(), zspace.MustShape(1)
			port := ir.Port{Name: d.Operands[0].Names[0]}
			in := map[string]tensorfile.Tensor{}
			for _, label := range []string{"x", "z"}[:min(2, len(d.Operands))] {
				if len(port.Sel) == 1 && !d.Operands[0].Variadic {
					break
				}
				x := g.Add(&tensorops.Tensor{DType: dtype.String(), Range: box}, label)
				port.Sel = append(port.Sel, ir.Select(x.ID, box))
				in[label] = tensorfile.Tensor{DType: dtype, Shape: []int64{1}, Data: make([]byte, dtype.Size())}
			}
			ports := []ir.Port{port}
			if d.Operands[1].Names[0] == "b" {
				x := g.Add(&tensorops.Tensor{DType: dtype.String(), Range: box}, "b")
				ports = append(ports, ir.Port{Name: "b", Sel: []ir.Selection{ir.Select(x.ID, box)}})
				in["b"] = tensorfile.Tensor{DType: dtype, Shape: []int64{1}, Data: make([]byte, dtype.Size())}
			}
			y := g.Add(&tensorops.Tensor{DType: dtype.String(), Range: box}, "y")
			g.Add(&tensorops.Operation{Kernel: "op:" + name, Inputs: ir.PortsOf(ports), Outputs: ir.PortsOf([]ir.Port{{Name: "result", Sel: []ir.Selection{ir.Select(y.ID, box)}}})}, "")
			if kernels.Builtin().CheckOperations(g, false).HasErrors() {
				if !dtype.IsComplex() { // whose absolute value is of another type
					t.Errorf("%s of %v: %v", name, dtype, kernels.Builtin().CheckOperations(g, false))
				}
				continue
			}
			out, err := (&reference.Evaluator{Library: kernels.Builtin()}).Evaluate(context.Background(), g, in)
			if err != nil {
				t.Fatal(name, dtype, err)
			}
			if v := scalar.Decode(dtype, out["y"].Data); !v.Same(scalar.Decode(dtype, make([]byte, dtype.Size()))) {
				t.Errorf("%s of zeros of %v is %v", name, dtype, v)
			}
		}
	}
}
