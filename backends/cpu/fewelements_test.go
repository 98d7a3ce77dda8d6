package cpu_test

import (
	"bytes"
	"testing"

	"tensortapestry.org/tapc/backends/cpu/cputest"
	"tensortapestry.org/tapc/ir/tensorfile"
)

// Rows of few elements are computed several at a time, of which each has the bits that it has in a kernel of so few rows that they are computed one by one.
func TestRowsOfFewElements(t *testing.T) {
	cc := cputest.Compiler(t)
	c := sumCases{}
	ports := []string{}
	for _, k := range [][3]string{{"softmax {dims: [1]}", "tensor", "result"}, {"log_softmax {dims: [1]}", "tensor", "result"}, {"layer_norm", "X", "Y"},
		{"lp_normalization {dims: [1]}", "tensor", "result"}} {
		for _, size := range [][2]int64{{23, 2}, {23, 3}, {4, 5}, {9, 7}} {
			c.add(k[0], k[2], dims(size[:]...), k[1], dims(size[:]...))
			c.add(k[0], k[2], dims(2, size[1]), k[1], dims(2, size[1]))
			ports = append(ports, k[1])
		}
	}
	g := cputest.Operations(t, c.graph)
	in := cputest.RandomInputs(t, g)
	for i := 0; i < len(c.labels); i += 2 {
		two := in[input(i+1, ports[i/2])]
		in[input(i+1, ports[i/2])] = tensorfile.Tensor{DType: two.DType, Shape: two.Shape, Data: in[input(i, ports[i/2])].Data[:len(two.Data)]}
	}
	out := cputest.Run(t, []string{native(t, cc, g)}, g, in, "1")
	for i := 0; i < len(c.labels); i += 2 {
		alone := out[input(i+1, "out")].Data
		if !bytes.Equal(alone, out[input(i, "out")].Data[:len(alone)]) {
			t.Errorf("%s: other bits than as one of two rows", c.about[i])
		}
	}
}
