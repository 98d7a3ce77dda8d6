package tile

import (
	"fmt"
	"strings"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/cost"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/dialects/schedule/nest/scan"
	"tensortapestry.org/tapc/ir/permission"
)

// Consider lists what a kernel of a CPU can be carried out as, and how it can be cut: what each is thought to take on one thread, or why it is
// refused. One is chosen: what Bind binds loops for. Fits says why a back end cannot write a form, nil if it can; allowed is what the
// kernel's device allows.
func (t Target) Consider(a *nest.Analysis, allowed permission.Set, fits func(nest.Form) error) ([]Candidate, error) {
	x := considering{t: t, a: a}
	var before nest.Form // the form that the kernel is carried out as, once it is found
	for _, f := range a.Forms {
		reason := x.against(f, allowed)
		if reason == nil {
			reason = fits(f)
		}
		if _, ok := before.(*nest.Winograd); reason == nil && before != nil && !ok { // which has a price beside that of the direct convolution
			reason = special(before)
		}
		if x.form(f, reason) && before == nil {
			before = f
		}
	}
	x.add(nil, "loops", x.scalarCycles(1), special(before))
	x.choose()
	return x.out, x.err
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
	t   Target
	a   *nest.Analysis
	out []Candidate
	err error
}

// against is why a form is not for a kernel, of any sizes.
func (x *considering) against(f nest.Form, allowed permission.Set) error {
	if n, ok := f.(*nest.LowPrecision); ok && n.Rounds() && !roundingPays(x.a.Kernel, x.a.Forms) {
		return fmt.Errorf("rounding %d columns of %d products takes longer than it saves", n.Col.Extent, n.Length())
	}
	if missing := f.Needs() &^ allowed; missing != 0 {
		return fmt.Errorf("the permission %s is not given", strings.Join(missing.Words(), ", "))
	}
	if missing := f.Needs() &^ x.a.Kernel.Allow; missing != 0 {
		if _, ok := f.(*nest.Winograd); !ok { // of which each size says why
			return fmt.Errorf("the kernel does not have the permission %s", strings.Join(missing.Words(), ", "))
		}
	}
	return nil
}

// form adds the candidates of a form, all of which are refused if there is a reason, and says whether there are others.
func (x *considering) form(form nest.Form, reason error) (found bool) {
	from := len(x.out)
	switch f := form.(type) {
	case *nest.LowPrecision:
		x.add(f, f.Name()+", "+x.cutWords(f), x.t.lowPrecisionCycles(f), reason)
	case *nest.Winograd:
		x.winograd(f, reason)
	case *nest.Contraction:
		x.contraction(f, reason)
	case *nest.BackToBack:
		x.backToBack(f, reason)
	case *scan.Scans:
		x.add(f, f.Name(), x.stagedCycles(), reason)
	case *nest.Rows:
		x.add(f, f.Name()+", "+x.cutWords(f), x.scalarCycles(2*float64(x.t.lanes(int(x.a.Kernel.Operands[0].Type().Size())))), reason)
	}
	for _, c := range x.out[from:] {
		found = found || c.Refused == nil
	}
	return found
}

// add adds a candidate.
func (x *considering) add(f nest.Form, what string, cycles float64, refused error) {
	c := Candidate{What: what, Form: f, Refused: refused}
	if refused == nil {
		var err error
		if c.Cost, err = x.t.facts().Estimate(cost.Share{Parts: 1, Resident: 1, Cycles: max(1, cycles), Operations: x.operations(), Bytes: x.bytes()}); err != nil {
			x.err = fmt.Errorf("%s: %w", x.a.Kernel.Name, err)
		}
	}
	x.out = append(x.out, c)
}

// choose marks the candidate that takes the least time; the first of equals.
func (x *considering) choose() {
	best := -1
	for i, c := range x.out {
		if c.Refused == nil && (best < 0 || c.Cost.Less(x.out[best].Cost)) {
			best = i
		}
	}
	if best >= 0 {
		x.out[best].Chosen = true
	}
}

// winograd adds a convolution on transformed tiles of each size. Times are those of the direct convolution, as measured.
func (x *considering) winograd(w *nest.Winograd, reason error) {
	direct := 1.0
	if c, ok := nest.Of[*nest.Contraction](x.a.Forms); ok {
		direct = x.t.productCycles(x.t.plan(c, PackingOf(c)), c)
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
		x.add(w, fmt.Sprintf("%s, tiles of %d×%d results", w.Name(), m, m), part*direct, why)
	}
}

// contraction adds a contraction with each register tile that it can have, those that cost less first of equals, and the other ways to read its operands.
func (x *considering) contraction(c *nest.Contraction, reason error) {
	pack := PackingOf(c)
	best := registerTile(x.t.tilesOf(c, pack))
	add := func(tile RegisterTile, pack Packing, reason error) {
		p := x.t.planTile(c, pack, tile)
		x.add(c, c.Name()+", "+p.words(x.a.Kernel, c), x.t.productCycles(p, c), reason)
	}
	add(best, pack, reason)
	for _, other := range x.t.tilesOf(c, pack) {
		if other.RegisterTile != best {
			add(other.RegisterTile, pack, reason)
		}
	}
	for _, other := range otherPackings(c, pack) {
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
	first, last := x.t.plan(c.First, StagePacking(c.First)), x.t.plan(c.Last, StagePacking(c.Last))
	whole := x.t.productCycles(first, c.First) + x.t.productCycles(last, c.Last)
	if c.Middle != nil {
		whole += x.scalarCycles(2*float64(x.t.lanes(4))) / 2
	}
	if c.Row < 0 {
		x.add(c, c.Name(), whole, reason)
		return
	}
	blocks := x.t.blocks(c, carrier(x.a.Kernel, c))
	for i := len(blocks) - 1; i >= 0; i-- {
		b := blocks[i]
		x.add(c, fmt.Sprintf("%s, m %d, register tiles of %d and %d rows", c.Name(), b.rows, divisor(b.rows, first.tile.Rows), divisor(b.rows, last.tile.Rows)),
			whole*float64(first.tile.Rows+last.tile.Rows)/float64(b.filled), reason)
	}
}

// words says how a contraction is cut, and where its operands are read.
func (p productPlan) words(k *schedule.Kernel, c *nest.Contraction) string {
	words := []string{fmt.Sprintf("n %d/%d", p.cols, p.tile.Vectors*p.lanes)}
	if c.Row.Inner() >= 0 {
		words = append([]string{fmt.Sprintf("m %d/%d", p.rows, p.tile.Rows)}, words...)
	}
	if len(c.Reduction) > 0 {
		words = append(words, fmt.Sprintf("k %d", p.fold))
	}
	return strings.Join(append(words, k.Operands[c.Left].Name+" "+p.Left.String(), k.Operands[c.Right].Name+" "+p.Right.String()), ", ")
}

// cutWords says how a form is cut whose sizes a rule chooses.
func (x *considering) cutWords(f nest.Form) string {
	k := *x.a.Kernel
	k.Loops = append([]schedule.Loop(nil), k.Loops...)
	clear(&k)
	x.t.bindForm(&k, f)
	tiles := func(name string, d nest.Dim) string {
		if d.Inner() < 0 {
			return name + " 1"
		}
		levels := k.Loops[d.Inner()].Levels
		return fmt.Sprintf("%s %d/%d", name, levels[0].Tile, levels[min(1, len(levels)-1)].Tile)
	}
	switch f := f.(type) {
	case *nest.LowPrecision:
		return fmt.Sprintf("groups of %d, %s, %s", f.Group, tiles("m", f.Row), tiles("n", f.Col))
	case *nest.Rows:
		if !f.Free {
			return tiles("reduced lanes", f.Lane)
		}
		return tiles("lanes", f.Lane)
	}
	return ""
}
