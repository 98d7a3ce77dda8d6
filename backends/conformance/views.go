package conformance

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"tensortapestry.org/tapc/internal/testkit"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/zspace"
)

// Views runs random chains of views (reshapes, permutations, slices, reversals, concatenations, pads, with elementwise work between, also on two ways)
// before and behind windows (convolutions, transposed ones, pools) with pads, strides and dilations, on a back end: fusion reads
// and writes through the views, and windows stand partly outside of what they come from. One graph in every so many has its turn.
func Views(t *testing.T, device Device, every int, execute Execute) {
	runs := testkit.Turns(t, every)
	for i := range viewGraphs {
		if !runs() {
			continue
		}
		t.Run(fmt.Sprintf("views/%02d", i), func(t *testing.T) {
			t.Parallel()
			s := suite{T: t, g: viewGraph(uint64(i))}
			in, want := s.schedules(device)
			s.executed("executed", in, want, execute(t, s.g, in))
		})
	}
}

// How many graphs there are, and how many chains each has.
const (
	viewGraphs = 12
	viewChains = 10
)

// viewGraph makes the graph of a seed: chains that are not connected.
func viewGraph(seed uint64) *ir.Graph {
	b := builder{ir.New()}
	for n := range viewChains {
		v := viewer{builder: b, rnd: rand.New(rand.NewPCG(seed, uint64(n)))}
		v.input(v.draw(1, 3), 24)
		v.views(v.draw(1, 4))
		v.split()
		v.window()
		v.views(v.draw(0, 2))
	}
	return b.g
}

// viewer makes one chain.
type viewer struct {
	builder
	rnd   *rand.Rand
	at    ir.Selection // what the chain is so far
	shape []int64
}

// draw gives a number between two, inclusive.
func (v *viewer) draw(lo, hi int64) int64 { return lo + v.rnd.Int64N(hi-lo+1) }

func (v *viewer) new(shape []int64) ir.Selection {
	return v.tensor("", "float32", zspace.Range{Start: make(zspace.Point, len(shape)), End: shape}.Text())
}

// input begins the chain with an input of some dimensions, of at least so many elements.
func (v *viewer) input(rank, least int64) {
	size := int64(1)
	for range rank {
		v.shape = append(v.shape, v.draw(2, 6))
		size *= v.shape[len(v.shape)-1]
	}
	v.shape[rank-1] *= (least + size - 1) / size
	v.at = v.new(v.shape)
}

// then adds an operation on one tensor.
func (v *viewer) then(kernel string, params ir.Attrs, port string, shape []int64) {
	v.shape = shape
	out := v.new(shape)
	v.op("op:"+kernel, params, ir.PortsOf([]ir.Port{in(port, v.at)}), out, map[string]string{"X": "Y"}[port]+map[string]string{"tensor": "result"}[port])
	v.at = out
}

func (v *viewer) views(count int64) {
	for range count {
		rank := len(v.shape)
		shape := slices.Clone(v.shape)
		switch v.draw(0, 7) {
		case 0:
			v.reshape(v.factors(int(v.draw(1, 4))))
		case 1:
			order := v.rnd.Perm(rank)
			var perm []int64
			for i, d := range order {
				shape[i] = v.shape[d]
				perm = append(perm, int64(d))
			}
			v.then("permute", ir.Attrs{}.With("perm", ir.IntsAttr(perm...)), "tensor", shape)
		case 2:
			starts := make([]int64, rank)
			for d, n := range v.shape {
				starts[d] = v.draw(0, min(1, n-1))
				shape[d] = v.draw((n-starts[d]+1)/2, n-starts[d])
			}
			v.then("slice", ir.Attrs{}.With("lengths", ir.IntsAttr(shape...)).With("starts", ir.IntsAttr(starts...)), "tensor", shape)
		case 3:
			v.then("reverse", ir.Attrs{}.With("dims", ir.IntsAttr(v.draw(0, int64(rank)-1))), "tensor", shape)
		case 4:
			v.then("relu", nil, "tensor", shape)
		case 5:
			v.twice()
		case 6:
			pads := make([]int64, rank)
			for d := range pads {
				pads[d] = v.draw(0, 1)
				shape[d] += 2 * pads[d]
			}
			v.then("pad", ir.Attrs{}.With("pads", ir.IntsAttr(pads...)), "tensor", shape)
		default:
			v.concat(int(v.draw(0, int64(rank)-1)))
		}
	}
}

// twice adds what is computed of what there is so far to it: two kernels read what comes before.
func (v *viewer) twice() {
	before := v.at
	v.then("tanh", nil, "tensor", v.shape)
	out := v.new(v.shape)
	v.op("op:add", nil, ir.PortsOf([]ir.Port{in("tensors", before, v.at)}), out, "result")
	v.at = out
}

// concat puts the chain behind itself, or behind another input.
func (v *viewer) concat(axis int) {
	shape := slices.Clone(v.shape)
	other := v.at
	if v.draw(0, 1) == 0 {
		other = v.new(v.shape)
	}
	if shape[axis] *= 2; shape[axis] > 40 {
		return
	}
	out := v.new(shape)
	v.op("op:concat", ir.Attrs{}.With("axis", ir.IntAttr(int64(axis))), ir.PortsOf([]ir.Port{in("tensors", other, v.at)}), out, "result")
	v.at, v.shape = out, shape
}

func (v *viewer) reshape(shape []int64) {
	v.then("reshape", ir.Attrs{}.With("shape", ir.IntsAttr(shape...)), "tensor", shape)
}

// factors splits the number of elements into some factors.
func (v *viewer) factors(count int) []int64 {
	rest := int64(1)
	for _, n := range v.shape {
		rest *= n
	}
	out := make([]int64, count)
	for i := range out {
		out[i] = 1
	}
	for p := int64(2); rest > 1; p++ {
		for ; rest%p == 0; rest /= p {
			out[v.rnd.IntN(count)] *= p
		}
	}
	return out
}

// split makes an image of the chain: images, channels and one to three spatial dimensions.
func (v *viewer) split() { v.reshape(append([]int64{1}, v.factors(int(v.draw(2, 4)))...)) }

// window adds a window over the image.
func (v *viewer) window() {
	transposed := v.draw(0, 3) == 0
	var kernel, pads, strides, dilations, out []int64
	for _, n := range v.shape[2:] {
		k, s, d := v.draw(1, 3), v.draw(1, 2), v.draw(1, 2)
		pad := v.draw(0, k-1)
		size := (n + 2*pad - (k-1)*d - 1 + s) / s
		if transposed {
			size = (n-1)*s + (k-1)*d + 1 - 2*pad
		}
		if size < 1 || n+2*pad < (k-1)*d+1 {
			k, s, d, pad, size = 1, 1, 1, 0, n
		}
		kernel, pads, strides, dilations, out = append(kernel, k), append(pads, pad), append(strides, s), append(dilations, d), append(out, size)
	}
	params := ir.Attrs{}.With("dilations", ir.IntsAttr(dilations...)).With("pads", ir.IntsAttr(pads...)).With("strides", ir.IntsAttr(strides...))
	shape, channels := append([]int64{v.shape[0], v.shape[1]}, out...), v.shape[1]
	kind := v.draw(0, 2)
	switch {
	case transposed:
		v.filtered("conv_transpose", params, append([]int64{channels, 3}, kernel...), append([]int64{v.shape[0], 3}, out...))
	case kind == 0:
		v.then([]string{"max_pool", "average_pool"}[v.draw(0, 1)], params.With("kernel", ir.IntsAttr(kernel...)), "X", shape)
	case kind == 1:
		v.filtered("conv", params.With("groups", ir.IntAttr(channels)), append([]int64{channels, 1}, kernel...), shape)
	default:
		v.filtered("conv", params, append([]int64{3, channels}, kernel...), append([]int64{v.shape[0], 3}, out...))
	}
}

// filtered adds a convolution by filters that are an input.
func (v *viewer) filtered(kernel string, params ir.Attrs, filters, shape []int64) {
	out := v.new(shape)
	v.op("op:"+kernel, params, ir.PortsOf([]ir.Port{in("W", v.new(filters)), in("X", v.at)}), out, "Y")
	v.at, v.shape = out, shape
}
