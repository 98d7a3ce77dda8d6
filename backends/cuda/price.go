package cuda

import (
	"tensortapestry.org/tapc/backends/codegen"
	"tensortapestry.org/tapc/backends/tree/effort"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/cost"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/passes/tile"
)

// Facts are those of an A100 with 40 GB (NVIDIA A100 Tensor Core GPU Architecture, 2020): 108 multiprocessors of 64 float32 units at 1.41 GHz,
// and 1555 GB/s. A launch takes about 3 µs. Nothing here was measured, and times may be off by as much as Error says.
var Facts = cost.Device{Name: Target, Units: 108, Hertz: 1.41e9, Rate: 64, Bandwidth: 1555e9, Start: 3e-6, Error: 4}

// Cycles that a warp is held up, of which others hide a part.
const (
	schedulers    = 4    // warps that begin an instruction in a cycle
	globalCycles  = 8    // of an access of global memory that the second cache has
	barrierCycles = 40   // of a meeting of a block's lanes
	shuffleCycles = 4    // of an exchange between lanes
	callCycles    = 20   // of a function such as exp
	unitLanes     = 2048 // that a multiprocessor has at once
	unitBlocks    = 32
	loneWarps     = 8 // fewer of them on a multiprocessor do not hide what each waits for
)

// Chooser offers the configs of this back end.
type Chooser struct{}

// Target is a CUDA device of the back end's processor.
func (Chooser) Target() (schedule.DeviceType, string) { return schedule.CUDA, Target }

// Named knows one processor.
func (c Chooser) Named(target string) tile.Chooser {
	if target != Target {
		return nil
	}
	return c
}

// Pairs is false: products are written for numbers of one type.
func (Chooser) Pairs() bool { return false }

// Candidates are those of the package, and a lane for each cell.
func (Chooser) Candidates(a *nest.Analysis) []tile.Candidate {
	out := []tile.Candidate{{}}
	for _, c := range Candidates(a) {
		_, err := Tree("k", a, &c)
		out = append(out, tile.Candidate{Config: &c, Refused: err})
	}
	return out
}

// Check says why there is no tree of a config, or no sound one. Kernels have no workspaces: what lanes share is a block's, and known to the launch.
func (Chooser) Check(a *nest.Analysis, c *schedule.Config) ([]schedule.Workspace, error) {
	_, err := Tree("k", a, c)
	return nil, err
}

// Price counts the instructions of a lane and the bytes of a block.
func (Chooser) Price(a *nest.Analysis, c *tile.Candidate) (cost.Estimate, error) {
	if c.Config == nil {
		return priceCells(a.Kernel)
	}
	f, err := Tree("k", a, c.Config)
	if err != nil {
		return cost.Estimate{}, err
	}
	w := effort.Of(f)
	return price(w.Blocks, w.Lanes, w.SharedBytes, w.Effort)
}

// price is the time of blocks of lanes that each do so much.
func price(blocks, lanes, shared int64, e effort.Effort) (cost.Estimate, error) {
	resident := min(unitBlocks, unitLanes/max(lanes, 32))
	if shared > 0 {
		resident = max(1, min(resident, limits.Shared/shared))
	}
	warps := float64((lanes + codegen.WarpLanes - 1) / codegen.WarpLanes)
	issue := e.Dots + e.Operations + e.Calls*callCycles + e.Global*globalCycles + e.Shared + e.Shuffles*shuffleCycles
	perUnit := min(float64(resident), max(1, float64(blocks)/Facts.Units)) * warps // warps that a multiprocessor has
	cycles := issue * perUnit / schedulers
	if perUnit < loneWarps { // each waits
		cycles = issue * loneWarps / schedulers
	}
	cycles += e.Barriers * barrierCycles
	return Facts.Estimate(cost.Share{Parts: float64(blocks), Resident: float64(resident), Cycles: max(cycles, 1), Operations: e.Dots * float64(lanes),
		Bytes: e.Bytes})
}

// priceCells is the time of a kernel without a config: a lane for each cell computes all that the cell needs.
func priceCells(k *schedule.Kernel) (cost.Estimate, error) {
	cells := int64(1)
	free := k.Free()
	for _, l := range free {
		cells = nest.SaturatingProduct(cells, k.Loops[l].Extent())
	}
	var e effort.Effort
	isFree := make([]bool, len(k.Loops))
	for _, l := range free {
		isFree[l] = true
	}
	for _, s := range k.Statements {
		times := 1.0
		for _, l := range s.Over {
			if !isFree[l] {
				times *= float64(k.Loops[l].Extent())
			}
		}
		count(k, s.Value, times, &e)
	}
	return price((cells+laneTile-1)/laneTile, laneTile, 0, e)
}

// laneTile is how many lanes a block of a kernel without a config has.
const laneTile = 256

// count adds what an expression takes that is computed so many times.
func count(k *schedule.Kernel, e *scalar.Expr, times float64, to *effort.Effort) {
	switch {
	case e.Op == scalar.Load:
		to.Global += times
	case e.Op == scalar.Reduce && !e.IsAt():
		for _, l := range e.Over {
			times *= float64(k.Loops[l].Extent())
		}
		to.Operations += times
	case e.Op.Class() == scalar.Transcendental:
		to.Calls += times
	case len(e.Args) > 0:
		to.Operations += times
	}
	for _, a := range e.Args {
		count(k, a, times, to)
	}
}
