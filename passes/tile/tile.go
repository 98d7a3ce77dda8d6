// Package tile is the pass that decides how each loop of a kernel is cut and what carries it out: vectors, unrolled registers
// and threads on a CPU; blocks and lanes on a GPU. What a kernel is, dialects/schedule/nest finds.
//
// Its choices change speed and never values, unless the device allows it. Then it writes down at each kernel what that may do, see allow.
// Read next: passes/plan.
package tile

import (
	"cmp"
	"fmt"
	"slices"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/dialects/schedule/nest/scan"
	"tensortapestry.org/tapc/ir"
)

// Sizes of tiles, in loop values.
const (
	VectorTile = 64  // values of the innermost loop that a CPU kernel computes together
	RowTile    = 4   // rows that a reducing CPU kernel keeps in registers beside them
	LaneTile   = 256 // threads of a GPU block along the innermost loop
	threadWork = 1 << 14
)

// Options of a run.
type Options struct {
	May      func(kernel ir.NodeID) bool // says whether to cut the loops of a kernel: those of the others stay as they are; nil is always
	Choosers []Chooser                   // of the targets that kernels get configs for
}

// Run binds the loops of every kernel, to blocks and lanes where its device has these, else as the default target asks, and records a config
// for each target of its device.
func Run(g *ir.Graph, opt Options) error {
	buffers := nest.Buffers(g)
	for n := range g.Nodes() {
		k, ok := n.Body.(*schedule.Kernel)
		if !ok || opt.May != nil && !opt.May(n.ID) {
			continue
		}
		d, _ := g.Node(k.Device).Body.(*schedule.Device)
		a := nest.Analyze(k, buffers)
		if d != nil && d.Type.Has(schedule.Lane) {
			clear(k)
			bindGrid(k)
			k.Sums = Sums(a.Forms)
		} else if k.Allow = 0; d != nil {
			allow(k, a.Forms, d.Allow)
		}
		if err := opt.choose(d, a); err != nil {
			return fmt.Errorf("%s: %w", g.Name(n.ID), err)
		}
	}
	return nil
}

// choose records a config for each target of a kernel's device. A kernel of a CPU that has none is cut as what it is.
func (o *Options) choose(d *schedule.Device, a *nest.Analysis) error {
	k, cut := a.Kernel, d != nil && d.Type.Has(schedule.Lane)
	for _, c := range o.Choosers {
		if device, _ := c.Target(); d == nil || device != d.Type {
			continue
		}
		best, err := record(a, c)
		if err != nil {
			return err
		}
		if !cut && best.Config != nil {
			clear(k)
			k.Sums = Sums(a.Forms)
			cut = true
		}
	}
	if !cut {
		Default.Bind(k, a.Forms)
	}
	return nil
}

// clear makes every loop serial.
func clear(k *schedule.Kernel) {
	for i := range k.Loops {
		k.Loops[i].Levels = []schedule.Level{{Tile: 1, Bind: schedule.Serial}}
	}
}

// Bind binds the loops of a kernel that runs on a CPU, for the first of its forms that it is allowed and that pays, and gives that; nil is
// plain loops.
func (t Target) Bind(k *schedule.Kernel, forms nest.Forms) nest.Form {
	clear(k)
	var found nest.Form
	for _, f := range forms.Allowed(k.Allow) {
		if s, ok := f.(*scan.Scans); ok { // how their loops are cut is not read: they are bound as what they are besides
			found = s
			continue
		}
		if t.bindForm(k, f) {
			return cmp.Or(found, f)
		}
	}
	bindCPU(k)
	return found
}

// Bound says whether the loops of a kernel are cut as Bind cuts them.
func (t Target) Bound(a *nest.Analysis) bool {
	other := *a.Kernel
	other.Loops = slices.Clone(a.Kernel.Loops)
	t.Bind(&other, a.Forms)
	return slices.EqualFunc(a.Kernel.Loops, other.Loops, func(x, y schedule.Loop) bool { return slices.Equal(x.Levels, y.Levels) })
}

// bindForm binds the loops of a kernel to be carried out as a form, and says whether it did.
func (t Target) bindForm(k *schedule.Kernel, form nest.Form) bool {
	switch f := form.(type) {
	case *nest.LowPrecision:
		t.bindLowPrecision(k, f)
	case *nest.Winograd:
		size := transformedSize(f)
		if size == 0 {
			return false
		}
		t.BindWinograd(k, f.Of(size))
	case *nest.Contraction:
		t.bindContraction(k, f, PackingOf(f))
	case *nest.BackToBack:
		t.bindBackToBack(k, f)
	case *nest.Rows:
		t.bindRows(k, f)
	}
	return true
}

func bindCPU(k *schedule.Kernel) {
	loops := k.Free()
	if len(loops) == 0 {
		return
	}
	folds := len(k.Loops) > len(loops)
	inner := loops[len(loops)-1]
	k.Loops[inner].Levels = twoLevels(k.Loops[inner], VectorTile, schedule.Vector)
	if folds && len(loops) > 1 {
		row := loops[len(loops)-2]
		k.Loops[row].Levels = twoLevels(k.Loops[row], RowTile, schedule.Unrolled)
	}
	if work(k) < threadWork {
		return
	}
	outer := widest(k, loops)
	k.Loops[outer].Levels[0].Bind = schedule.Thread
}

// twoLevels cuts a loop into tiles of at most the given size, each carried out as bind says.
func twoLevels(l schedule.Loop, size int64, bind schedule.Binding) []schedule.Level {
	return []schedule.Level{{Tile: min(size, max(l.Extent(), 1)), Bind: schedule.Serial}, {Tile: 1, Bind: bind}}
}

// widest gives the loop whose outermost level has the most steps; the outermost of equals.
func widest(k *schedule.Kernel, loops []int) int {
	best, steps := loops[0], int64(0)
	for _, l := range loops {
		tile := k.Loops[l].Levels[0].Tile
		if n := (k.Loops[l].Extent() + tile - 1) / tile; n > steps {
			best, steps = l, n
		}
	}
	return best
}

// work is about how many scalar operations a kernel does, saturating.
func work(k *schedule.Kernel) int64 {
	n := int64(1)
	for _, l := range k.Loops {
		if e := max(l.Extent(), 1); n > (1<<40)/e {
			return 1 << 40
		}
		n *= max(l.Extent(), 1)
	}
	return n
}

// bindGrid gives every point of the free loops a lane: the innermost loop is cut into blocks.
func bindGrid(k *schedule.Kernel) {
	loops := k.Free()
	for i, l := range loops {
		if i == len(loops)-1 {
			k.Loops[l].Levels = []schedule.Level{{Tile: LaneTile, Bind: schedule.Block}, {Tile: 1, Bind: schedule.Lane}}
		} else {
			k.Loops[l].Levels = []schedule.Level{{Tile: 1, Bind: schedule.Block}}
		}
	}
}
