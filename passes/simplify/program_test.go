package simplify_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"tensortapestry.org/tapc/dialects/application"
	"tensortapestry.org/tapc/dialects/application/cut"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/zspace"
	"tensortapestry.org/tapc/passes/apply"
	"tensortapestry.org/tapc/passes/rewrite"
	"tensortapestry.org/tapc/passes/shard"
	"tensortapestry.org/tapc/passes/simplify"
)

// program builds random graphs of many operations with much to simplify: constants, copies, pairs that cancel.
type program struct {
	g    *ir.Graph
	rnd  *rand.Rand
	pool []ir.NodeID
	d    scalar.DType
}

func newProgram(rnd *rand.Rand, ops int) *ir.Graph {
	p := &program{g: ir.New(), rnd: rnd, d: []scalar.DType{scalar.Float32, scalar.Int32, scalar.BFloat16, scalar.UInt8}[rnd.IntN(4)]}
	for i := range 2 {
		p.pool = append(p.pool, p.tensor([]int64{2, 3}, fmt.Sprintf("x%d", i)))
	}
	for _, v := range []ir.AttrValue{ir.IntAttr(0), ir.IntAttr(1), p.minusZero()} {
		c := p.tensor([]int64{2, 3}, "")
		p.add("constant", ir.Attrs{{Name: "value", Value: v}}, "", c)
	}
	for range ops {
		p.step()
	}
	return p.g
}

func (p *program) minusZero() ir.AttrValue {
	if p.d.IsFloat() {
		return ir.FloatAttr(specials[1])
	}
	return ir.IntAttr(3)
}

func (p *program) tensor(shape []int64, label string) ir.NodeID {
	r, err := zspace.MustShape(shape...).Translate(zspace.Point{int64(p.rnd.IntN(5) - 2), int64(p.rnd.IntN(3))})
	if err != nil {
		panic(err)
	}
	return p.g.Add(&tensorops.Tensor{DType: p.d.String(), Range: r}, label).ID
}

// pick gives a box of 2 by 3 of a tensor.
func (p *program) pick() ir.Selection {
	id := p.pool[max(0, len(p.pool)-1-p.rnd.IntN(min(len(p.pool), 6)))]
	return ir.Select(id, tensorops.TensorOf(p.g, id).Range)
}

func (p *program) add(kernel string, params ir.Attrs, port string, out ir.NodeID, in ...ir.Selection) *ir.Node {
	op := &tensorops.Operation{Kernel: "op:" + kernel, Params: params,
		Outputs: ir.PortsOf([]ir.Port{{Name: "result", Sel: []ir.Selection{ir.Select(out, tensorops.TensorOf(p.g, out).Range)}}})}
	if port != "" {
		op.Inputs = ir.PortsOf([]ir.Port{{Name: port, Sel: in}})
	}
	p.pool = append(p.pool, out)
	return p.g.Add(op, "")
}

func (p *program) step() {
	out := p.tensor([]int64{2, 3}, "")
	switch kernel := []string{"add", "mul", "max", "min", "sub", "neg", "relu", "relu", "broadcast", "cast", "permute"}[p.rnd.IntN(11)]; kernel {
	case "add", "mul", "max", "min":
		p.add(kernel, nil, "tensors", out, p.pick(), p.pick())
	case "sub":
		a, b := p.pick(), p.pick()
		n := p.add(kernel, nil, "a", out, a)
		op := n.Body.(*tensorops.Operation)
		op.Inputs = op.Inputs.With(ir.Port{Name: "b", Sel: []ir.Selection{b}})
	case "permute":
		mid := p.tensor([]int64{3, 2}, "")
		p.add(kernel, ir.Attrs{{Name: "perm", Value: ir.IntsAttr(1, 0)}}, "tensor", mid, p.pick())
		p.pool = p.pool[:len(p.pool)-1]
		p.add(kernel, ir.Attrs{{Name: "perm", Value: ir.IntsAttr(1, 0)}}, "tensor", out, ir.Select(mid, tensorops.TensorOf(p.g, mid).Range))
	default:
		p.add(kernel, nil, "tensor", out, p.pick())
	}
}

// TestPrograms runs the three passes on random programs, with and without signatures and shards, and compares the observed
// values bit by bit.
func TestPrograms(t *testing.T) {
	applied := 0
	seeds := uint64(400)
	if testing.Short() {
		seeds = 40
	}
	for seed := range seeds {
		rnd := rand.New(rand.NewPCG(seed, 7))
		g := newProgram(rnd, 5+rnd.IntN(30))
		env := tensorops.Environment()
		if seed%2 == 0 {
			sign(t, g)
		}
		if seed%3 == 0 {
			shardSome(t, g, rnd)
			apply.Run(g)
			env = application.Environment()
		}
		mustBeValid(t, env, g)
		in, before := inputsOf(t, g, rnd), g.Clone()
		want := evaluate(t, before, in)
		for _, pass := range passes {
			s, err := pass.run(g)
			if err != nil {
				t.Fatalf("seed %d, %s: %v", seed, pass.name, err)
			}
			applied += s.Applied
			mustBeValid(t, env, g)
			if err := sameValues(want, evaluate(t, g, in)); err != nil {
				t.Fatalf("seed %d, %s: %v\nbefore\n%s\nafter\n%s", seed, pass.name, err, dump(before), dump(g))
			}
			if err := tagsAgree(g); err != nil {
				t.Fatalf("seed %d, %s: %v", seed, pass.name, err)
			}
		}
	}
	if applied < int(seeds)*5/2 {
		t.Errorf("only %d applications: the programs test too little", applied)
	}
}

// shardSome cuts the operations of some kernels into shards.
func shardSome(t *testing.T, g *ir.Graph, rnd *rand.Rand) {
	t.Helper()
	for _, kernel := range []string{"op:add", "op:sub", "op:relu", "op:neg", "op:permute", "op:broadcast"} {
		grid := [][]int64{{1, 2}, {2, 1}, {2, 2}}[rnd.IntN(3)]
		_, err := shard.Run(g, kernels.Builtin(), []shard.Request{{Target: kernel, Cut: cut.Grid(grid...)}})
		if err != nil && !strings.Contains(err.Error(), kernel) {
			t.Fatal(err)
		}
	}
}

var passes = []struct {
	name string
	run  func(*ir.Graph) (rewrite.Stats, error)
}{
	{"simplify", func(g *ir.Graph) (rewrite.Stats, error) {
		return simplify.Run(context.Background(), g, nil, rewrite.Options{Verify: true})
	}},
	{"cse", func(g *ir.Graph) (rewrite.Stats, error) {
		return simplify.CSE(context.Background(), g, rewrite.Options{})
	}},
	{"dce", func(g *ir.Graph) (rewrite.Stats, error) {
		return simplify.DCE(context.Background(), g, rewrite.Options{})
	}},
	{"simplify again", func(g *ir.Graph) (rewrite.Stats, error) {
		return simplify.Run(context.Background(), g, nil, rewrite.Options{Verify: true})
	}},
}

// TestPassesTwice checks that a second run of the same pass finds nothing, and that equal graphs come out equal.
func TestPassesTwice(t *testing.T) {
	for seed := range uint64(100) {
		g := newProgram(rand.New(rand.NewPCG(seed, 8)), 30)
		h := g.Clone()
		for _, pass := range passes[:3] {
			if _, err := pass.run(g); err != nil {
				t.Fatal(err)
			}
			if _, err := pass.run(h); err != nil {
				t.Fatal(err)
			}
			if dump(g) != dump(h) {
				t.Fatalf("seed %d: %s gives two results for one graph", seed, pass.name)
			}
			s, err := pass.run(g)
			if err != nil || s.Applied != 0 {
				t.Fatalf("seed %d: %s applies %v once more (%v)", seed, pass.name, s, err)
			}
		}
	}
}
