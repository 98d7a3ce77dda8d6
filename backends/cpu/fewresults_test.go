package cpu_test

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"strings"
	"testing"

	"tensortapestry.org/tapc/backends/cpu/cputest"
	"tensortapestry.org/tapc/ir/tensorfile"
)

// rowsTogether are so many that the rows of a reduction are tasks enough, and each is reduced by one thread.
const rowsTogether = 16

// TestFewResults: a reduction with few results, which is split among threads, gives the bits of the same one among others, each of which one thread
// carries out, with any number of threads: sums over all of a row and beside it, over two dimensions, means, greatest values with NaN and zeros
// of both signs. Products of matrices give the bits of the tree that the documents have.
func TestFewResults(t *testing.T) {
	cc := cputest.Compiler(t)
	rng := rand.New(rand.NewPCG(4, 4))
	var c sumCases
	pair := func(kernel, result, port string, row, out []int64) {
		c.add(kernel, result, append(dims(rowsTogether), out...), port, append(dims(rowsTogether), row...))
		c.add(kernel, result, append(dims(1), out...), port, append(dims(1), row...))
	}
	n := near(rng, 270000, 280000)
	pair("sum {dims: [1]}", "result", "tensor", dims(n), dims())
	pair("mean {dims: [1]}", "result", "tensor", dims(n/40, 40), dims(40))
	pair("l2_norm {dims: [1, 3]}", "result", "tensor", dims(n/300, 3, 100), dims(3))
	pair("reduce_max {dims: [1]}", "result", "tensor", dims(n), dims())
	pair("reduce_min {dims: [1]}", "result", "tensor", dims(n/5, 5), dims(5))
	products := len(c.labels)
	k := near(rng, 40000, 9*4096)
	c.add("matmul", "Z", dims(4, 4), "X", dims(4, k), "Y", dims(k, 4))
	c.add("matmul", "Z", dims(5, 37), "X", dims(5, k), "Y", dims(k, 37))
	g := cputest.Operations(t, c.graph)
	in := cputest.RandomInputs(t, g)
	for i := 0; i < products; i += 2 {
		if strings.HasPrefix(c.about[i], "reduce_") {
			special(in[input(i, "tensor")])
		}
		beginning(in, input(i, "tensor"), input(i+1, "tensor"))
	}
	for i := products; i < len(c.labels); i++ { // 12 bits are left of 24: products are exact
		for _, port := range []string{"X", "Y"} {
			for x := in[input(i, port)].Data; len(x) > 0; x = x[4:] {
				x[0], x[1] = 0, x[1]&0xf0
			}
		}
	}
	src := native(t, cc, g)
	for _, threads := range []string{"1", "2", "5"} {
		got := cputest.Run(t, []string{src}, g, in, threads)
		for i := products; i < len(c.labels); i++ {
			checkTree(t, c.about[i], floatsOf(in[input(i, "X")]), floatsOf(in[input(i, "Y")]), floatsOf(got[input(i, "out")]), int(k))
		}
		for i := 0; i < products; i += 2 {
			alone := got[input(i+1, "out")].Data
			if !bytes.Equal(alone, got[input(i, "out")].Data[:len(alone)]) {
				t.Errorf("%s, %s threads: other bits than as one of many", c.about[i+1], threads)
			}
		}
	}
}

// checkTree holds a product of rows of k elements to the tree of docs/numerics.md.
func checkTree(t *testing.T, about string, x, y, z []float32, k int) {
	t.Helper()
	cols := len(y) / k
	for at := range z {
		products := make([]float32, k)
		for p := range products {
			products[p] = x[at/cols*k+p] * y[p*cols+at%cols]
		}
		if want := sumTree(products); z[at] != want {
			t.Fatalf("%s: %v at %d, expected %v", about, z[at], at, want)
		}
	}
}

// special makes the elements of a tensor -1 and zeros of both signs, and a few NaN, of two kinds, in one of five columns.
func special(t tensorfile.Tensor) {
	for i := range len(t.Data) / 4 {
		x := []uint32{0xbf800000, 0x80000000, 0}[t.Data[4*i]%3]
		if i%5 == 3 && i%1000 == 3 {
			x = []uint32{0x7fc00000, 0x7fc12345}[t.Data[4*i]%2]
		}
		binary.LittleEndian.PutUint32(t.Data[4*i:], x)
	}
}

// beginning makes an input the beginning of another.
func beginning(in map[string]tensorfile.Tensor, of, name string) {
	in[name] = tensorfile.Tensor{DType: in[of].DType, Shape: in[name].Shape, Data: in[of].Data[:len(in[name].Data)]}
}
