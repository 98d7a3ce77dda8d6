package price

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"tensortapestry.org/tapc/cost/work"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/cost"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/ir/scalar"
)

// choose finds how a kernel is carried out, by its config for the device, and how many units share it.
func (x *pricing) choose(kind schedule.DeviceType) {
	x.kind, x.form, x.units = kind, schedule.Loops.String(), x.device.Units
	for _, target := range x.settings.Targets[kind] {
		if c := x.analysis.Kernel.For(target.Name); c != nil {
			x.stages, x.target = c.Stages, target
			break
		}
	}
	var words []string
	for _, s := range x.stages {
		words = append(words, s.Algorithm.String())
	}
	if len(words) > 0 {
		x.form = strings.Join(words, ", ")
	}
	if kind.Has(schedule.Thread) {
		if x.units = 1; slices.ContainsFunc(x.stages, func(s schedule.Stage) bool { return s.Threads }) {
			x.units = x.device.Units
		}
		if x.settings.Units > 0 {
			x.units = min(x.units, x.settings.Units)
		}
	}
}

// product gives a kernel that is one product of which each task has a macro-tile.
func (x *pricing) product() (*nest.Contraction, bool) {
	if x.algorithm() != schedule.Contraction || !x.kind.Has(schedule.Thread) { // as transfers are
		return nil, false
	}
	c, ok := nest.Of[*nest.Contraction](x.analysis.Forms)
	return c, ok && len(x.stages) == 1 && len(x.stages[0].Tile(schedule.RoleK)) < 2
}

// tile is how much of a dimension a task has.
func (x *pricing) tile(role schedule.Role, d nest.Dim) int64 {
	if tiles := x.stages[0].Tile(role); len(tiles) > 0 && tiles[0] > 0 {
		return min(tiles[0], d.Extent)
	}
	return d.Extent
}

// The rows of a machine file that kernels compute by.
const (
	rowProducts  = "fma"
	rowResults   = "result"
	rowVector    = "vector"
	rowFunction  = "function"
	rowFollowing = "following"
	rowDivision  = "division"
	rowGather    = "gather"
	rowShuffle   = "shuffle"
	rowScalar    = "scalar"
)

// lowRows are the rows for products of narrow numbers, the best first.
var lowRows = []string{"amx", "vnni", "vexvnni", "usdot", "bf16", "bfdot", "sdot", "any"}

// mostTasks is how many tasks of a unit, from which on one more or less does not count.
const mostTasks = 64

// panels are those of a right factor that is packed for all units before tasks: of so many columns, of which the last in each group has those that are left.
type panels struct{ width, each, all, rounds int64 } // columns of one, panels of a group and of all groups, and the rounds in which these are packed

// panelsOf gives the panels of the right factor of a product that are packed for all units, none where it is packed by tasks or read in place.
func panelsOf(x *pricing, c *nest.Contraction) (p panels, ok bool) {
	i := slices.IndexFunc(x.stages[0].Placements, func(p schedule.Placement) bool {
		return p.Operand == x.analysis.Kernel.Operands[c.Right].Name && p.Scope == schedule.DeviceScope
	})
	if i < 0 {
		return panels{}, false
	}
	groups := nest.Points(nest.Followed(c.Batch, c.Views[c.Right], true))
	p = panels{width: max(1, schedule.PanelBytes/int64(c.Sum.Type.Size())), rounds: 1}
	p.each = (c.Col.Extent + p.width - 1) / p.width
	p.all = p.each * groups
	switch most := x.stages[0].Placements[i].Panels; {
	case most == 0:
	case most < p.each:
		p.rounds = groups * ((p.each + most - 1) / most)
	default:
		p.rounds = (p.all + most - 1) / most
	}
	return p, true
}

// regions is in how many regions of threads a kernel is carried out. A product has those that pack or copy a factor for all, as far as threads share them; for each round of panels of the right one a
// region of the tasks; and one that adds what tasks have of the sums, where these are cut for tasks.
func regions(x *pricing) int64 {
	c, ok := nest.Of[*nest.Contraction](x.analysis.Forms)
	if !ok || len(x.stages) != 1 || x.algorithm() != schedule.Contraction {
		return 1
	}
	p, _ := panelsOf(x, c)
	each, before := int64(1), adding{x: x}
	if len(x.stages[0].Tile(schedule.RoleK)) > 1 {
		each++
	}
	copying(x, &before)
	x.pack(&before)
	return before.regions + max(1, p.rounds)*each
}

// region says that the terms from one on are carried out in so many regions of their own, in which the unit that works longest takes so many times as long as if all had as much to do. Those of little work
// are the caller's alone: it takes no longer than calling others. What the tasks behind them are uneven is no matter of them.
func (a *adding) region(from int, regions int64, longest float64) {
	x, shared := a.x, total(a.terms[from:]).Value
	if alone := shared * float64(x.units); alone <= shared*longest+float64(regions)*x.device.Region.Value {
		longest, regions = float64(x.units), 0
	}
	for i, t := range a.terms[from:] {
		a.terms[from+i] = t.times(longest * x.even)
	}
	a.regions += regions
}

// handedOut is how much longer the packing of a right factor for all takes than if each unit had as much of it: a region's panels are cut into as many ranges as there are units, and the last
// panel of a group has the columns that are left.
func handedOut(x *pricing, c *nest.Contraction) float64 {
	p, ok := panelsOf(x, c)
	if !ok || x.units == 1 || p.all > mostTasks*x.units*p.rounds {
		return 1
	}
	columns := func(panels int64) int64 { return panels/p.each*c.Col.Extent + min(panels%p.each*p.width, c.Col.Extent) }
	all, most := (p.all+p.rounds-1)/p.rounds, int64(0)
	for i := range x.units {
		most = max(most, columns(all*(i+1)/x.units)-columns(all*i/x.units))
	}
	return float64(most*x.units) / float64(columns(all))
}

// compute gives the steps of what a kernel computes.
func (x *pricing) compute() ([]step, error) {
	if c, ok := nest.Of[*nest.BackToBack](x.analysis.Forms); ok && len(x.stages) > 1 && x.kind.Has(schedule.Thread) {
		return x.backToBack(c)
	}
	one, err := x.once()
	switch sweeps := float64(x.sweeps()); {
	case x.passes() && sweeps > 1: // a row has arrived when the first has gone over it, and leaves with the last
		steps := []step{one.times(1 / sweeps), one.times(1 / sweeps)}
		if sweeps > 2 {
			steps = slices.Insert(steps, 1, one.times(1-2/sweeps))
		}
		return steps, err
	case x.waits() > 0 || lineByLine(x):
		return []step{{}, one}, err
	}
	return []step{one}, err
}

// inPlace gives a product of several rows whose right factor is read where it is, in no panels.
func inPlace(x *pricing) (*nest.Contraction, bool) {
	c, ok := unpacked(x)
	return c, ok && c.Row.Extent > 1
}

// unpacked gives a product of any number of rows whose right factor is.
func unpacked(x *pricing) (*nest.Contraction, bool) {
	if x.algorithm() != schedule.Contraction || !x.kind.Has(schedule.Thread) { // as transfers are
		return nil, false
	}
	c, ok := nest.Of[*nest.Contraction](x.analysis.Forms)
	if !ok || c.Window != nil || c.Constant.Right {
		return nil, false
	}
	right := x.analysis.Kernel.Operands[c.Right].Name
	return c, !slices.ContainsFunc(x.stages[0].Placements, func(p schedule.Placement) bool { return p.Operand == right })
}

// register is how much of a dimension, which has so much, a register tile has: the second of a role's sizes, or the only one.
func register(x *pricing, role schedule.Role, whole int64) int64 {
	if tiles := x.stages[0].Tile(role); len(tiles) > 0 {
		return min(whole, tiles[min(1, len(tiles)-1)])
	}
	return whole
}

// lineByLine says whether the tiles of a product of several rows read no more than a line of each row of their right factor before they read the next row, and write as little of each row of the result, so that
// they wait for what comes from far: a line has the columns of a register tile, or those of a macro-tile where few rows are read side by side, in place.
func lineByLine(x *pricing) bool {
	if x.algorithm() != schedule.Contraction || !x.kind.Has(schedule.Thread) || len(x.stages) != 1 { // as transfers are
		return false
	}
	c, ok := nest.Of[*nest.Contraction](x.analysis.Forms)
	if !ok || c.Row.Extent == 1 {
		return false
	}
	piece := register(x, schedule.RoleN, c.Col.Extent)
	if _, ok := inPlace(x); ok && register(x, schedule.RoleK, nest.Points(c.Reduction)) <= unforeseen {
		piece = x.tile(schedule.RoleN, c.Col)
	}
	return piece*int64(c.Sum.Type.Size()) <= schedule.LineBytes
}

// prefetched says whether a product prefetches an operand.
func prefetched(x *pricing, operand int) bool {
	c, ok := nest.Of[*nest.Contraction](x.analysis.Forms)
	switch {
	case !ok:
		return false
	case x.stages[0].Prefetch == schedule.PrefetchRows:
		return operand == c.Left
	}
	return operand == c.Right && x.stages[0].Prefetch != schedule.PrefetchNothing
}

// unforeseen is how many rows of columns a part of a sum reads before the processor fetches the next ahead.
const unforeseen = 16

// waits is the part of their travel that the tiles of a product wait for, where they read columns in place, in no panels, and sums are in parts, of which each begins with columns that
// are elsewhere and that nothing has fetched ahead. Where all rows are in one tile each column is used once, and half of it arrives meanwhile; those of one row wait for none. Rows wait for what they read across lines, or in short pieces.
func (x *pricing) waits() float64 {
	if part := jumping(x); part > 0 {
		return part
	}
	c, ok := inPlace(x)
	if !ok || x.more(c) == 0 {
		return 0
	}
	tiles := x.stages[0].Tile(schedule.RoleK)
	part := min(1, unforeseen/float64(tiles[len(tiles)-1]))
	if tiles := x.stages[0].Tile(schedule.RoleM); len(tiles) > 0 && c.Row.Extent <= tiles[len(tiles)-1] {
		return part / 2
	}
	return part
}

// shortPiece is from how many bytes of neighbours on what is behind them is fetched ahead.
const shortPiece = 4 * schedule.LineBytes

// jumping is the part of what rows read that nothing fetches ahead: across the lines of what has it, as transposes read all, or in short pieces of a tensor.
func jumping(x *pricing) float64 {
	if !x.nears() || x.passes() || x.work.Loads == 0 {
		return 0
	}
	short, all := 0.0, 0.0
	for _, t := range x.work.Touches {
		if t.Write {
			continue
		}
		if all += t.Bytes; t.Pieces.Run < shortPiece {
			short += t.Bytes
		}
	}
	return max(min(1, x.work.Gathers/x.work.Loads), short/max(1, all))
}

// arriving divides what a kernel reads into what its first step takes and what the last one does meanwhile. What nothing fetches ahead is near enough in the first and second cache.
func arriving(x *pricing, read []Term) (first, last []Term) {
	all, lines := x.waits(), lineByLine(x)
	if all == 0 && !lines {
		return read, nil
	}
	parts := map[string]float64{}
	for _, l := range levels(x.device, x.units) {
		switch {
		case jumping(x) > 0 && l.near:
			parts[l.name] = 0
		case lines && l.far && !l.near:
			parts[l.name] = 1
		default:
			parts[l.name] = all
		}
	}
	for _, t := range read {
		part, ok := parts[t.What]
		if !ok {
			part = all
		}
		if part > 0 {
			first = append(first, t.times(part))
		}
		if part < 1 {
			last = append(last, t.times(1-part))
		}
	}
	return first, last
}

// times gives a part of a term.
func (t Term) times(part float64) Term {
	return Term{t.What, Interval{t.Time.Value * part, t.Time.Low * part, t.Time.High * part}}
}

// times gives a part of what a step does.
func (s step) times(part float64) (out step) {
	for i, r := range s {
		for _, t := range r {
			out[i] = append(out[i], t.times(part))
		}
	}
	return out
}

// backToBack gives the steps of products back to back: those of each stage, which is a kernel of its own.
func (x *pricing) backToBack(c *nest.BackToBack) (steps []step, err error) {
	buffers := maps.Clone(x.analysis.Buffers)
	maps.Copy(buffers, c.WorkspaceBuffers())
	forms := [...]nest.Form{c.First, c.Middle, c.Last}
	for i, at := range []int{0, 1, len(x.stages) - 1} {
		if i == 1 && (c.Middle == nil || len(x.stages) < len(forms)) {
			continue
		}
		s := *x
		s.stages, s.analysis, s.work = x.stages[at:at+1], &nest.Analysis{Kernel: c.Stages[i], Buffers: buffers, Forms: nest.Forms{forms[i]}}, work.Of(c.Stages[i], buffers)
		one, e := s.once()
		steps, err = append(steps, one), cmp.Or(err, e)
	}
	return steps, err
}

// once gives what a kernel of one stage computes.
func (x *pricing) once() (step, error) {
	room, _ := x.vectors()
	c := x.work.Beside.Plus(x.work.Count.Minus(x.work.Beside).Times(room))
	work, divide, shuffle, near := adding{x: x}, adding{x: x}, adding{x: x}, adding{x: x}
	vector := c.Vector + (extreme-1)*c.Extremes
	switch x.algorithm() {
	case schedule.LowPrecision:
		row, of, e := x.low()
		if e != nil {
			return step{}, e
		}
		work.add(2*c.Products, row, of)
		vector -= c.Factors // they are converted as they are packed
		copying(x, &work)
	case schedule.Contraction:
		work.add(2*c.Products*tiled(x), rowProducts, x.work.Type)
		x.parts(&work)
		copying(x, &work)
		x.pack(&work)
		if known(x, rowResults) {
			work.name("results of products", results(x), rowResults, x.work.Type)
		}
		work.terms = append(append(work.terms, rowsAgain(x)...), columnsAgain(x)...)
	case schedule.Transformed:
		convolved(x, &work, c)
	case schedule.Rows, schedule.Reduction, schedule.Scan:
		vector += 2 * c.Products
		work.name("joining lanes", x.ends(), rowVector, x.work.Type)
		if known(x, rowShuffle) {
			shuffle.name("shuffles", x.shuffles(), rowShuffle, x.work.Type)
		} else {
			work.name("shuffles", x.shuffles(), rowVector, x.work.Type)
		}
		work.add(x.work.Gathers, rowGather, x.work.Type)
		work.name("sums that wait", room*waiting(x), rowVector, x.work.Type)
		read, written := straddling(x)
		c.Loads, c.Stores = c.Loads+room*(read-slid(x)), c.Stores+room*written
		x.nearest(&near, c)
	default:
		if !x.kind.Has(schedule.Thread) { // lanes are as good as vectors
			work.add(2*c.Products, rowProducts, x.work.Type)
			break
		}
		work.add(c.Operations(), rowScalar, x.work.Type)
		return step{arithmetics: work.terms}, work.err
	}
	if n := followed(x, c); n > 0 {
		work.name("arithmetic beside functions", n, rowFollowing, x.work.Type)
		vector -= c.Vector - c.Extremes
	}
	work.add(vector, rowVector, x.work.Type)
	work.add(functions(x, c), rowFunction, x.work.Type)
	if x.passes() { // one after the other
		work.add(c.Division, rowDivision, x.work.Type)
	} else {
		divide.add(c.Division, rowDivision, x.work.Type)
	}
	return step{arithmetics: work.terms, divider: divide.terms, shuffler: shuffle.terms, nearest: near.terms}, cmp.Or(work.err, divide.err, shuffle.err, near.err)
}

// adding collects terms, until a rate is not known.
type adding struct {
	x       *pricing
	terms   []Term
	regions int64 // of threads, beside those of tasks
	err     error
}

// add adds the time of so many operations by a row on a type.
func (a *adding) add(n float64, row string, of scalar.DType) { a.name(rowWord(row), n, row, of) }

// name adds it by a word of its own.
func (a *adding) name(word string, n float64, row string, of scalar.DType) {
	if n == 0 || a.err != nil {
		return
	}
	if !slices.Contains(lowRows, row) { // which multiply numbers as narrow as they are
		of = arithmetic(of)
	}
	rate, err := a.x.device.Rate(of.String(), row, a.x.units)
	if a.err = err; err == nil {
		a.terms = append(a.terms, Term{fmt.Sprintf("%s of %v", word, of), over(n, rate)})
	}
}

// nearest adds what goes through the first cache of each core: every element that is read or written, and twice those of vectors that lie in two lines.
func (x *pricing) nearest(a *adding, c work.Count) {
	if x.nears() {
		l, size := levels(x.device, x.units)[0], float64(arithmetic(x.work.Type).Size())
		a.terms = append(a.terms, Term{"loads and stores in " + l.name, l.over(c.Loads*size, c.Stores*size)})
	}
}

// nears says whether loads and stores are counted one by one: those of rows, and where there are caches.
func (x *pricing) nears() bool {
	switch x.algorithm() {
	case schedule.Rows, schedule.Reduction, schedule.Scan:
		return len(x.device.Caches) > 0 && x.kind.Has(schedule.Thread)
	}
	return false
}

// passes says whether a kernel goes over its rows more than once, because something depends on a whole row.
func (x *pricing) passes() bool {
	r, ok := nest.Of[*nest.Rows](x.analysis.Forms)
	return ok && !r.Free && x.algorithm() == schedule.Rows
}

// extreme is how many operations the lesser or greater of two floats takes: whether one is not a number is compared, and chosen, besides.
const extreme = 3

// How many operations on vectors take as long as joining one half of the lanes of a vector with the other, again and again until one is left: where another sweep over the row waits for the result,
// and where the next row is begun meanwhile.
const (
	joined       = 6.25
	joinedHidden = 2.35
)

// usualLanes are those of a vector where none are known.
const usualLanes = 16

// ends is what a kernel of rows takes for the ends of rows, in operations: lanes are reduced there, once for each result of a reduction along them.
func (x *pricing) ends() (n float64) {
	if r, ok := nest.Of[*nest.Rows](x.analysis.Forms); !ok || r.Free || !x.kind.Has(schedule.Thread) {
		return 0
	}
	for _, s := range x.analysis.Kernel.Statements {
		times := 1.0
		for _, l := range s.Over {
			times *= float64(x.analysis.Kernel.Loops[l].Extent())
		}
		n += times * float64(reductions(s))
	}
	lanes := float64(usualLanes)
	if _, _, full, ok := x.rowVectors(); ok {
		lanes = float64(full)
	}
	n *= lanes * math.Log2(lanes)
	if x.sweeps() == 1 {
		return n * joinedHidden
	}
	return n * joined
}

// dependent is how many vectors of sums beside rows are computed together, at least, so that adding to one does not wait for what was added to it before; longReduction is how many steps of a
// reduction are so few that other vectors are begun meanwhile. Measured on Zen 3 by sums of 1000 × 6 and of 5000 × 12 elements along their columns.
const (
	dependent     = 5
	longReduction = 32
)

// waiting is what a kernel of rows waits for sums beside rows, in operations: each step of a long reduction follows the one before it.
func waiting(x *pricing) (n float64) {
	r, ok := nest.Of[*nest.Rows](x.analysis.Forms)
	if !ok || !r.Free || x.few || x.algorithm() != schedule.Rows || nest.Points(r.Reduction) <= longReduction {
		return 0
	}
	together := int64(1)
	if line := x.stages[0].Tile(schedule.RoleLine); len(line) > 0 {
		together = line[0]
	}
	if element := x.stages[0].Tile(schedule.RoleElement); len(element) > 1 {
		_, lanes, _, _ := x.rowVectors()
		together = element[1] / max(1, lanes)
	}
	x.analysis.Kernel.Visit(func(e *scalar.Expr, steps float64) {
		if e.Op == scalar.Reduce && !e.IsAt() {
			n += steps * max(0, dependent/float64(max(1, together))-1)
		}
	})
	return n
}

// reductions is how many there are in a statement.
func reductions(s schedule.Statement) (n int) {
	s.Value.Walk(func(e *scalar.Expr) bool {
		if e.Op == scalar.Reduce && !e.IsAt() {
			n++
		}
		return true
	})
	return n
}

// sweeps is how often a kernel goes over its rows: for each reduction along them, and for each result.
func (x *pricing) sweeps() int {
	r, ok := nest.Of[*nest.Rows](x.analysis.Forms)
	if !ok {
		return 0
	}
	return sweepsOf(x.analysis.Kernel, r)
}

func sweepsOf(k *schedule.Kernel, r *nest.Rows) (n int) {
	for _, s := range k.Statements {
		if n += reductions(s); s.Store >= 0 && slices.Contains(s.Over, int64(r.Lane.Inner())) {
			n++
		}
	}
	return n
}

// padding is how many products are computed for each that is asked for: columns fill vectors.
func (x *pricing) padding() float64 {
	c, ok := nest.Of[*nest.Contraction](x.analysis.Forms)
	tiles := x.stages[0].Tile(schedule.RoleN)
	if !ok || len(tiles) == 0 || !x.kind.Has(schedule.Thread) {
		return 1
	}
	lanes := tiles[len(tiles)-1]
	return float64((c.Col.Extent+lanes-1)/lanes*lanes) / float64(max(1, c.Col.Extent))
}

// tiled is how much longer products take than in register tiles that fill the registers, with columns in the first cache: columns fill vectors, tiles at the edges are smaller, and few rows
// use each vector of columns only so often, which comes from the second cache where the columns of a tile do not stay in the first.
func tiled(x *pricing) float64 {
	c, ok := nest.Of[*nest.Contraction](x.analysis.Forms)
	m, n := x.stages[0].Tile(schedule.RoleM), x.stages[0].Tile(schedule.RoleN)
	if !ok || len(m) < 2 || len(n) < 3 || x.target.Registers == 0 || !x.kind.Has(schedule.Thread) {
		return x.padding()
	}
	rows, width, lanes := max(1, m[len(m)-1]), n[len(n)-2], n[len(n)-1]
	_, asIs := unpacked(x)
	short, run := cost.ShortSum(c, x.target.Registers), cost.ShortRun(c, x.target.Registers)
	core := cost.Core{Registers: x.target.Registers, Load: columnLoad(x, c, width), Unpacked: asIs && short == 0, Sum: short, Run: run}
	steps := core.Steps(c.Row.Extent, (c.Col.Extent+lanes-1)/lanes, min(rows, c.Row.Extent), max(1, width/lanes))
	return steps / (cost.FullStep(x.target.Registers) * float64(max(1, c.Row.Extent)) * float64(max(1, c.Col.Extent)) / float64(lanes))
}

// columnLoad is the time in which a vector of columns comes, in that of multiplying and adding one: from the first cache, if all columns of a register tile stay there for the next rows.
func columnLoad(x *pricing, c *nest.Contraction, width int64) float64 {
	run := nest.Points(c.Reduction)
	if k := x.stages[0].Tile(schedule.RoleK); len(k) > 0 && len(c.Reduction) == 1 {
		run = min(run, k[len(k)-1])
	}
	size := float64(c.Sum.Type.Size())
	near := levels(x.device, 1)
	rate, err := x.device.Rate(arithmetic(c.Sum.Type).String(), rowProducts, 1)
	if err != nil || len(near) < 3 || float64(run*width)*size <= near[0].bytes {
		return cost.Near
	}
	return max(cost.Near, size/near[1].alone.Value*rate.Value/2)
}

// convolved adds the time of a convolution on transformed tiles: its products, and the transformations of its images and results, in multiply-adds.
func convolved(x *pricing, a *adding, c work.Count) {
	w, ok := nest.Of[*nest.Winograd](x.analysis.Forms)
	down := x.stages[0].Tile(schedule.RoleDown)
	if !ok || len(down) == 0 {
		a.add(2*c.Products, rowProducts, x.work.Type)
		return
	}
	t := cost.Transformed(w, down[len(down)-1])
	a.add(2*t.Products, rowProducts, x.work.Type)
	a.name("transformed tiles", 2*t.Transforms, rowProducts, x.work.Type)
	a.name("weights of transformed tiles", 2*t.Weights, rowProducts, x.work.Type)
}

// more is in how many parts more than one the sums of a product are.
func (x *pricing) more(c *nest.Contraction) int64 {
	tiles, sum := x.stages[0].Tile(schedule.RoleK), int64(1)
	if c.Window != nil || len(tiles) == 0 || tiles[len(tiles)-1] <= 0 {
		return 0
	}
	for _, d := range c.Reduction {
		sum *= d.Extent
	}
	return (sum - 1) / tiles[len(tiles)-1]
}

// parts adds the time of taking the results of a product up again, from and to the first cache, for each part of its sums but the first.
func (x *pricing) parts(a *adding) {
	c, ok := nest.Of[*nest.Contraction](x.analysis.Forms)
	if !ok || len(x.device.Caches) == 0 || !x.kind.Has(schedule.Thread) || x.more(c) == 0 {
		return
	}
	results := c.Row.Extent * c.Col.Extent
	for _, d := range c.Batch {
		results *= d.Extent
	}
	l, bytes := levels(x.device, x.units)[0], float64(x.more(c)*results*int64(arithmetic(x.work.Type).Size()))*x.padding()
	a.terms = append(a.terms, Term{"sums in parts in " + l.name, l.over(bytes, bytes)})
}

// pack adds the time of copying operands into panels: elements that are neighbours go as vectors, which takes two operations of them, those two apart are shuffled
// out of vectors, others go one by one. Where a window leaves an image, it is found out before which lanes do, for each place of the window.
func (x *pricing) pack(a *adding) {
	c, ok := nest.Of[*nest.Contraction](x.analysis.Forms)
	if !ok || !x.kind.Has(schedule.Thread) {
		return
	}
	for _, p := range x.stages[0].Placements {
		i := slices.IndexFunc(x.analysis.Kernel.Operands, func(o schedule.Operand) bool { return o.Name == p.Operand })
		if p.Scope == schedule.ConstantScope || i != c.Left && i != c.Right {
			continue
		}
		along := c.Row
		if i == c.Right {
			along = c.Col
		}
		n, from := float64(along.Extent), len(a.terms)
		for _, d := range c.Batch {
			if d.Step(c.Views[i]) != 0 {
				n *= float64(d.Extent)
			}
		}
		if c.Window != nil && i == c.Right {
			a.name("borders of windows", masked*n*x.places(c), rowVector, x.work.Type)
		}
		for _, d := range c.Reduction {
			n *= float64(d.Extent)
		}
		neighbours, apart, single := packed, packedApart, 1.0
		if c.Window != nil && i == c.Right {
			line := along.Extent
			if l := along.Inner(); l >= 0 {
				line = x.analysis.Kernel.Loops[l].Extent()
			}
			ends := lineEnds(line, max(1, x.target.Vector/int64(c.Sum.Type.Size())))
			neighbours, apart, single = packedWindows, packedApart*(1-ends)+packedEnds*ends, singleWindows
		}
		switch along.Step(c.Views[i]) {
		case 1:
			a.name("packing", neighbours*n, rowVector, x.work.Type)
		case 2:
			a.name("packing", apart*n, rowVector, x.work.Type)
		default:
			a.name("packing one by one", single*n, rowGather, x.work.Type)
		}
		switch panels, _ := panelsOf(x, c); {
		case p.Scope != schedule.DeviceScope:
		case i == c.Right:
			a.region(from, max(1, panels.rounds), handedOut(x, c))
		default:
			a.region(from, 1, 1)
		}
	}
	if c.Transposed {
		results := float64(c.Row.Extent * c.Col.Extent)
		for _, d := range c.Batch {
			results *= float64(d.Extent)
		}
		a.name("turning results", transposed*results, rowVector, x.work.Type)
	}
}

// lineEnds is the part of the vectors of windows' elements in which a line of results ends and the next one begins: one for each line, but for the lines that end with a vector.
func lineEnds(line, lanes int64) float64 {
	of := int64(1) // so many lines one ends with a vector
	for line*of%lanes != 0 {
		of++
	}
	return min(1, float64(lanes)/float64(max(1, line))*(1-1/float64(of)))
}

// places is at how many places of its window a contraction asks whether elements are there.
func (x *pricing) places(c *nest.Contraction) float64 {
	if c.Window.Guard == nil {
		return 0
	}
	return float64(nest.SaturatingProduct(c.GuardExtents(x.analysis.Kernel)...))
}

// How many operations on vectors take as long as copying an element into a panel, one of windows whose neighbours are neighbours, one that is two apart from the next, also where a vector of them goes on in the
// next line of an image; as finding out whether an element of a window is there; and as turning a result round that neighbouring rows have as neighbours.
const (
	packed        = 12.0
	packedWindows = 6.0
	packedApart   = 16.0
	packedEnds    = 54.0
	masked        = 100
	transposed    = 16
	singleWindows = 3.5 // elements that are read one by one, for one of a window whose neighbours are farther apart
)

// rowWord is what terms call a row.
func rowWord(row string) string {
	switch row {
	case rowProducts:
		return "products"
	case rowVector:
		return "arithmetic"
	case rowFunction:
		return "functions"
	case rowDivision:
		return "divisions and roots"
	case rowGather:
		return "elements one by one"
	case rowScalar:
		return "scalar arithmetic"
	}
	return "products by " + row
}

// algorithm is that of a kernel's first stage.
func (x *pricing) algorithm() schedule.Algorithm {
	if len(x.stages) == 0 {
		return schedule.Loops
	}
	return x.stages[0].Algorithm
}

// low gives the row of a device that carries out a low-precision contraction, and the type that it multiplies.
func (x *pricing) low() (row string, of scalar.DType, err error) {
	of = scalar.Int8
	if x.work.Type.IsFloat() {
		of = scalar.BFloat16
	}
	for _, row := range lowRows {
		if _, e := x.device.Rate(of.String(), row, 1); e == nil {
			return row, of, nil
		}
	}
	return "", of, x.device.Unknown(fmt.Sprintf("rate of products of %v", of), "rates")
}

// arithmetic is the type that arithmetic on a type is carried out in.
func arithmetic(d scalar.DType) scalar.DType {
	switch {
	case d.IsFloat() && d.Bits() < 32:
		return scalar.Float32
	case d == scalar.Complex64:
		return scalar.Float32
	case d == scalar.Complex128:
		return scalar.Float64
	case d == scalar.Bool:
		return scalar.UInt8
	}
	return d
}
