package fusion_test

import (
	"math"
	"slices"
	"testing"

	"tensortapestry.org/tapc/dialects"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/text"
	"tensortapestry.org/tapc/search/fusion"
	"tensortapestry.org/tapc/search/runs"
)

const source = `tapc 1
%x = tensor float32 [0:64, 0:64]
%w = tensor float32 [0:64, 0:64]
%h = tensor float32 [0:64, 0:64]
%r = tensor float32 [0:64, 0:64]
%p = tensor float32 [0:64, 0:64]
%y = tensor float32 [0:64, 0:64]
%mul = operation op:matmul (X: %x, Y: %w) -> (Z: %h)
%act = operation op:relu (tensor: %h) -> (result: %r)
%next = operation op:matmul (X: %r, Y: %w) -> (Z: %p)
%last = operation op:add (tensors: [%p, %r]) -> (result: %y)
`

// What passes/fuse leaves no buffer of is found: the results of products that go through a function, and not what a product reads, what is an output, or what an operation reads that is
// not asked for.
func TestUnstored(t *testing.T) {
	g, err := text.Read([]byte(source), "g.tap", dialects.Registry())
	if err != nil {
		t.Fatal(err)
	}
	before := g.Len()
	for _, c := range []struct{ without, want string }{{"", "hp"}, {"last", "h"}, {"act", "p"}, {"mul", "p"}} {
		found := fusion.Unstored(g, kernels.Builtin(), func(op ir.NodeID) bool { return g.Node(op).Label != c.without })
		names := ""
		for n := range g.Nodes() {
			if _, ok := n.Body.(*tensorops.Tensor); ok && found.Has(n.ID) {
				names += n.Label
			}
		}
		if names != c.want {
			t.Errorf("without %q: %q, expected %q", c.without, names, c.want)
		}
	}
	if g.Len() != before {
		t.Error("the graph changed")
	}
	foreign, err := text.Read([]byte("tapc 1\n%x = tensor float32 [0:4]\n%y = tensor float32 [0:4]\n%z = tensor float32 [0:4]\n%a = operation my:kernel (x: %x) -> (y: %y)\n%b = operation op:relu (tensor: %y) -> (result: %z)\n"),
		"g.tap", dialects.Registry())
	if err != nil {
		t.Fatal(err)
	}
	found := fusion.Unstored(foreign, kernels.Builtin(), func(ir.NodeID) bool { return true })
	for n := range foreign.Nodes() {
		if found.Has(n.ID) {
			t.Errorf("%s is between operations that can not be scheduled", n.Label)
		}
	}
}

// groups are four steps: 0 makes 10, which 1 and 2 read; these make 11 and 12, which 3 reads. Nothing of it is stored but the input 9, that step 2 reads too, and the result 13.
func groups() *fusion.Groups {
	o := func(tensor int, out bool) runs.Operand { return runs.Operand{Tensor: tensor, Out: out} }
	return &fusion.Groups{Steps: []runs.Step{{o(10, true), o(9, false)}, {o(11, true), o(10, false)}, {o(12, true), o(10, false), o(9, false)}, {o(13, true), o(11, false), o(12, false)}},
		Makers: map[int]int{10: 0, 11: 1, 12: 2, 13: 3}, Unstored: map[int]bool{10: true, 11: true, 12: true},
		Alike: func(p fusion.Part, _ int) (int, bool) { return p.Cut, p.Cut > 0 }}
}

// All joints of a kernel together save what its steps take one by one more than the kernel: here each takes 5 to begin, 1 to compute and 1 for each operand.
func TestJointsOfOneKernel(t *testing.T) {
	g := groups()
	take := func(of []fusion.Part) float64 {
		sum := 5.0 + float64(len(of))
		g.Touches(of, func(fusion.Part, int) { sum++ })
		return sum
	}
	alone, saved := 0.0, 0.0
	for i, s := range g.Steps {
		p := fusion.Part{Step: i, Cut: 1}
		alone += take([]fusion.Part{p})
		for k, o := range s {
			if !o.Out && g.Unstored[o.Tensor] {
				j, ok := g.Joint(p, k)
				if !ok {
					t.Fatalf("step %d is not joined", i)
				}
				saved += g.Saved(j, take)
			}
		}
	}
	all := []fusion.Part{{Step: 3, Cut: 1}, {Step: 1, Cut: 1}, {Step: 0, Cut: 1}, {Step: 2, Cut: 1}}
	if got, want := alone-saved, take(all); math.Abs(got-want) > 1e-9 || want != 5+4+2 { // 9 is read once
		t.Errorf("by joints %v, together %v", got, want)
	}
	if _, ok := g.Joint(fusion.Part{Step: 3}, 1); ok {
		t.Error("what is cut otherwise is joined")
	}
	j, _ := g.Joint(fusion.Part{Step: 3, Cut: 2}, 2)
	if !slices.Contains(j.Reader, fusion.Part{Step: 0, Cut: 2}) || !slices.Contains(j.Maker, fusion.Part{Step: 2, Cut: 2}) {
		t.Errorf("%+v", j)
	}
}
