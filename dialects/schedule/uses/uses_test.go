package uses

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/zspace"
	"tensortapestry.org/tapc/ir/zspace/images"
)

// drawLoops draws a box of up to three loops, each of up to five values.
func drawLoops(t *rapid.T) zspace.Range {
	var r zspace.Range
	for range rapid.IntRange(1, 3).Draw(t, "loops") {
		at := rapid.Int64Range(-3, 3).Draw(t, "at")
		r.Start, r.End = append(r.Start, at), append(r.End, at+rapid.Int64Range(1, 5).Draw(t, "extent"))
	}
	return r
}

// drawAccess draws an access of a rank over some loops.
func drawAccess(t *rapid.T, rank, loops int) zspace.AffineMap {
	var a zspace.AffineMap
	for range rank {
		row := rapid.SliceOfN(rapid.Int64Range(-3, 4), loops, loops).Draw(t, "row")
		a.Projection = append(a.Projection, row)
		a.Offset = append(a.Offset, rapid.Int64Range(-4, 4).Draw(t, "offset"))
	}
	return a
}

// drawRead draws the image of a read, and the cells that it has.
func drawRead(t *rapid.T, rank int) (images.Image, map[string]bool) {
	loops := drawLoops(t)
	k := &schedule.Kernel{Operands: []schedule.Operand{{Access: drawAccess(t, rank, loops.Rank())}}}
	for i := range loops.Start {
		k.Loops = append(k.Loops, schedule.Loop{Start: loops.Start[i], End: loops.End[i]})
	}
	u := newUse(k, 0, 0, false, loops, nil)
	if u.Err != nil || u.Never {
		t.Fatalf("%v: %v", loops, u.Err)
	}
	return u.Image(k), cellsOf(k.Operands[0].Access, loops)
}

func cellsOf(a zspace.AffineMap, loops zspace.Range) map[string]bool {
	cells := map[string]bool{}
	for p := range loops.Points() {
		cell, err := a.Apply(p)
		if err != nil {
			panic(err)
		}
		cells[cell.String()] = true
	}
	return cells
}

func TestImagesMeetWhereCellsDo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rank := rapid.IntRange(0, 2).Draw(t, "rank")
		a, inA := drawRead(t, rank)
		b, inB := drawRead(t, rank)
		cell, found, decided := a.Meet(b)
		if !decided {
			t.Fatalf("not decided: %+v and %+v", a, b)
		}
		shared := false
		for c := range inA {
			shared = shared || inB[c]
		}
		if found != shared || found && (!inA[cell.String()] || !inB[cell.String()]) {
			t.Fatalf("meet says %v, %v; they share a cell: %v", cell, found, shared)
		}
	})
}

func TestImagesAreWhatAccessesReach(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, cells := drawRead(t, rapid.IntRange(0, 2).Draw(t, "rank"))
		inside := 0
		for p := range m.Hull.Points() {
			switch in := cells[p.String()]; {
			case in:
				inside++
			case m.Dense:
				t.Fatalf("a dense image lacks %v", p)
			}
			if m.Holds(p) != cells[p.String()] {
				t.Fatalf("holds(%v) is %v", p, m.Holds(p))
			}
		}
		if inside != len(cells) {
			t.Fatalf("the hull %v has %d of %d cells", m.Hull, inside, len(cells))
		}
	})
}

func TestCoverAgreesWithCounting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		box := drawLoops(t)
		var list []images.Image
		written := map[string]bool{}
		for range rapid.IntRange(0, 4).Draw(t, "writers") {
			loops := drawLoops(t)
			k := &schedule.Kernel{Operands: []schedule.Operand{{Access: drawAccess(t, box.Rank(), loops.Rank())}}}
			cells := cellsOf(k.Operands[0].Access, loops)
			n, _ := loops.Size()
			fresh := len(cells) == int(n)
			for c := range cells {
				fresh = fresh && !written[c]
			}
			if !fresh { // writers are injective and share no cells
				continue
			}
			for c := range cells {
				written[c] = true
			}
			list = append(list, Use{Write: true, Loops: loops, Hull: hullOf(t, k, loops)}.Image(k))
		}
		all := true
		for p := range box.Points() {
			all = all && written[p.String()]
		}
		v, rest := images.Cover(box, list)
		if v == images.Undecided || (v == images.Covered) != all {
			t.Fatalf("cover says %v, %v; covered: %v", v, rest, all)
		}
		if v == images.Uncovered && rest.Rank() == box.Rank() {
			for p := range rest.Points() {
				if written[p.String()] || !box.ContainsPoint(p) {
					t.Fatalf("the witness %v has %v", rest, p)
				}
			}
		}
	})
}

func hullOf(t *rapid.T, k *schedule.Kernel, loops zspace.Range) zspace.Range {
	lo, hi, err := k.Operands[0].Access.Hull(loops)
	if err != nil {
		t.Fatal(err)
	}
	for i := range hi {
		hi[i]++
	}
	return zspace.Range{Start: lo, End: hi}
}

func TestBoxIndexFindsAllOverlaps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rank := rapid.IntRange(0, 3).Draw(t, "rank")
		draw := func(what string) zspace.Range {
			r := zspace.MustShape()
			for range rank {
				at := rapid.Int64Range(-9, 9).Draw(t, what)
				r.Start, r.End = append(r.Start, at), append(r.End, at+rapid.Int64Range(0, 6).Draw(t, "extent"))
			}
			return r
		}
		boxes := make([]zspace.Range, rapid.IntRange(0, 60).Draw(t, "boxes"))
		for i := range boxes {
			boxes[i] = draw("box")
		}
		q := draw("query")
		var want []int
		for i, r := range boxes {
			if r.Overlaps(q) {
				want = append(want, i)
			}
		}
		if got := zspace.NewIndex(boxes).Query(q); !slices.Equal(got, want) {
			t.Fatalf("query(%v) = %v, want %v", q, got, want)
		}
	})
}

// loads records the cells that a value loads at the points where it is computed.
type loads struct {
	k     *schedule.Kernel
	point zspace.Point
	cells map[string]bool
}

func (l *loads) Load(ref int) scalar.Value {
	cell, err := l.k.Operands[ref].Access.Apply(l.point)
	if err != nil {
		panic(err)
	}
	l.cells[cell.String()] = true
	return scalar.FloatValue(scalar.Float32, 1)
}

func (l *loads) Local(ref int) scalar.Value { return l.k.Statements[ref].Value.Eval(l) }
func (l *loads) Loop(ref int) int64         { return l.point[ref] }
func (l *loads) Over(over []int, f func()) {
	if len(over) == 0 {
		f()
		return
	}
	for x := l.k.Loops[over[0]].Start; x < l.k.Loops[over[0]].End; x++ {
		l.point[over[0]] = x
		l.Over(over[1:], f)
	}
}

// drawCondition draws a boolean value over two loops.
func drawCondition(t *rapid.T, depth int) *scalar.Expr {
	if depth > 0 {
		switch rapid.IntRange(0, 3).Draw(t, "kind") {
		case 0:
			return scalar.Must(scalar.And, drawCondition(t, depth-1), drawCondition(t, depth-1))
		case 1:
			return scalar.Must(scalar.Or, drawCondition(t, depth-1), drawCondition(t, depth-1))
		case 2:
			return scalar.Must(scalar.Not, drawCondition(t, depth-1))
		}
	}
	op := rapid.SampledFrom([]scalar.Op{scalar.Lt, scalar.Le, scalar.Gt, scalar.Ge, scalar.Eq, scalar.Ne}).Draw(t, "op")
	return scalar.Must(op, drawSum(t), drawSum(t))
}

// drawSum draws an affine sum of two loops.
func drawSum(t *rapid.T) *scalar.Expr {
	number := func(what string) *scalar.Expr {
		return scalar.Number(rapid.Int64Range(-3, 5).Draw(t, what))
	}
	i := scalar.Must(scalar.Mul, number("factor"), scalar.NewLoop(0))
	j := scalar.Must(scalar.Mul, scalar.NewLoop(1), number("factor"))
	return scalar.Must(scalar.Sub, scalar.Must(scalar.Add, i, number("constant")), j)
}

func TestGuardedReadsStayInTheirHull(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := &schedule.Kernel{Loops: []schedule.Loop{{End: 5}, {End: 4}}, Operands: []schedule.Operand{
			{Name: "A", DType: "float32", Access: drawAccess(t, 1, 2)}, {Name: "B", DType: "float32", Access: drawAccess(t, 1, 2)}}}
		value := scalar.Must(scalar.Where, drawCondition(t, 2), scalar.NewLoad(0, scalar.Float32), scalar.NewLoad(1, scalar.Float32))
		k.Statements = []schedule.Statement{{Over: []int64{0}, Store: -1, Value: scalar.NewReduce(scalar.Add, []int{1}, value)}}
		for o := range k.Operands {
			l := &loads{k: k, point: zspace.Point{0, 0}, cells: map[string]bool{}}
			only := value.Map(func(e *scalar.Expr) *scalar.Expr {
				if e.Op == scalar.Load && e.Ref != o {
					return scalar.NewConst(scalar.FloatValue(scalar.Float32, 0))
				}
				return e
			})
			l.Over([]int{0, 1}, func() { only.Eval(l) })
			checkHull(t, Of(k), o, l.cells)
		}
	})
}

// TestGuardedWindowsThroughASplitStayInside reads a row as a grid: each coordinate of the grid is that of a window that may stand
// partly outside, where nothing is read. Every cell that is read is in the row, so the hull is too.
func TestGuardedWindowsThroughASplitStayInside(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := &schedule.Kernel{Operands: []schedule.Operand{{Name: "A", DType: "float32", Access: zspace.AffineMap{Projection: zspace.Matrix{nil}, Offset: zspace.Point{0}}}}}
		access, size := &k.Operands[0].Access, int64(1)
		condition := scalar.NewConst(scalar.BoolValue(true))
		var factors []int64
		for d := range rapid.IntRange(1, 3).Draw(t, "dimensions") {
			extent := rapid.Int64Range(1, 4).Draw(t, "extent")
			stride, dilation, pad := rapid.Int64Range(1, 3).Draw(t, "stride"), rapid.Int64Range(1, 2).Draw(t, "dilation"), rapid.Int64Range(0, 3).Draw(t, "pad")
			k.Loops = append(k.Loops, schedule.Loop{End: rapid.Int64Range(1, 3).Draw(t, "places")}, schedule.Loop{End: rapid.Int64Range(1, 3).Draw(t, "window")})
			at := scalar.Must(scalar.Add, scalar.Must(scalar.Mul, scalar.NewLoop(2*d), scalar.Number(stride)), scalar.Must(scalar.Mul, scalar.NewLoop(2*d+1), scalar.Number(dilation)))
			at = scalar.Must(scalar.Sub, at, scalar.Number(pad))
			condition = scalar.Must(scalar.And, condition, scalar.Must(scalar.And, scalar.Must(scalar.Ge, at, scalar.Number(0)), scalar.Must(scalar.Lt, at, scalar.Number(extent))))
			for i := range factors {
				factors[i] *= extent
			}
			factors = append(factors, stride, dilation)
			access.Offset[0], size = access.Offset[0]*extent-pad, size*extent
		}
		access.Projection[0] = factors
		value := scalar.Must(scalar.Where, condition, scalar.NewLoad(0, scalar.Float32), scalar.NewConst(scalar.FloatValue(scalar.Float32, 0)))
		k.Statements = []schedule.Statement{{Store: -1, Value: value}}
		var all []int
		for i := range k.Loops {
			k.Statements[0].Over, all = append(k.Statements[0].Over, int64(i)), append(all, i)
		}
		l := &loads{k: k, point: make(zspace.Point, len(k.Loops)), cells: map[string]bool{}}
		l.Over(all, func() { value.Eval(l) })
		uses := Of(k)
		checkHull(t, uses, 0, l.cells)
		row := zspace.Range{Start: zspace.Point{0}, End: zspace.Point{size}}
		if u := uses[0]; len(l.cells) > 0 && (u.Never || !row.Contains(u.Hull)) {
			t.Fatalf("hull %v of a row of %d through %v", u.Hull, size, *access)
		}
	})
}

// checkHull checks that the cells that are really loaded lie in the hull of the operand's use.
func checkHull(t *rapid.T, uses []Use, operand int, cells map[string]bool) {
	for _, u := range uses {
		if u.Operand != operand {
			continue
		}
		if u.Never && len(cells) > 0 {
			t.Fatalf("a use that never happens loads %v", cells)
		}
		inside := 0
		if !u.Never {
			for p := range u.Hull.Points() {
				if cells[p.String()] {
					inside++
				}
			}
		}
		if inside != len(cells) {
			t.Fatalf("hull %v has %d of %v", u.Hull, inside, cells)
		}
	}
}
