package reference_test

import (
	"context"
	"testing"

	"tensortapestry.org/tapc/backends/constants"
	"tensortapestry.org/tapc/backends/reference"
	"tensortapestry.org/tapc/dialects"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/tensorfile"
	"tensortapestry.org/tapc/ir/text"
)

// Two groups of operations: one gives p and q from u and v, the other r from v.
const computed = `tapc 1
%u = tensor float32 [0:2]
%v = tensor float32 [0:2]
%s = tensor float32 [0:2]
%p = tensor float32 [0:2]
%q = tensor float32 [0:4]
%r = tensor float32 [0:2]
%x = tensor float32 [0:2]
%y = tensor float32 [0:2]
operation op:constant {value: [1, 2]} -> (result: %u)
operation op:constant {value: [3, 4]} -> (result: %v)
operation op:add (tensors: [%u, %v]) -> (result: %s)
    precomputed
operation op:neg (tensor: %s) -> (result: %p)
    precomputed
operation op:concat (tensors: [%s, %u]) -> (result: %q)
    precomputed
operation op:neg (tensor: %v) -> (result: %r)
    precomputed
operation op:add (tensors: [%x, %p, %r]) -> (result: %y)
`

// A program's computed constants are what its operations leave, q as a result that nobody reads and s not among them; each group
// loads what is stored once, however many results it has.
func TestValues(t *testing.T) {
	g, err := text.Read([]byte(computed), "computed.tap", dialects.Registry())
	if err != nil {
		t.Fatal(err)
	}
	p, err := tensorops.ProgramOf(g)
	if err != nil || len(p.Inputs) != 1 || len(p.Outputs) != 2 || len(p.Constants) != 5 || len(p.Compute) != 1 {
		t.Fatalf("%v: %+v", err, p)
	}
	loads := map[string]int{}
	var inline constants.Loader
	values := reference.Values{Graph: g, Library: kernels.Builtin(), Stored: func(c tensorops.Const, x *tensorops.Tensor) (tensorfile.Tensor, error) {
		loads[g.Node(c.Tensor).Label]++
		return inline.Load(c, x)
	}}
	want := map[string][]float64{"p": {-4, -6}, "q": {4, 6, 1, 2}, "r": {-3, -4}}
	for range 2 {
		for _, c := range p.Constants {
			label := g.Node(c.Tensor).Label
			if c.Computed != (want[label] != nil) {
				t.Errorf("%s: computed: %v", label, c.Computed)
			}
			if !c.Computed {
				continue
			}
			x, err := values.Load(context.Background(), c)
			if err != nil {
				t.Fatal(err)
			}
			for i, w := range want[label] {
				if got := scalar.Decode(scalar.Float32, x.Data[4*i:]).F; got != w {
					t.Errorf("%s[%d] is %v, want %v", label, i, got, w)
				}
			}
		}
	}
	if loads["u"] != 1 || loads["v"] != 2 {
		t.Errorf("loaded %v", loads)
	}
}
