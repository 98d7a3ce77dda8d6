package cpu_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tensortapestry.org/tapc/backends/cpu"
	"tensortapestry.org/tapc/backends/cpu/cputest"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/tensorfile"
)

// selectionLines are lines of n cells: few values with NaN, both zeros and infinities; many values; ascending; all the same.
func selectionLines(n int) [][]float32 {
	rnd := rand.New(rand.NewPCG(5, 6))
	special := []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1), 1, -1, math.MaxFloat32}
	out := make([][]float32, 5)
	for i := range n {
		values := []float64{special[rnd.IntN(len(special))], rnd.NormFloat64(), float64(i), float64(-i), math.NaN()}
		for l, v := range values {
			out[l] = append(out[l], float32(v))
		}
	}
	return out
}

// placesInOrder gives the places of a line's cells, the greatest first or the least; NaN is greater than all, and equal cells keep their order.
func placesInOrder(line []float32, largest bool) []int {
	out := make([]int, len(line))
	for i := range out {
		out[i] = i
	}
	slices.SortStableFunc(out, func(a, b int) int {
		if !largest {
			a, b = b, a
		}
		x, y := line[a], line[b]
		switch {
		case x != x && y != y, x == y:
			return 0
		case x != x, x > y:
			return -1
		}
		return 1
	})
	return out
}

// The first k of an order are the same whether all cells are sorted or only those that may be among them, in every mix of ties, NaN,
// zeros and infinities, along lines and across them.
func TestSelection(t *testing.T) {
	cc := cputest.Compiler(t)
	const n = 700
	lines := selectionLines(n)
	along, across := make([]byte, 4*n*len(lines)), make([]byte, 4*n*len(lines))
	for l, line := range lines {
		for i, v := range line {
			binary.LittleEndian.PutUint32(along[4*(l*n+i):], math.Float32bits(v))
			binary.LittleEndian.PutUint32(across[4*(i*len(lines)+l):], math.Float32bits(v))
		}
	}
	var graphs []string
	inputs := map[string]tensorfile.Tensor{}
	type made struct {
		k, axis int
		largest bool
	}
	var cases []made
	for at, k := range []int{0, 1, 2, 7, 64, 233, 349, 350, 351, n - 1, n} {
		c := made{k, (at + 1) % 2, at%3 != 0}
		cases = append(cases, c, made{k, 1 - c.axis, !c.largest})
	}
	for at, c := range cases {
		in, out, data := []int{len(lines), n}, []int{len(lines), c.k}, along
		if c.axis == 0 {
			in, out, data = []int{n, len(lines)}, []int{c.k, len(lines)}, across
		}
		graphs = append(graphs, tensorText("x", in...)+tensorText("y", out...)+typed("int64", "i", out...)+
			fmt.Sprintf("%%s = operation op:top_k {axis: %d, k: %d, largest: %v} (tensor: %%x) -> (indices: %%i, values: %%y)\n", c.axis, c.k, c.largest))
		inputs[fmt.Sprintf("c%d_x", at)] = tensorfile.Tensor{DType: scalar.Float32, Shape: []int64{int64(in[0]), int64(in[1])}, Data: data}
	}
	got := cputest.Strictly(cc)(nil)(t, cputest.Scheduled(t, cputest.Together(graphs...)), inputs)
	for at, c := range cases {
		for l, line := range lines {
			for p, want := range placesInOrder(line, c.largest)[:c.k] {
				place := l*c.k + p
				if c.axis == 0 {
					place = p*len(lines) + l
				}
				i := int(binary.LittleEndian.Uint64(got[fmt.Sprintf("c%d_i", at)].Data[8*place:]))
				v := binary.LittleEndian.Uint32(got[fmt.Sprintf("c%d_y", at)].Data[4*place:])
				if i != want || v != math.Float32bits(line[want]) {
					t.Fatalf("%+v, line %d, %d in order: expected cell %d, found %d with bits %x", c, l, p, want, i, v)
				}
			}
		}
	}
}

// What sorts every cell and what collects a few are chosen by what reads the order: a rank that something else reads too is whole.
func TestSelectionForm(t *testing.T) {
	const collects = "any |= "
	for _, c := range []struct {
		name, graph string
		want        bool
	}{
		{"few", tensorText("x", 9, 700) + tensorText("y", 9, 7) + "%s = operation op:top_k {k: 7} (tensor: %x) -> (values: %y)\n", true},
		{"indices alone", tensorText("x", 9, 700) + typed("int64", "i", 9, 7) + "%s = operation op:top_k {k: 7} (tensor: %x) -> (indices: %i)\n", true},
		{"half", tensorText("x", 9, 700) + tensorText("y", 9, 350) + "%s = operation op:top_k {k: 350} (tensor: %x) -> (values: %y)\n", false},
		{"all", tensorText("x", 9, 700) + tensorText("y", 9, 700) + "%s = operation op:sort (tensor: %x) -> (values: %y)\n", false},
		{"the rank is read", tensorText("x", 700) + tensorText("y", 7) + typed("int64", "w", 700) +
			"%s = operation op:unique {k: 7} (tensor: %x) -> (inverse: %w, values: %y)\n", false},
	} {
		src, err := cpu.Emit(cputest.Scheduled(t, c.graph), "test", "test")
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(src.C, collects); got != c.want {
			t.Errorf("%s: cells are collected: %v, expected %v", c.name, got, c.want)
		}
	}
}
