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

// TestProductsOfOthersAreRounded: a product that sums read is rounded before it is added, whether it is stored, computed in the kernel of the one sum, or again in the
// kernels of several.
func TestProductsOfOthersAreRounded(t *testing.T) {
	const product = `
%x = tensor float32 [0:128, 0:256]
%w = tensor float32 [0:128, 0:256]
%y = tensor float32 [0:128, 0:256]
%r = tensor float32 [0:128]
operation op:mul (tensors: [%x, %w]) -> (result: %y)
`
	const rows, columns = "operation op:sum {dims: [1]} (tensor: %y) -> (result: %r)\n", "%c = tensor float32 [0:256]\noperation op:sum {dims: [0]} (tensor: %y) -> (result: %c)\n"
	cc := cputest.Compiler(t)
	run := func(graph string) map[string]tensorfile.Tensor {
		scheduled := cputest.Operations(t, graph)
		in := cputest.RandomInputs(t, scheduled)
		return cputest.Run(t, []string{native(t, cc, scheduled)}, scheduled, in, "1")
	}
	both := run(product + rows + columns)
	stored := run(product + rows + columns + "operation op:export {names: [\"r\", \"c\", \"y\"]} (tensor: [%r, %c, %y])\n")
	for name, x := range run(product + rows) {
		if !bytes.Equal(x.Data, both[name].Data) {
			t.Errorf("%s: other bits where the product is computed again", name)
		}
	}
	for _, name := range []string{"r", "c"} {
		if len(stored[name].Data) == 0 || !bytes.Equal(both[name].Data, stored[name].Data) {
			t.Errorf("%s: other bits where the product is stored", name)
		}
	}
}
