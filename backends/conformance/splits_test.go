package conformance

import (
	"context"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tensortapestry.org/tapc/backends/reference"
	"tensortapestry.org/tapc/dialects/application/cut"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/bind"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/declaration"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/infer"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/instance"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/sample"
	"tensortapestry.org/tapc/dialects/tensorops/reduced"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/permission"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/tensorfile"
	"tensortapestry.org/tapc/passes/rewrite"
	"tensortapestry.org/tapc/passes/split"
)

// splittable are the kernels that the pass split cuts along what they reduce, at least along one dimension; all others that reduce are refused.
const splittable = "all any arg_max arg_min average_pool bilinear combine_exp_sum combine_moments conv conv_integer conv_transpose count_nonzero deviation dot einsum exp_sum gemm group_norm instance_norm l1_norm l2_norm layer_norm " +
	"linear log_softmax log_sum log_sum_exp lp_norm lp_normalization lp_pool matmul matmul_integer max_pool mean moments prod reduce_max reduce_min rms_norm softmax sum sum_pool sum_square variance"

// Random calls of all kernels are cut at random along all that they reduce, and give the same values: integers, truth values and choices of one value to the
// bit, float sums within the rounding of their terms; with NaN, infinities and zeros of both signs among them.
func TestSplitsKeepValues(t *testing.T) {
	lib := kernels.Builtin()
	done, refused, applied := map[string]bool{}, map[string]string{}, map[string]bool{}
	for _, name := range lib.Names() {
		d, _ := lib.Find(name)
		seed := fnv.New64a()
		seed.Write([]byte(name)) // what is drawn for a kernel does not depend on the others
		rnd := rand.New(rand.NewPCG(17, seed.Sum64()))
		for _, dtype := range slices.Repeat([]scalar.DType{scalar.Float32, scalar.Float32, scalar.UInt8, scalar.Float32, scalar.Int32, scalar.Float16, scalar.Bool, scalar.Float64}, 5) {
			c, err := sample.CallOf(d, rnd, dtype, sample.Material{Sizes: []int64{2, 3, 5, 1, 7, 0}})
			if err != nil || c == nil || len(d.Types) > 0 && !d.Types[0].Allows(dtype) && dtype != scalar.Float32 {
				continue
			}
			in, err := bind.Instance(d, *c)
			if err != nil {
				t.Fatal(err)
			}
			for _, dim := range reduced.Dims(in) {
				if n := in.Dims[dim].Extent; n > 1 {
					why := splitCall(t, rnd, d, c, in, applied, split.Cut{Name: in.Dims[dim].Name, Part: cut.Part{Count: 2 + rnd.Int64N(min(n-1, 3))}})
					if done[name] = done[name] || why == ""; why != "" {
						refused[name] = why
					}
				}
			}
		}
	}
	var names []string
	for name, some := range done {
		if some {
			names = append(names, name)
		} else {
			t.Logf("%s: %s", name, refused[name])
		}
	}
	slices.Sort(names)
	for _, r := range split.Rules() {
		if !applied[r.Name] && r.Name != "split-blocks" { // of longer sums: passes/split, and backends/cpu for the bits
			t.Errorf("no cut has applied %s", r.Name)
		}
	}
	if got := strings.Join(names, " "); got != splittable {
		t.Errorf("cut are\n%s\nnot\n%s", got, splittable)
	}
}

// splitCall cuts a call, without a permission where none is needed, notes the rules that are applied, and compares its values; why says why it is refused.
func splitCall(t *testing.T, rnd *rand.Rand, d *declaration.Kernel, c *infer.Call, in *instance.Instance, applied map[string]bool, by split.Cut) (why string) {
	t.Helper()
	whole, inputs := callGraph(rnd, d, c)
	var parts *ir.Graph
	run := func(allow permission.Set) (int, error) {
		parts = whole.Clone()
		return split.RunWhile(parts, kernels.Builtin(), allow, []split.Request{{Target: "op", Cuts: []split.Cut{by}}}, func(rule string, _ ir.NodeID) bool {
			i := slices.IndexFunc(split.Rules(), func(r rewrite.Rule) bool { return r.Name == rule })
			if applied[rule] = true; split.Rules()[i].Allow&^allow != 0 {
				t.Errorf("%s by %v: %s is applied without its permission", d.Name, by, rule)
			}
			return true
		})
	}
	n, err := run(0)
	if err != nil && diag.FromError(err)[0].Code == "TAP0815" {
		n, err = run(permission.Reassociate)
	}
	if err != nil {
		found := diag.FromError(err)
		if found[0].Code != "TAP0814" {
			t.Fatalf("%s by %v: %v", d.Name, by, err)
		}
		return found[0].Found
	}
	if n < 2 {
		t.Fatalf("%s by %v has %d parts", d.Name, by, n)
	}
	if found := tensorops.Environment().Verify(context.Background(), parts); found.HasErrors() {
		t.Fatalf("%s by %v: %v", d.Name, by, found)
	}
	evaluator := reference.Evaluator{Library: kernels.Builtin()}
	want, err := evaluator.Evaluate(context.Background(), whole, inputs)
	if err != nil {
		return "" // an index that data gives is out of range
	}
	got, err := evaluator.Evaluate(context.Background(), parts, inputs)
	if err != nil {
		t.Fatalf("%s by %v: %v", d.Name, by, err)
	}
	terms := 0.0
	for _, x := range termsOf(in, func(o instance.Operand) float64 { return magnitude(inputs[fmt.Sprintf("%s%d", o.Port, o.Entry)]) }) {
		terms = max(terms, x)
	}
	for name := range want {
		if err := reference.CompareSums(name, want[name], got[name], tolerance(want[name].DType), terms); err != nil {
			t.Errorf("%s %v by %v: %v", d.Name, c.Params, by, err)
		}
	}
	return ""
}

// callGraph makes a graph of a call, whose operation has the label op, and random inputs.
func callGraph(rnd *rand.Rand, d *declaration.Kernel, c *infer.Call) (*ir.Graph, map[string]tensorfile.Tensor) {
	g, inputs := ir.New(), map[string]tensorfile.Tensor{}
	side := func(ports []infer.Port, given bool) ir.Ports {
		var list []ir.Port
		for _, p := range ports {
			port := ir.Port{Name: p.Name}
			for i, s := range p.Sel {
				name := fmt.Sprintf("%s%d", p.Name, i)
				n := g.Add(&tensorops.Tensor{DType: s.Type.String(), Range: s.Sel.Range()}, name)
				port.Sel = append(port.Sel, ir.Select(n.ID, s.Sel.Range()))
				if size, err := s.Sel.Range().Size(); given && err == nil {
					inputs[name] = randomTensor(rnd, s.Type, s.Sel.Range().Shape(), size)
				}
			}
			list = append(list, port)
		}
		slices.SortFunc(list, func(a, b ir.Port) int { return strings.Compare(a.Name, b.Name) })
		return ir.PortsOf(list)
	}
	g.Add(&tensorops.Operation{Kernel: "op:" + d.Name, Params: c.Params, Inputs: side(c.Inputs, true), Outputs: side(c.Outputs, false)}, "op")
	return g, inputs
}

// randomTensor has small numbers; one float tensor in four has others among them.
func randomTensor(rnd *rand.Rand, d scalar.DType, shape []int64, size int64) tensorfile.Tensor {
	x := tensorfile.Tensor{DType: d, Shape: shape, Data: make([]byte, size*int64(d.Size()))}
	special := rnd.IntN(4) == 0
	for i := range size {
		v := math.Round(rnd.NormFloat64()*64) / 32
		if special && rnd.IntN(6) == 0 {
			v = []float64{math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1), 0}[rnd.IntN(5)]
		}
		if d.IsInt() || d.IsBool() {
			v = float64(rnd.IntN(3))
			if d.IsBool() {
				v = float64(rnd.IntN(2))
			}
		}
		encode(x.Data[i*int64(d.Size()):], d, v)
	}
	return x
}

func encode(to []byte, d scalar.DType, v float64) {
	lit, err := scalar.Literal(d, v)
	if err != nil {
		lit = scalar.Zero(d)
	}
	lit.Encode(to[:d.Size()])
}
