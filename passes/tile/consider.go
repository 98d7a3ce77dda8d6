package tile

import (
	"fmt"
	"strings"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/cost"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/dialects/schedule/nest/scan"
)

// Candidates lists what a kernel of a CPU can be carried out as, and how it can be cut, or why that is refused. Complete adds to a config
// what a back end chooses beside tiles and placements, and says why it cannot write it, nil if it can.
func (t Target) Candidates(a *nest.Analysis, complete func(*schedule.Config) error) []Candidate {
	t.program = Bytes(a.Buffers)
	x := considering{t: t, a: a, complete: complete}
	var before nest.Form // the form that the kernel is carried out as, once it is found
	for _, f := range a.Forms {
		reason := x.against(f)
		if _, ok := before.(*nest.Winograd); reason == nil && before != nil && !ok { // which has a price beside that of the direct convolution
			reason = special(before)
		}
		if x.form(f, reason) && before == nil {
			before = f
		}
	}
	x.add(x.scalarCycles(1), special(before), t.loopsStage(a))
	return x.out
}

// Price is what a candidate is thought to take on one thread.
func (t Target) Price(a *nest.Analysis, c *Candidate) (cost.Estimate, error) {
	return t.facts().Estimate(cost.Share{Parts: 1, Resident: 1, Cycles: max(1, c.cycles), Operations: operations(a.Kernel), Bytes: nest.OperandBytes(a.Kernel, a.Buffers)})
}

// special refuses what a kernel is besides a form that keeps more in registers or computes less.
func special(before nest.Form) error {
	if before == nil {
		return nil
	}
	return fmt.Errorf("the form %q is more special", before.Name())
}

// considering collects candidates.
type considering struct {
	t        Target
	a        *nest.Analysis
	complete func(*schedule.Config) error
	out      []Candidate
}

// against is why a form is not for a kernel, of any sizes.
func (x *considering) against(f nest.Form) error {
	if n, ok := f.(*nest.LowPrecision); ok && n.Rounds() && !roundingPays(x.a.Kernel, x.a.Forms) {
		return fmt.Errorf("rounding %d columns of %d products takes longer than it saves", n.C.Col.Extent, n.Length())
	}
	missing := f.Needs() &^ x.a.Kernel.Allow
	if w, ok := f.(*nest.Winograd); missing == 0 || ok && transformedSize(w) == 0 { // of which each size says why it does not pay
		return nil
	}
	return fmt.Errorf("the permission %s is not given", strings.Join(missing.Words(), ", "))
}

// form adds the candidates of a form, all of which are refused if there is a reason, and says whether there are others.
func (x *considering) form(form nest.Form, reason error) (found bool) {
	from := len(x.out)
	switch f := form.(type) {
	case *nest.LowPrecision:
		x.add(x.t.lowPrecisionCycles(f), reason, x.t.lowPrecisionStage(f))
	case *nest.Winograd:
		x.winograd(f, reason)
	case *nest.Contraction:
		x.contraction(f, reason)
	case *nest.BackToBack:
		x.backToBack(f, reason)
	case *scan.Scans:
		x.add(x.stagedCycles(), reason, schedule.Stage{Algorithm: schedule.Scan})
	case *nest.Rows:
		x.add(x.scalarCycles(2*float64(x.t.lanes(int(x.a.Kernel.Operands[0].Type().Size())))), reason, x.t.rowsStage(x.a.Kernel, f))
	}
	for _, c := range x.out[from:] {
		found = found || c.Refused == nil
	}
	return found
}

// add adds a candidate of some stages.
func (x *considering) add(cycles float64, refused error, stages ...schedule.Stage) {
	c := Candidate{Config: &schedule.Config{Target: x.t.Name(), Stages: stages}, cycles: cycles}
	c.Refused = x.complete(c.Config)
	if refused != nil {
		c.Refused = refused
	}
	x.out = append(x.out, c)
}

// winograd adds a convolution on transformed tiles of each size. Times are those of the direct convolution, as measured.
func (x *considering) winograd(w *nest.Winograd, reason error) {
	direct := 1.0
	if c, ok := nest.Of[*nest.Contraction](x.a.Forms); ok {
		direct = x.t.productCycles(x.t.plan(c, x.t.PackingOf(c)), c)
	}
	for _, m := range transformedSizes {
		part, why := transformedPart(w, m)
		part *= payPercent / 100.0
		switch {
		case reason != nil:
			why = reason
		case why == nil && part >= payPercent/100.0:
			why = fmt.Errorf("it takes %.2f of the time of the direct convolution, and pays below %.2f", part, payPercent/100.0)
		}
		x.add(part*direct, why, x.t.WinogradStage(x.a.Kernel, w.Of(m)))
	}
}

// contraction adds a contraction with each register tile that it can have, those that cost less first of equals, and the other ways to read its operands.
func (x *considering) contraction(c *nest.Contraction, reason error) {
	pack := x.t.PackingOf(c)
	best := registerTile(x.t.tilesOf(c, pack))
	add := func(tile pricedTile, pack Packing, reason error) {
		p := x.t.planTile(c, pack, tile)
		x.add(x.t.productCycles(p, c), reason, p.stage(x.a.Kernel, c, p.rightPack(c)))
	}
	add(best, pack, reason)
	for _, other := range x.t.tilesOf(c, pack) {
		if other != best {
			add(other, pack, reason)
		}
	}
	for _, other := range x.t.otherPackings(c, pack) {
		why := reason
		if why == nil {
			why = other.why
		}
		if tiles := x.t.tilesOf(c, other.Packing); len(tiles) > 0 {
			add(registerTile(tiles), other.Packing, why)
		}
	}
}

// backToBack adds contractions back to back with each number of rows of a block, the most first.
func (x *considering) backToBack(c *nest.BackToBack, reason error) {
	first, last := x.t.plan(c.First, x.t.StagePacking(c.First)), x.t.plan(c.Last, x.t.StagePacking(c.Last))
	whole := x.t.productCycles(first, c.First) + x.t.productCycles(last, c.Last)
	if c.Middle != nil {
		whole += x.scalarCycles(2*float64(x.t.lanes(4))) / 2
	}
	if c.Row < 0 {
		x.add(whole, reason, x.t.stages(x.a.Kernel, c, 1)...)
		return
	}
	blocks := x.t.blocks(c, shared(x.a.Kernel, c))
	for i := len(blocks) - 1; i >= 0; i-- {
		b := blocks[i]
		x.add(whole*float64(first.tile.Rows+last.tile.Rows)/float64(b.filled), reason, x.t.stages(x.a.Kernel, c, b.rows)...)
	}
}
