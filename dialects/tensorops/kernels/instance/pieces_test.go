package instance_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/bind"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/example"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/infer"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/instance"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/sample"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/zspace"
)

// reader carries out the statements of an instance point by point and notes the cells that are read. What data decides is unknown.
type reader struct {
	in    *instance.Instance
	cells []map[string]bool // of each operand
	holds map[int][]int64   // the numbers of operands that are constants, in row-major order of their selections
	steps int
}

// decided is what an expression is at a point, if data does not decide it.
type decided struct {
	value int64
	ok    bool
}

func (r *reader) point(e *scalar.Expr, at []int64) decided {
	if r.steps--; r.steps < 0 {
		return decided{}
	}
	switch {
	case e.Op == scalar.Const:
		return decided{e.Value.I, e.Type == scalar.Int64 || e.Type == scalar.Bool}
	case e.Op == scalar.Loop:
		return decided{at[e.Ref], true}
	case e.Op == scalar.Local:
		return r.point(r.in.Statements[e.Ref].Value, at)
	case e.Op == scalar.Cast && e.Type == scalar.Int64:
		return r.point(e.Args[0], at)
	case e.Op == scalar.Load:
		c, err := r.in.Operands[e.Ref].Access.Apply(at)
		if err != nil {
			panic(err)
		}
		r.cells[e.Ref][fmt.Sprint([]int64(c))] = true
		o := r.in.Operands[e.Ref]
		first := slices.IndexFunc(r.in.Operands, func(v instance.Operand) bool { return v.Decl == o.Decl && v.Entry == o.Entry })
		return r.held(first, c)
	case e.IsAt():
		place := r.point(e.Args[1], at)
		n := r.in.Dims[e.Over[0]].Extent
		at = slices.Clone(at)
		if place.ok {
			if at[e.Over[0]] = place.value; place.value >= 0 && place.value < n {
				return r.point(e.Args[0], at)
			}
			return decided{0, e.Type.IsInt()}
		}
		for i := range n {
			at[e.Over[0]] = i
			r.point(e.Args[0], at)
		}
		return decided{}
	case e.Op == scalar.Reduce:
		r.over(e, e.Over, slices.Clone(at))
		return decided{}
	case e.Op == scalar.Where:
		c := r.point(e.Args[0], at)
		if c.ok {
			return r.point(e.Args[2-c.value], at)
		}
		r.point(e.Args[1], at)
		r.point(e.Args[2], at)
		return decided{}
	}
	return r.operator(e, at)
}

// held is the number that a constant has at a coordinate.
func (r *reader) held(operand int, c zspace.Point) decided {
	numbers := r.holds[operand]
	if numbers == nil {
		return decided{}
	}
	sel, n := r.in.Operands[operand].Sel.Range(), int64(0)
	for k, x := range c {
		n = n*(sel.End[k]-sel.Start[k]) + x - sel.Start[k]
	}
	return decided{numbers[n], true}
}

func (r *reader) over(e *scalar.Expr, dims []int, at []int64) {
	if len(dims) == 0 {
		r.point(e.Args[0], at)
		return
	}
	for i := range r.in.Dims[dims[0]].Extent {
		at[dims[0]] = i
		r.over(e, dims[1:], at)
	}
}

func (r *reader) operator(e *scalar.Expr, at []int64) decided {
	args := make([]decided, len(e.Args))
	all := true
	for i, a := range e.Args {
		args[i] = r.point(a, at)
		all = all && args[i].ok
	}
	if e.Type == scalar.Bool && (e.Op == scalar.And || e.Op == scalar.Or) { // one side may decide
		strong := int64(0)
		if e.Op == scalar.Or {
			strong = 1
		}
		for _, a := range args {
			if a.ok && a.value == strong {
				return decided{strong, true}
			}
		}
	}
	if !all || len(args) == 0 || e.Args[0].Type != scalar.Int64 && e.Args[0].Type != scalar.Bool {
		return decided{}
	}
	x, y := args[0].value, args[len(args)-1].value
	switch e.Op {
	case scalar.Not:
		return decided{1 - x, e.Type == scalar.Bool}
	case scalar.And, scalar.Or:
		return decided{args[0].value, e.Type == scalar.Bool} // neither side decides, so both are the same
	case scalar.Neg:
		return decided{-x, true}
	case scalar.Add:
		return decided{x + y, true}
	case scalar.Sub:
		return decided{x - y, true}
	case scalar.Mul:
		return decided{x * y, true}
	case scalar.Min:
		return decided{min(x, y), true}
	case scalar.Max:
		return decided{max(x, y), true}
	case scalar.Div:
		return decided{x / max(y, 1), y > 0}
	case scalar.Rem:
		return decided{x % max(y, 1), y > 0}
	case scalar.Mod:
		return decided{(x%max(y, 1) + y) % max(y, 1), y > 0}
	}
	if e.Op >= scalar.Eq && e.Op <= scalar.Ge {
		return decided{scalar.BoolValue(scalar.IntComparison(e.Op, scalar.Int64)(x, y)).I, true}
	}
	return decided{}
}

// readIn gives the cells of each operand that an instance reads over a box of its index; ok is false if that takes too long.
func readIn(in *instance.Instance, index zspace.Range, holds map[int][]int64) (cells []map[string]bool, ok bool) {
	r := &reader{in: in, steps: 300_000, holds: holds}
	for range in.Operands {
		r.cells = append(r.cells, map[string]bool{})
	}
	for _, s := range in.Statements {
		if s.Store < 0 {
			continue
		}
		box := in.Box()
		n := 0
		for d, x := range in.Dims {
			switch {
			case x.Index:
				box.Start[d], box.End[d] = index.Start[n], index.End[n]
				n++
			case !slices.Contains(s.Over, d):
				box.Start[d], box.End[d] = 0, 1
			}
		}
		for at := range box.Points() {
			r.point(s.Value, at)
		}
	}
	for i, o := range in.Operands {
		for j, v := range in.Operands {
			if v.Decl == o.Decl && v.Entry == o.Entry {
				for c := range r.cells[j] {
					r.cells[i][c] = true
				}
			}
		}
	}
	return r.cells, r.steps > 0
}

// subBox gives a random box of a box's points.
func subBox(rnd *rand.Rand, r zspace.Range) zspace.Range {
	out := r.Clone()
	for i := range out.Start {
		n := out.End[i] - out.Start[i]
		if n > 0 {
			out.Start[i] += rnd.Int64N(n)
			out.End[i] = out.Start[i] + 1 + rnd.Int64N(out.End[i]-out.Start[i])
		}
	}
	return out
}

func checkPieces(t *testing.T, name string, in *instance.Instance, index zspace.Range, holds map[int][]int64) (inexact bool) {
	t.Helper()
	want, ok := readIn(in, index, holds)
	if !ok {
		return false
	}
	box := in.Box()
	n := 0
	for d, x := range in.Dims {
		if x.Index {
			box.Start[d], box.End[d] = index.Start[n], index.End[n]
			n++
		}
	}
	for i, o := range in.Operands {
		if o.Decl.Out || o.Sel.Range().Empty() || in.Index().Empty() {
			continue
		}
		if _, reason := in.Exact(i); reason != "" {
			inexact = true
			continue
		}
		boxes, err := in.ReadCells(i, box)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]bool{}
		for _, b := range boxes {
			for n := range (zspace.Range{Start: make(zspace.Point, len(b.Count)), End: b.Count}).Points() {
				c := b.Start.Clone()
				for k := range c {
					c[k] += n[k] * b.Step[k]
				}
				got[fmt.Sprint([]int64(c))] = true
			}
		}
		for c := range want[i] {
			if !got[c] {
				t.Fatalf("%s over %v: %s[%d] misses %s of %v: %v", name, index, o.Port, o.Entry, c, o.Sel.Range(), boxes)
			}
		}
		for c := range got {
			if !want[i][c] {
				t.Fatalf("%s over %v: %s[%d] has %s too many: %v", name, index, o.Port, o.Entry, c, boxes)
			}
		}
	}
	return inexact
}

// What kernels are said to read of each input, over random boxes of their index, is what reading them cell by cell finds: nothing is
// missing and nothing too many. Of every declared case and random calls.
func TestPiecesAgainstCells(t *testing.T) {
	rnd := rand.New(rand.NewPCG(17, 1))
	samples := 12
	if testing.Short() {
		samples = 2
	}
	hulls := map[string]int{}
	for _, name := range kernels.Builtin().Names() {
		d, _ := kernels.Builtin().Find(name)
		var calls []infer.Call
		for _, c := range d.Cases {
			x, err := example.Of(d, c)
			if err != nil {
				t.Fatal(err)
			}
			calls = append(calls, x.Call)
		}
		for _, typ := range []scalar.DType{scalar.Float32, scalar.Int32} {
			for range samples {
				if c, err := sample.Call(d, rnd, typ); err == nil && c != nil {
					calls = append(calls, *c)
				}
			}
		}
		for n, c := range calls {
			in, err := bind.Instance(d, c)
			if err != nil {
				t.Fatal(err)
			}
			for range 3 {
				if checkPieces(t, fmt.Sprintf("%s, call %d (%v)", name, n, c.Params), in, subBox(rnd, in.Index()), nil) {
					hulls[name]++
				}
			}
		}
	}
	t.Logf("hulls: %v", hulls)
}
