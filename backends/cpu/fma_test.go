package cpu_test

import (
	"bytes"
	"testing"

	"tensortapestry.org/tapc/backends/cpu/cputest"
	"tensortapestry.org/tapc/ir/tensorfile"
)

// TestProductsAreFusedBySums runs operations of one kernel. What multiplies and adds in different operations is rounded after each, as the
// definition says: the bits are the reference evaluator's. Sums of products and functions have the same bits from every compiler.
func TestProductsAreFusedBySums(t *testing.T) {
	const graph = `
%a = tensor float32 [0:7, 0:67]
%b = tensor float32 [0:7, 0:67]
%c = tensor float32 [0:7, 0:67]
%ab = tensor float32 [0:7, 0:67]
%y = tensor float32 [0:7, 0:67]
%bc = tensor float32 [0:7, 0:67]
%z = tensor float32 [0:7, 0:67]
%d = tensor float64 [0:67]
%dd = tensor float64 [0:67]
%dy = tensor float64 [0:67]
%q = tensor uint8 [0:67]
%s = tensor float32 []
%qf = tensor float32 [0:67]
%qy = tensor float32 [0:7, 0:67]
%w = tensor float32 [0:67, 0:33]
%p = tensor float32 [0:7, 0:33]
%v = tensor float32 [0:33]
%ps = tensor float32 [0:7, 0:33]
%py = tensor float32 [0:7, 0:33]
%e = tensor float32 [0:7, 0:67]
%t = tensor float32 [0:7, 0:67]
%m = tensor float32 [0:7, 0:67]
%i = tensor float32 [0:1, 0:8, 0:9, 0:9]
%f = tensor float32 [0:8, 0:1, 0:3, 0:3]
%o = tensor float32 [0:1, 0:8, 0:9, 0:9]
operation op:mul (tensors: [%a, %b]) -> (result: %ab)
operation op:add (tensors: [%ab, %c]) -> (result: %y)
operation op:mul (tensors: [%b, %c]) -> (result: %bc)
operation op:sub (a: %y, b: %bc) -> (result: %z)
operation op:mul (tensors: [%d, %d]) -> (result: %dd)
operation op:add (tensors: [%dd, %d]) -> (result: %dy)
operation op:constant {value: 0.0173} -> (result: %s)
operation op:dequantize (scale: %s, tensor: %q) -> (result: %qf)
operation op:add (tensors: [%a, %qf]) -> (result: %qy)
operation op:matmul (X: %a, Y: %w) -> (Z: %p)
operation op:mul (tensors: [%p, %v]) -> (result: %ps)
operation op:add (tensors: [%ps, %v]) -> (result: %py)
operation op:exp (tensor: %a) -> (result: %e)
operation op:tanh (tensor: %a) -> (result: %t)
operation op:softmax {dims: [1]} (tensor: %b) -> (result: %m)
operation op:conv {groups: 8, pads: [1, 1], pads_end: [1, 1]} (W: %f, X: %i) -> (Y: %o)
`
	g := cputest.Operations(t, graph)
	in := cputest.RandomInputs(t, g)
	want := cputest.Evaluate(t, cputest.Operations(t, graph), in)
	defined := map[string]bool{"z": true, "dy": true, "qy": true}
	run := func(name string) map[string]tensorfile.Tensor {
		scheduled := cputest.Operations(t, graph)
		exe := native(t, cputest.Compiler(t, name), scheduled)
		return cputest.Run(t, []string{exe}, scheduled, in, "1")
	}
	first, other := run("gcc"), run("clang")
	for name, x := range first {
		if defined[name] && !bytes.Equal(x.Data, want[name].Data) {
			t.Errorf("%s: other bits than the definition's", name)
		}
		if !bytes.Equal(x.Data, other[name].Data) {
			t.Errorf("%s: other bits with clang than with gcc", name)
		}
	}
}
