package constraints

import (
	"context"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/zspace"
)

func drawLayers(t *rapid.T) *program {
	n := rapid.Int64Range(1, 12).Draw(t, "n")
	return layers(n, rapid.Int64Range(1, n).Draw(t, "first"), rapid.Int64Range(1, n).Draw(t, "second"))
}

// pick gives a kernel of the second layer, or any kernel.
func (p *program) pick(t *rapid.T, secondOnly bool) (*ir.Node, *schedule.Kernel) {
	var all []*ir.Node
	for n := range p.Nodes() {
		if k, ok := n.Body.(*schedule.Kernel); ok && (!secondOnly || k.Operands[0].Buffer == p.by.ID) {
			all = append(all, n)
		}
	}
	n := rapid.SampledFrom(all).Draw(t, "kernel")
	return n, n.Body.(*schedule.Kernel)
}

func (p *program) verify() diag.List { return Environment().Verify(context.Background(), p.Graph) }

func TestSchedulesOfGridsAreAccepted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		if found := drawLayers(t).verify(); found != nil {
			t.Fatal(found.Error())
		}
	})
}

// expect checks that there are findings, all with one code.
func expect(t *rapid.T, found diag.List, code string) {
	if len(found) == 0 || slices.ContainsFunc(found, func(d diag.Diagnostic) bool { return d.Code != code }) {
		t.Fatalf("want %s: %v", code, found.Error())
	}
}

func TestAMissingWaitIsARace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawLayers(t)
		n, k := p.pick(t, true)
		i := rapid.IntRange(0, len(k.After)-1).Draw(t, "wait")
		writer := k.After[i]
		k.After = slices.Delete(slices.Clone(k.After), i, i+1)
		found := p.verify()
		expect(t, found, "TAP0305")
		if len(found) != 1 || !strings.HasPrefix(found[0].Message, p.Name(n.ID)) || !strings.Contains(found[0].Expected, p.Name(writer)) {
			t.Fatalf("not about %s and %s: %v", p.Name(n.ID), p.Name(writer), found.Error())
		}
	})
}

func TestAShortLoopLeavesCells(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawLayers(t)
		_, k := p.pick(t, false)
		l := rapid.IntRange(0, 1).Draw(t, "loop")
		whole := k.Space()
		k.Loops[l].Start++
		found := p.verify()
		if k.Loops[l].Extent() == 0 { // nothing is stored: others read what is not there, or nobody uses it
			expect(t, found, map[bool]string{true: "TAP0303", false: "TAP0374"}[k.Operands[1].Buffer == p.by.ID])
			return
		}
		expect(t, found, "TAP0373")
		want := whole.Clone()
		want.End[l] = k.Loops[l].Start
		if len(found) != 1 || !strings.HasPrefix(found[0].Found, want.String()) {
			t.Fatalf("want %v: %v", want, found.Error())
		}
	})
}

func TestAShiftedStoreIsRefused(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawLayers(t)
		_, k := p.pick(t, false)
		by := rapid.SampledFrom([]int64{-1, 1}).Draw(t, "by")
		dim := rapid.IntRange(0, 1).Draw(t, "dim")
		k.Operands[1].Access.Offset[dim] += by
		moved, err := k.Space().Translate([2]zspace.Point{{by, 0}, {0, by}}[dim])
		if err != nil {
			t.Fatal(err)
		}
		code := "TAP0371"
		if !bufferRange(p, k).Contains(moved) {
			code = "TAP0361"
		}
		expect(t, p.verify(), code)
	})
}

func bufferRange(p *program, k *schedule.Kernel) zspace.Range {
	return p.Node(k.Operands[1].Buffer).Body.(*schedule.Buffer).Range
}

// TestBytesOfChains verifies chains whose buffers take turns at enough places, or at one too few.
func TestBytesOfChains(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(3, 12).Draw(t, "kernels")
		slots := rapid.IntRange(1, 4).Draw(t, "slots")
		p := chain(n, slots)
		found := p.verify()
		if slots >= 2 {
			if found != nil { // each buffer is alive for two steps, so every second may have the same bytes
				t.Fatal(found.Error())
			}
			return
		}
		expect(t, found, "TAP0392")
	})
}
