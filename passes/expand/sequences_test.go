package expand_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/internal/testkit"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/permission"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/tensorfile"
	"tensortapestry.org/tapc/ir/zspace"
	"tensortapestry.org/tapc/passes/expand"
	"tensortapestry.org/tapc/passes/rewrite"
	"tensortapestry.org/tapc/passes/simplify"
)

// TestSequencesOfRules takes random programs of several operations through a random sequence: some rules of simplify, some of expand, any branches of some
// or all of the choices, again and again. Without permissions every bit stays, NaN, infinities and signed zeros too; where sums may be taken in another order,
// values in float64 differ by less than that can do.
func TestSequencesOfRules(t *testing.T) {
	turn, made, seen := testkit.Turns(t, 40), 0, map[string]bool{}
	for seed := range uint64(2400) {
		if turn() {
			made += sequence(t, seed, seen)
		}
	}
	if least := map[bool]int{true: 40, false: 1}[testkit.Full()]; made < least || len(seen) < least {
		t.Errorf("%d applications, of rules with %d branches: this tests too little", made, len(seen))
	}
	t.Logf("%d applications, branches %d", made, len(seen))
}

func sequence(t *testing.T, seed uint64, seen map[string]bool) (made int) {
	t.Helper()
	rnd := rand.New(rand.NewPCG(seed, 170))
	exact := rnd.IntN(2) == 0
	opt, of, types := rewrite.Options{Verify: true}, specials, []string{"float32", "int32", "float64"}
	if !exact {
		opt.Allow, of, types = permission.Reassociate, tame, []string{"float64"}
	}
	g := chain(rnd, types[rnd.IntN(len(types))], 2+rnd.IntN(6))
	in := inputsOf(t, g, rnd, of)
	want, before, story := evaluate(t, g, in), dump(g), ""
	for range 2 + rnd.IntN(4) {
		n := 0
		var err error
		if rnd.IntN(3) == 0 {
			var s rewrite.Stats
			s, err = rewrite.Run(t.Context(), g, partOf(rnd, simplify.Rules()), opt)
			n, story = s.Applied, story+fmt.Sprintf("simplify %d; ", s.Applied)
		} else {
			n, err = expand.Run(t.Context(), g, partOf(rnd, expand.Rules()), expand.Settings{Depth: 1 + rnd.IntN(2), Limit: 10}, opt)
			story += fmt.Sprintf("expand %d; ", n)
		}
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, before)
		}
		made += n
		mustBeValid(t, g)
		takeAny(t, g, rnd, seen, rnd.IntN(2) == 0)
	}
	takeAny(t, g, rnd, seen, false)
	if err := agree(want, evaluate(t, g, in), exact); err != nil {
		t.Fatalf("seed %d: %v\n%s\nbefore\n%s\nafter\n%s", seed, err, story, before, dump(g))
	}
	return made
}

// partOf chooses most, half or few of a list of rules.
func partOf(rnd *rand.Rand, rules []rewrite.Rule) (out []rewrite.Rule) {
	share := []float64{0.9, 0.5, 0.2}[rnd.IntN(3)]
	for _, r := range rules {
		if rnd.Float64() < share {
			out = append(out, r)
		}
	}
	return out
}

// agree compares outputs: bit by bit, or in float64 within a thousand million times what one rounding does, of the greatest value.
func agree(want, got map[string]tensorfile.Tensor, exact bool) error {
	if exact {
		return same(want, got, true)
	}
	for name, w := range want {
		g, ok := got[name]
		if !ok || len(g.Data) != len(w.Data) {
			return fmt.Errorf("output %q is missing, or of another size", name)
		}
		most := 1.0
		for i := 0; i < len(w.Data); i += 8 {
			if v := math.Abs(scalar.Decode(w.DType, w.Data[i:]).F); v > most && !math.IsInf(v, 0) {
				most = v
			}
		}
		for i := 0; i < len(w.Data); i += 8 {
			a, b := scalar.Decode(w.DType, w.Data[i:]).F, scalar.Decode(g.DType, g.Data[i:]).F
			if !(math.Abs(a-b) <= 1e-7*most || a == b || math.IsNaN(a) && math.IsNaN(b)) {
				return fmt.Errorf("output %q, element %d: %v, expected %v", name, i/8, b, a)
			}
		}
	}
	return nil
}

// chain makes a program of some operations on matrices of 4 rows and columns, each of which takes what earlier ones give.
func chain(rnd *rand.Rand, dtype string, ops int) *ir.Graph {
	g := ir.New()
	tensor := func(label string, shape ...int64) ir.Selection {
		r := zspace.MustShape(shape...)
		return ir.Select(g.Add(&tensorops.Tensor{DType: dtype, Range: r}, label).ID, r)
	}
	pool := []ir.Selection{tensor("x", 4, 4), tensor("y", 4, 4)}
	row := tensor("b", 4)
	pick := func() ir.Selection { return pool[rnd.IntN(len(pool))] }
	add := func(kernel string, params ir.Attrs, out ir.Selection, port string, in ...ir.Port) ir.Selection {
		g.Add(&tensorops.Operation{Kernel: "op:" + kernel, Params: params, Inputs: ir.PortsOf(in), Outputs: ir.PortsOf([]ir.Port{{Name: port, Sel: []ir.Selection{out}}})}, "")
		return out
	}
	port := func(name string, sel ...ir.Selection) ir.Port { return ir.Port{Name: name, Sel: sel} }
	ints := ir.IntsAttr
	unary := []string{"relu", "neg", "abs"}
	if dtype != "int32" {
		unary = append(unary, "softmax", "log_softmax", "tanh", "square")
	}
	for i := range ops {
		out := func() ir.Selection { return tensor(fmt.Sprintf("t%d", i), 4, 4) }
		mid := func(shape ...int64) ir.Selection { return tensor("", shape...) }
		switch rnd.IntN(11) {
		case 0, 1:
			kernel := unary[rnd.IntN(len(unary))]
			pool = append(pool, add(kernel, nil, out(), "result", port("tensor", pick())))
		case 2, 3:
			pool = append(pool, add([]string{"add", "mul", "max", "min"}[rnd.IntN(4)], nil, out(), "result", port("tensors", pick(), pick())))
		case 4:
			pool = append(pool, add("matmul", nil, out(), "Z", port("X", pick()), port("Y", pick())))
		case 5:
			a := ir.Attrs{}.With("activation", ir.StringAttr([]string{"none", "relu"}[rnd.IntN(2)]))
			pool = append(pool, add("linear", a, out(), "result", port("A", pick()), port("b", row), port("x", pick())))
		case 6: // halves side by side, added to, one of which is read
			both := add("concat", ir.Attrs{}.With("axis", ir.IntAttr(0)), mid(8, 4), "result", port("tensors", pick(), pick()))
			both = add("relu", nil, mid(8, 4), "result", port("tensor", both))
			pool = append(pool, add("slice", ir.Attrs{}.With("starts", ints(int64(rnd.IntN(5)), 0)).With("lengths", ints(4, 4)), out(), "result", port("tensor", both)))
		case 7: // a border, and a part without
			p := add("pad", ir.Attrs{}.With("pads", ints(1, 0)).With("pads_end", ints(1, 2)), mid(6, 6), "result", port("tensor", pick()))
			p = add("relu", nil, mid(6, 6), "result", port("tensor", p))
			pool = append(pool, add("slice", ir.Attrs{}.With("starts", ints(int64(rnd.IntN(3)), int64(rnd.IntN(3)))).With("lengths", ints(4, 4)), out(), "result", port("tensor", p)))
		case 8:
			perm := ir.Attrs{}.With("perm", ints(1, 0))
			pool = append(pool, add("permute", perm, out(), "result", port("tensor", pick())))
		case 9:
			dims := ir.Attrs{}.With("dims", ints([][]int64{{0}, {1}, {0, 1}}[rnd.IntN(3)]...)).With("keepdims", ir.BoolAttr(true))
			shape := []int64{4, 4}
			d, _ := dims.Get("dims")
			for _, v := range d.List {
				shape[v.Int] = 1
			}
			s := add([]string{"sum", "reduce_max"}[rnd.IntN(2)], dims, mid(shape...), "result", port("tensor", pick()))
			pool = append(pool, add("sub", nil, out(), "result", port("a", pick()), port("b", s)))
		case 10:
			both := add("interleave", ir.Attrs{}.With("axis", ir.IntAttr(1)), mid(4, 8), "result", port("tensors", pick(), pick()))
			both = add("neg", nil, mid(4, 8), "result", port("tensor", both))
			pool = append(pool, add("slice", ir.Attrs{}.With("starts", ints(0, int64(rnd.IntN(2)))).With("steps", ints(1, 2)).With("lengths", ints(4, 4)), out(), "result", port("tensor", both)))
		}
	}
	return g
}
