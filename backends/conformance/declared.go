package conformance

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"testing"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/calls"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/bind"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/declaration"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/example"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/infer"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/sample"
	"tensortapestry.org/tapc/internal/testkit"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/tensorfile"
)

// Declared runs every kernel of the library on a back end: the cases of its declaration (whose values Passes compares with what is
// declared), and random calls of several element types and awkward shapes. Many operations share a graph, so that there are few programs to build. The calls are the same
// every time; one graph in every so many has its turn. With TAPC_CONFORMANCE=full there are many more calls, and all graphs run.
func Declared(t *testing.T, device Device, every int, execute Execute) {
	runs := testkit.Turns(t, every)
	for i, b := range batches(t) {
		name := fmt.Sprintf("declared/%02d", i)
		if !runs() {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := b.suite(t, device)
			s.sums = s.withoutSigns()
			in, want := s.schedules(device, b.shards...)
			s.executed("executed", in, want, execute(t, b.g, in))
		})
	}
}

// batch is a graph of unconnected operations, with the values of its inputs and those outputs that a declaration states.
type batch struct {
	builder
	rnd          *rand.Rand
	inputs, want map[string]tensorfile.Tensor
	rules        map[string]comparison
	shards       []string
	count        int
}

func (b *batch) suite(t *testing.T, device Device) suite {
	rules := map[string]comparison{}
	for name, c := range b.rules {
		c.zeros = c.zeros || device.AnyZeros
		rules[name] = c
	}
	return suite{T: t, g: b.g, given: b.inputs, rules: rules}
}

// batchSize is the number of operations in a graph.
const batchSize = 40

func batches(t *testing.T) []*batch {
	var all []*batch
	next := func() *batch {
		if len(all) == 0 || all[len(all)-1].count == batchSize {
			all = append(all, &batch{builder: builder{ir.New()}, rnd: rand.New(rand.NewPCG(7, uint64(len(all)))),
				inputs: map[string]tensorfile.Tensor{}, want: map[string]tensorfile.Tensor{}, rules: map[string]comparison{}})
		}
		b := all[len(all)-1]
		b.count++
		return b
	}
	for i, name := range kernels.Builtin().Names() {
		d, _ := kernels.Builtin().Find(name)
		for j, c := range d.Cases {
			x, err := example.Of(d, c)
			if err != nil {
				t.Fatal(err)
			}
			if name != "choice" { // one branch is left of it, which its own tests compare
				next().add(fmt.Sprintf("%s_case%d", name, j), d, x.Call, x.Inputs, x.Outputs)
			}
		}
		for _, typ := range typesOf(d, i) {
			h := fnv.New64a()
			fmt.Fprint(h, name, typ)
			rnd := rand.New(rand.NewPCG(h.Sum64(), 1))
			for j := range 1 + map[bool]int{true: 5}[testkit.Full()] {
				c, err := sample.Call(d, rnd, typ)
				if err != nil {
					t.Fatalf("%s of %v: %v", name, typ, err)
				}
				if c != nil {
					next().add(fmt.Sprintf("%s_%v_%d", name, typ, j), d, *c, nil, nil)
				}
			}
		}
	}
	return all
}

// typesOf chooses element types for a kernel: all of them, or float32 and two others that take turns from kernel to kernel.
func typesOf(d *declaration.Kernel, turn int) []scalar.DType {
	all := sample.Types(d)
	if testkit.Full() || len(all) <= 3 {
		return all
	}
	rest := slices.DeleteFunc(slices.Clone(all), func(t scalar.DType) bool { return t == scalar.Float32 })
	chosen := []scalar.DType{rest[2*turn%len(rest)], rest[(2*turn+1)%len(rest)]}
	if len(rest) < len(all) {
		chosen = append(chosen, scalar.Float32)
	}
	return chosen
}

// add puts an operation into the batch, on tensors of its own. Inputs without data are random, selections may be a part of
// their tensor and start anywhere, and some operations are cut into shards.
func (b *batch) add(name string, d *declaration.Kernel, c infer.Call, data, want [][]byte) {
	next := func(list *[][]byte) (bytes []byte) {
		if len(*list) > 0 {
			bytes, *list = (*list)[0], (*list)[1:]
		}
		return bytes
	}
	calls.Add(b.g, name, d, c, func(label string, s infer.Selected) ir.Selection {
		return b.input(name+"_"+label, s, next(&data))
	}, func(label string, s infer.Selected) ir.Selection {
		label = name + "_" + label
		r := sample.Moved(b.rnd, s.Sel.Range())
		if w := next(&want); w != nil {
			b.want[label] = tensorfile.Tensor{DType: s.Type, Shape: r.Shape(), Data: w}
		}
		return ir.Select(b.g.Add(&tensorops.Tensor{DType: s.Type.String(), Range: r}, label).ID, r)
	})
	b.shard(name, d, c)
	b.judge(name, d, c)
}

// input adds an input tensor of which a selection is the whole or a part.
func (b *batch) input(label string, s infer.Selected, data []byte) ir.Selection {
	sel := sample.Moved(b.rnd, s.Sel.Range())
	whole := sel.Clone()
	for i := range whole.Start {
		if data == nil && b.rnd.IntN(4) == 0 {
			whole.Start[i] -= int64(b.rnd.IntN(3))
			whole.End[i] += int64(b.rnd.IntN(3))
		}
	}
	size, _ := whole.Size()
	if data == nil {
		data = sample.Values(b.rnd, s.Type, int(size))
	}
	b.inputs[label] = tensorfile.Tensor{DType: s.Type, Shape: whole.Shape(), Data: data}
	id := b.g.Add(&tensorops.Tensor{DType: s.Type.String(), Range: whole}, label).ID
	return ir.Select(id, sel)
}

// shard asks for some operations to be cut along their index.
func (b *batch) shard(name string, d *declaration.Kernel, c infer.Call) {
	in, err := bind.Instance(d, c)
	if err != nil || b.rnd.IntN(3) > 0 {
		return
	}
	if counts := sample.Cut(in, b.rnd); counts != "" {
		b.shards = append(b.shards, name+"="+counts)
	}
}
