package price

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/ir/scalar"
)

// choose finds how a kernel is carried out, by its config for the device, and how many units share it.
func (x *pricing) choose(kind schedule.DeviceType) {
	x.kind, x.form, x.units = kind, schedule.Loops.String(), x.device.Units
	for _, target := range x.settings.Targets[kind] {
		if c := x.analysis.Kernel.For(target); c != nil {
			x.config = c
			break
		}
	}
	if x.config != nil {
		var words []string
		for _, s := range x.config.Stages {
			words = append(words, s.Algorithm.String())
		}
		x.form = strings.Join(words, ", ")
	}
	if kind.Has(schedule.Thread) {
		if x.units = 1; x.threaded() {
			x.units = x.device.Units
		}
		if x.settings.Units > 0 {
			x.units = min(x.units, x.settings.Units)
		}
	}
}

// threaded says whether threads share a kernel.
func (x *pricing) threaded() bool {
	return x.config != nil && slices.ContainsFunc(x.config.Stages, func(s schedule.Stage) bool { return s.Threads })
}

// The rows of a machine file that kernels compute by.
const (
	rowProducts = "fma"
	rowVector   = "vector"
	rowFunction = "function"
	rowDivision = "division"
	rowGather   = "gather"
	rowScalar   = "scalar"
)

// lowRows are the rows for products of narrow numbers, the best first.
var lowRows = []string{"amx", "vnni", "vexvnni", "usdot", "bf16", "bfdot", "sdot", "any"}

// compute gives the terms of what a kernel computes, for each resource that works beside the others.
func (x *pricing) compute() (resources [][]Term, err error) {
	c := x.work.Count
	work, divide, near := adding{x: x}, adding{x: x}, adding{x: x}
	vector := c.Vector
	switch x.algorithm() {
	case schedule.LowPrecision:
		row, of, e := x.low()
		if e != nil {
			return nil, e
		}
		work.add(2*c.Products, row, of)
	case schedule.Contraction, schedule.Transformed:
		work.add(2*c.Products*x.padding(), rowProducts, x.work.Type)
		x.pack(&work)
	case schedule.Rows, schedule.Reduction, schedule.Scan:
		vector += 2 * c.Products
		work.add(x.across()+shuffled*c.Shuffles, rowVector, x.work.Type)
		work.add(c.Gathers, rowGather, x.work.Type)
		x.nearest(&near)
	default:
		if !x.kind.Has(schedule.Thread) { // lanes are as good as vectors
			work.add(2*c.Products, rowProducts, x.work.Type)
			break
		}
		work.add(c.Operations(), rowScalar, x.work.Type)
		return [][]Term{work.terms}, work.err
	}
	work.add(vector, rowVector, x.work.Type)
	work.add(c.Function, rowFunction, x.work.Type)
	if x.passes() { // one after the other
		work.add(c.Division, rowDivision, x.work.Type)
	} else {
		divide.add(c.Division, rowDivision, x.work.Type)
	}
	return [][]Term{work.terms, divide.terms, near.terms}, cmp.Or(work.err, divide.err, near.err)
}

// adding collects terms, until a rate is not known.
type adding struct {
	x     *pricing
	terms []Term
	err   error
}

// add adds the time of so many operations by a row on a type.
func (a *adding) add(n float64, row string, of scalar.DType) {
	if n == 0 || a.err != nil {
		return
	}
	rate, err := a.x.device.Rate(arithmetic(of).String(), row, a.x.units)
	if a.err = err; err == nil {
		a.terms = append(a.terms, Term{fmt.Sprintf("%s of %v", rowWord(row), arithmetic(of)), over(n, rate)})
	}
}

// nearest adds what goes through the first cache of each core: every element that is read or written.
func (x *pricing) nearest(a *adding) {
	if len(x.device.Caches) > 0 && x.kind.Has(schedule.Thread) {
		l, size := levels(x.device, x.units)[0], float64(arithmetic(x.work.Type).Size())
		a.terms = append(a.terms, Term{"loads and stores in " + l.name, l.over(x.work.Loads*size, x.work.Stores*size)})
	}
}

// passes says whether a kernel goes over its rows more than once, because something depends on a whole row.
func (x *pricing) passes() bool {
	r, ok := nest.Of[*nest.Rows](x.analysis.Forms)
	return ok && !r.Free && x.algorithm() == schedule.Rows
}

// shuffled is how many operations on vectors take as long as reading an element and shuffling it.
const shuffled = 4

// How many operations on vectors take as long as reducing the lanes of one: where another sweep over the row waits for the result, and where the next row is
// begun meanwhile.
const (
	acrossLanes       = 400
	acrossLanesHidden = 150
)

// across is what a kernel of rows takes for the ends of rows, in operations: lanes are reduced there, once for each result of a reduction along them.
func (x *pricing) across() float64 {
	r, ok := nest.Of[*nest.Rows](x.analysis.Forms)
	if !ok || r.Free || !x.kind.Has(schedule.Thread) {
		return 0
	}
	n, sweeps := 0.0, 0
	for _, s := range x.analysis.Kernel.Statements {
		if s.Store >= 0 && slices.ContainsFunc(s.Over, func(l int64) bool { return int(l) == r.Lane.Inner() }) {
			sweeps++
		}
		times := 1.0
		for _, l := range s.Over {
			times *= float64(x.analysis.Kernel.Loops[l].Extent())
		}
		s.Value.Walk(func(e *scalar.Expr) bool {
			if e.Op == scalar.Reduce && !e.IsAt() {
				n += times
				sweeps++
			}
			return true
		})
	}
	if sweeps == 1 {
		return n * acrossLanesHidden
	}
	return n * acrossLanes
}

// padding is how many products are computed for each that is asked for: columns fill vectors.
func (x *pricing) padding() float64 {
	c, ok := nest.Of[*nest.Contraction](x.analysis.Forms)
	tiles := x.config.Stages[0].Tile(schedule.RoleN)
	if !ok || len(tiles) == 0 || !x.kind.Has(schedule.Thread) {
		return 1
	}
	lanes := tiles[len(tiles)-1]
	return float64((c.Col.Extent+lanes-1)/lanes*lanes) / float64(max(1, c.Col.Extent))
}

// pack adds the time of copying operands into panels: elements that are neighbours go as vectors, which takes two operations of them, others one by one.
func (x *pricing) pack(a *adding) {
	c, ok := nest.Of[*nest.Contraction](x.analysis.Forms)
	if !ok || !x.kind.Has(schedule.Thread) {
		return
	}
	for _, p := range x.config.Stages[0].Placements {
		if p.Scope == schedule.ConstantScope {
			continue
		}
		for i, o := range x.analysis.Kernel.Operands {
			if o.Name != p.Operand {
				continue
			}
			n := 1.0
			for _, d := range c.Reduction {
				n *= float64(d.Extent)
			}
			along := c.Row
			if i == c.Right {
				along = c.Col
			}
			n *= float64(along.Extent)
			for _, d := range c.Batch {
				if d.Step(c.Views[i]) != 0 {
					n *= float64(d.Extent)
				}
			}
			if step := along.Step(c.Views[i]); step == 1 {
				a.add(packed*n, rowVector, x.work.Type)
			} else {
				a.add(n, rowGather, x.work.Type)
			}
		}
	}
}

// packed is how many operations on vectors take as long as copying an element into a panel.
const packed = 12

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
	if x.config == nil {
		return schedule.Loops
	}
	return x.config.Stages[0].Algorithm
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
