package layouts

import (
	"slices"
	"strings"
	"testing"

	"tensortapestry.org/tapc/search"
	"tensortapestry.org/tapc/search/meshes"
)

// published is a plan that a paper describes: which operations of a layer all axes cut along which dimension, and how tensors are kept that do not follow.
type published struct {
	name   string
	cut    map[string]string // a part of an operation's name to the dimension
	kept   map[string]int    // a part of a tensor's name to the dimension along which all axes cut it
	leaves int               // the dimension along which weights are kept cut, or -1: as they are read
}

var heads = map[string]string{"q_proj": "d_h", "k_proj": "d_k", "v_proj": "d_k", "attention": "h", "o_proj": "d_h", "up_proj": "d_f", "activation": "s2", "down_proj": "d_f"}

var megatron = published{"tensor parallel (Megatron-LM, 2019)", heads, nil, -1}

// trial makes the plan, as a trial of a space.
func (p published) trial(t *testing.T, x *Space) search.Trial {
	t.Helper()
	trial := make(search.Trial, len(x.genes))
	for _, o := range x.ops {
		want := meshes.Assignment{-1, -1, -1}
		for name, dim := range p.cut {
			if j := slices.IndexFunc(o.dims, func(d dimension) bool { return d.name == dim }); strings.Contains(o.name, name+"_0") {
				if j < 0 {
					t.Fatalf("%s: %s has no dimension %s, but %v", p.name, o.name, dim, o.dims)
				}
				want = meshes.Assignment{int8(j), int8(j), int8(j)}
			}
		}
		if !set(trial, o.gene, o.cuts, want) {
			t.Fatalf("%s: %s can not be cut so: %v", p.name, o.name, o.dims)
		}
	}
	for _, y := range x.tensors {
		o := x.ops[y.made.op]
		a := o.operands[y.made.operand].needs(o, o.cuts[trial[o.gene]]).layout
		for name, d := range p.kept {
			if strings.Contains(y.name, name) {
				a = meshes.Assignment{int8(d), int8(d), int8(d)}
			}
		}
		if y.leaf && p.leaves >= 0 && !strings.Contains(y.name, `"x0"`) {
			a = meshes.Assignment{int8(p.leaves), int8(p.leaves), int8(p.leaves)}
		}
		if !set(trial, y.gene, y.keeps, a) {
			t.Fatalf("%s: %s can not be kept so", p.name, y.name)
		}
	}
	return trial
}

// with adds what a map says to another.
func with(a map[string]string, more ...string) map[string]string {
	out := map[string]string{}
	for k, v := range a {
		out[k] = v
	}
	for i := 0; i < len(more); i += 2 {
		out[more[i]] = more[i+1]
	}
	return out
}

// Plans that are published are in the space, on the presets of machines that they are for, and none is faster than what is proven. With -v it prints the table of
// docs/search.md.
func TestPublishedPlans(t *testing.T) {
	tokens := map[string]string{"attn_in_norm": "a1", "q_proj": "d_s", "k_proj": "d_s", "v_proj": "d_s", "attention": "q", "o_proj": "d_s", "mid_add": "s1", "mlp_in_norm": "a1",
		"up_proj": "d_s", "activation": "s1", "down_proj": "d_s", "out_add": "s1"}
	plans := []published{
		megatron,
		{"with sequence parallel (Korthikanti, 2022)", with(heads, "attn_in_norm", "a1", "mid_add", "s1", "mlp_in_norm", "a1", "out_add", "s1"), map[string]int{`"x0"`: 1, `"attn_in_0"`: -1, `"mlp_in_0"`: -1, `"attn_out_0"`: 1, `"down_0"`: 1}, -1},
		{"tokens cut, weights whole", tokens, nil, -1},
		{"tokens cut, weights gathered (ZeRO stage 3, 2020)", tokens, nil, 0},
	}
	for _, preset := range []string{"8xa100", "8xh100", "8xb200"} {
		x := layerOn(t, preset, 0)
		proof := x.Prove(2)
		row := func(name string, trial search.Trial) plan {
			p := x.plan(trial)
			w, err := Walk(x, trial)
			if err != nil {
				t.Fatal(err)
			}
			if p.time() < proof.Bounds[0]*(1-1e-9) {
				t.Errorf("%s, %s: %v s is below what is proven, %v", preset, name, p.time(), proof.Bounds[0])
			}
			t.Logf("| %s | %s | %.0f µs | %.0f µs | %.0f µs | %.0f MB | %.0f MB |", preset, name, 1e6*p.time(), 1e6*operations(&p), 1e6*w.Time, p.memory()/1e6, p.sent()/1e6)
			return p
		}
		var taken []plan
		for _, p := range plans {
			taken = append(taken, row(p.name, p.trial(t, x)))
		}
		if taken[0].sent() != taken[1].sent() || taken[1].memory() >= taken[0].memory() || taken[1].time() >= taken[0].time() {
			t.Errorf("%s: sequence parallelism is said to send as much as tensor parallelism alone, with less memory and less work outside of products", preset)
		}
		row("the optimum", proof.Trials[0])
		limit := taken[1].memory()
		small := layerOn(t, preset, limit)
		var fit search.Trial
		for _, trial := range small.Prove(2).Trials {
			if p := small.plan(trial); p.memory() <= limit && (fit == nil || p.time() < small.Price(fit).Costs[0]) {
				fit = trial
			}
		}
		if fit == nil || small.Price(fit).Costs[0] > taken[1].time() {
			t.Fatalf("%s: what is found in the memory of sequence parallelism is slower than it", preset)
		}
		row("the fastest found in the memory of the second", fit)
	}
}
