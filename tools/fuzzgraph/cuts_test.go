package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"tensortapestry.org/tapc/backends/constants"
	"tensortapestry.org/tapc/backends/reference"
	"tensortapestry.org/tapc/dialects/application"
	"tensortapestry.org/tapc/dialects/application/cut"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/internal/testkit"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/tensorfile"
	"tensortapestry.org/tapc/ir/text"
	"tensortapestry.org/tapc/passes/apply"
	"tensortapestry.org/tapc/passes/shard"
)

// TestRandomCuts cuts the operations of random graphs in random ways: what comes of it is valid and has the values of the graph, to the bit, and
// when the shards are taken away it is the graph again.
func TestRandomCuts(t *testing.T) {
	cuts, graphs := 0, uint64(100)
	if testkit.Full() {
		graphs = 3000
	}
	for seed := range graphs {
		g, err := generate(seed, 10)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		x, in := g.build()
		before, want := written(t, x), evaluated(t, x, in)
		rnd := rand.New(rand.NewPCG(seed, 0xc075))
		var requests []shard.Request
		for n := range x.Nodes() {
			if op, ok := n.Body.(*tensorops.Operation); ok && rnd.IntN(3) > 0 {
				if r, ok := randomCut(rnd, x, n, op); ok {
					requests = append(requests, r)
				}
			}
		}
		n, err := shard.Run(x, kernels.Builtin(), requests)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		cuts += n

		apply.Run(x)
		if list := application.Environment().Verify(context.Background(), x); list.HasErrors() {
			t.Fatalf("seed %d: %v\n%v", seed, list, requests)
		}
		same(t, seed, want, evaluated(t, x, in))
		if cut.Undo(x); !bytes.Equal(written(t, x), before) {
			t.Errorf("seed %d: the graph is another when its shards are taken away:\n%s\nfrom\n%s", seed, written(t, x), before)
		}
	}
	if cuts < 500 {
		t.Errorf("only %d shards: too little is tested", cuts)
	}
}

// randomCut gives a cut that fits an operation, if it has something to cut.
func randomCut(rnd *rand.Rand, x *ir.Graph, n *ir.Node, op *tensorops.Operation) (shard.Request, bool) {
	if op.IsCheck() {
		return shard.Request{}, false
	}
	y := x.Clone()
	m := y.Node(n.ID)
	if err := cut.Sign(y, kernels.Builtin(), m); err != nil {
		return shard.Request{}, false
	}
	s := cut.SpaceOf(y, kernels.Builtin(), m)
	if s.Index.Rank() == 0 {
		return shard.Request{}, false
	}
	return shard.Request{Target: n.Label, Cut: cut.Random(rnd, s)}, true
}

func written(t *testing.T, x *ir.Graph) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := text.Write(&b, x, text.Options{}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func evaluated(t *testing.T, x *ir.Graph, in map[string]tensorfile.Tensor) map[string]tensorfile.Tensor {
	t.Helper()
	var inline constants.Loader
	ev := reference.Evaluator{Library: kernels.Builtin(), Constants: inline.Load}
	out, err := ev.Evaluate(context.Background(), x, in)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// same holds outputs to those of the uncut graph, to the bit.
func same(t *testing.T, seed uint64, want, got map[string]tensorfile.Tensor) {
	t.Helper()
	if len(want) != len(got) {
		t.Errorf("seed %d: %d outputs, expected %d", seed, len(got), len(want))
	}
	for name, w := range want {
		if !sameBits(w, got[name]) {
			t.Errorf("seed %d: output %s has other bits than the uncut graph's", seed, name)
		}
	}
}

// sameBits says whether two tensors have the same bits, but for those of NaN: any NaN is as good as another (docs/numerics.md).
func sameBits(want, got tensorfile.Tensor) bool {
	d, n := want.DType, want.DType.Size()
	if got.DType != d || len(want.Data) != len(got.Data) {
		return false
	}
	for i := 0; i < len(want.Data); i += n {
		if bytes.Equal(want.Data[i:i+n], got.Data[i:i+n]) {
			continue
		}
		a, b := scalar.Decode(d, want.Data[i:]), scalar.Decode(d, got.Data[i:])
		nan := math.IsNaN(a.F) && math.IsNaN(b.F) || a.F == b.F && math.Signbit(a.F) == math.Signbit(b.F)
		nanIm := math.IsNaN(a.Im) && math.IsNaN(b.Im) || a.Im == b.Im && math.Signbit(a.Im) == math.Signbit(b.Im)
		if a.I != b.I || !nan || !nanIm {
			return false
		}
	}
	return true
}

// TestSameBits: any NaN is as good as another; near misses are the two zeros and numbers one step apart.
func TestSameBits(t *testing.T) {
	of := func(bits ...uint32) tensorfile.Tensor {
		x := tensorfile.Tensor{DType: scalar.Float32, Shape: []int64{int64(len(bits))}}
		for _, b := range bits {
			x.Data = binary.LittleEndian.AppendUint32(x.Data, b)
		}
		return x
	}
	one, nan := uint32(0x3f800000), uint32(0x7fc00000)
	for _, c := range []struct {
		a, b tensorfile.Tensor
		same bool
	}{
		{of(one, nan), of(one, nan|1<<31), true},
		{of(one, nan), of(one+1, nan), false},
		{of(0, nan), of(1<<31, nan), false},
		{of(nan), of(one), false},
		{of(one), of(one, one), false},
	} {
		if sameBits(c.a, c.b) != c.same {
			t.Errorf("%x and %x: expected %v", c.a.Data, c.b.Data, c.same)
		}
	}
}
