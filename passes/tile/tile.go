// Package tile is the pass that decides how each kernel is carried out, and records it as a config for each target: it lists the candidates of a
// CPU, has them and those of other back ends checked and priced, and takes the cheapest. What a kernel is, dialects/schedule/nest finds.
//
// Its choices change speed and never values, unless the device allows it. Then it writes down at each kernel what that may do, see allow.
// Read next: passes/memory.
package tile

import (
	"fmt"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/alike"
	"tensortapestry.org/tapc/dialects/schedule/cost"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/dialects/schedule/whole"
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
	Model    cost.Model                  // what candidates are compared by; nil for the estimates of back ends
}

// Run records a config of every kernel for each target of its device, and binds loops to blocks and lanes where the device has these.
func Run(g *ir.Graph, opt Options) error {
	buffers, decided := whole.Buffers(g), map[chosen]*schedule.Config{}
	for n := range g.Nodes() {
		k, ok := n.Body.(*schedule.Kernel)
		if !ok || opt.May != nil && !opt.May(n.ID) {
			continue
		}
		d, _ := g.Node(k.Device).Body.(*schedule.Device)
		a := nest.Analyze(k, buffers)
		clear(k)
		if k.Sums = Sums(a.Forms); d != nil && d.Type.Has(schedule.Lane) {
			bindGrid(k)
		} else if k.Allow = 0; d != nil {
			allow(k, a.Forms, d.Allow)
		}
		shape := alike.Shape(k, buffers)
		for _, c := range opt.Choosers {
			if device, _ := c.Target(); d == nil || device != d.Type {
				continue
			}
			_, target := c.Target()
			key := chosen{target, shape}
			config, ok := decided[key]
			if !ok {
				best, err := Choose(a, c, opt.Model)
				if err != nil {
					return fmt.Errorf("%s: %w", g.Name(n.ID), err)
				}
				config = best.Config
				decided[key] = config
			}
			if k.Forget(target); config != nil {
				k.Configs = append(k.Configs, config.Clone())
			}
			if reorders(config) {
				k.Sums = 0
			}
		}
	}
	return nil
}

// chosen is what a config was chosen for: a target, and what kernels of a shape have alike.
type chosen struct{ target, shape string }

// reorders says whether a config has sums of products in another order than the operation says: kernels that may round have, and those of which a back end has no contraction of any size.
func reorders(c *schedule.Config) bool {
	return c != nil && c.Stages[0].Algorithm != schedule.Contraction
}

// clear makes every loop serial.
func clear(k *schedule.Kernel) {
	for i := range k.Loops {
		k.Loops[i].Levels = []schedule.Level{{Tile: 1, Bind: schedule.Serial}}
	}
}

// LoopRoles gives the loops of a kernel that a stage of loops may cut: for registers, and inside them for vectors. -1 is none. Products have their rows
// and columns, rows of vectors their lanes, if results lie along them, other kernels their innermost loops.
func LoopRoles(a *nest.Analysis) (line, element int) {
	if c := contractionOf(a); c != nil {
		return c.Row.Inner(), c.Col.Inner()
	}
	if r, ok := nest.Of[*nest.Rows](a.Forms); ok {
		if r.Free {
			return -1, r.Lane.Inner()
		}
		return -1, -1
	}
	line, element = -1, -1
	free := a.Kernel.Free()
	if n := len(free); n > 0 {
		element = free[n-1]
		if n > 1 && len(a.Kernel.Loops) > n { // it reduces
			line = free[n-2]
		}
	}
	return line, element
}

// contractionOf gives the contraction that a kernel is, nil if it is none.
func contractionOf(a *nest.Analysis) *nest.Contraction {
	if c, ok := nest.Of[*nest.Contraction](a.Forms); ok {
		return c
	}
	if n, ok := nest.Of[*nest.LowPrecision](a.Forms); ok {
		return n.C
	}
	return nil
}

// loopsStage cuts the loops of a kernel for registers and vectors.
func (t Target) loopsStage(a *nest.Analysis) schedule.Stage {
	k, lanes := a.Kernel, int64(VectorTile)
	if _, ok := nest.Of[*nest.Rows](a.Forms); ok || contractionOf(a) != nil {
		lanes = t.lanes(int(k.Operands[0].Type().Size()))
	}
	s := schedule.Stage{Algorithm: schedule.Loops, Threads: len(k.Free()) > 0 && work(k) >= threadWork}
	line, element := LoopRoles(a)
	for _, x := range []struct {
		schedule.Role
		loop int
		size int64
	}{{schedule.RoleLine, line, RowTile}, {schedule.RoleElement, element, lanes}} {
		if x.loop >= 0 {
			s.Tiles = append(s.Tiles, schedule.Tiling{Role: x.Role, Sizes: []int64{min(x.size, max(k.Loops[x.loop].Extent(), 1))}})
		}
	}
	return s
}

// work is about how many scalar operations a kernel does, saturating.
func work(k *schedule.Kernel) int64 {
	return nest.SaturatingProduct(k.Space().Shape()...)
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
