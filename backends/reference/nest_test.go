package reference

import (
	"context"
	"math"
	"testing"

	"pgregory.net/rapid"

	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/zspace"
)

// points evaluates expressions as their definition says, without code: the environment of scalar.Expr.Eval.
type points struct {
	views []view
	box   zspace.Range
	point []int64
}

func (p *points) Load(ref int) scalar.Value {
	v := p.views[ref]
	at := v.base
	for l, s := range v.steps {
		at += s * p.point[l]
	}
	size := v.typ.Size()
	return scalar.Decode(v.typ, v.data[int(at)*size:])
}
func (p *points) Local(int) scalar.Value { panic("no locals") }
func (p *points) Loop(ref int) int64     { return p.point[ref] }
func (p *points) Over(loops []int, f func()) {
	if len(loops) == 0 {
		f()
		return
	}
	old := p.point[loops[0]]
	for x := p.box.Start[loops[0]]; x < p.box.End[loops[0]]; x++ {
		p.point[loops[0]] = x
		p.Over(loops[1:], f)
	}
	p.point[loops[0]] = old
}

// drawValue draws a value of a type, special ones often.
func drawValue(t *rapid.T, d scalar.DType) scalar.Value {
	if d.IsFloat() || d.IsComplex() {
		pick := func() float64 {
			if rapid.Bool().Draw(t, "special") {
				return rapid.SampledFrom([]float64{0, math.Copysign(0, -1), 1, -1, math.Inf(1), math.Inf(-1), math.NaN(), 0.5, 3, 1e10}).Draw(t, "f")
			}
			return rapid.Float64Range(-10, 10).Draw(t, "f")
		}
		v := scalar.FloatValue(d, pick())
		if d.IsComplex() {
			v.Im = scalar.FloatValue(d.Part(), pick()).F
		}
		return v
	}
	if d == scalar.Bool {
		return scalar.BoolValue(rapid.Bool().Draw(t, "b"))
	}
	return scalar.IntValue(d, rapid.SampledFrom([]int64{0, 1, -1, 2, 7, -128, 127, math.MinInt64, math.MaxInt64, 100}).Draw(t, "i"))
}

// drawExpr draws an expression of a type over two operands of every type (numbers 2·type and 2·type+1) and three loops, of
// which some run already.
func drawExpr(t *rapid.T, d scalar.DType, depth int, free []int) *scalar.Expr {
	leaf := func() *scalar.Expr {
		if d == scalar.Int64 && rapid.Bool().Draw(t, "loop") {
			return scalar.NewLoop(rapid.IntRange(0, 2).Draw(t, "ref"))
		}
		if rapid.Bool().Draw(t, "const") {
			return scalar.NewConst(drawValue(t, d))
		}
		return scalar.NewLoad(2*int(d)+rapid.IntRange(0, 1).Draw(t, "ref"), d)
	}
	if depth == 0 {
		return leaf()
	}
	sub := func(d scalar.DType) *scalar.Expr { return drawExpr(t, d, depth-1, free) }
	switch kind := rapid.IntRange(0, 7).Draw(t, "kind"); {
	case kind == 0:
		return leaf()
	case kind == 1:
		e, _ := scalar.New(scalar.Where, sub(scalar.Bool), sub(d), sub(d))
		return e
	case kind == 2:
		return scalar.NewCast(d, sub(rapid.SampledFrom(scalar.DTypes()).Draw(t, "from")))
	case kind <= 4 && len(free) > 0:
		loop, rest := free[0], free[1:]
		body := drawExpr(t, d, depth-1, rest)
		monoid := rapid.SampledFrom([]scalar.Op{scalar.Add, scalar.Mul, scalar.Min, scalar.Max, scalar.And, scalar.Or, scalar.At}).Draw(t, "monoid")
		if monoid == scalar.At {
			return scalar.NewAt(loop, drawExpr(t, scalar.Int64, depth-1, rest), body)
		}
		if _, err := scalar.New(monoid, body, body); err != nil {
			return body
		}
		return scalar.NewReduce(monoid, []int{loop}, body)
	}
	if rapid.IntRange(0, 9).Draw(t, "bits") == 0 {
		from := rapid.SampledFrom(scalar.DTypes()).Draw(t, "as wide")
		if e, err := scalar.NewBitcast(d, sub(from)); err == nil {
			return e
		}
	}
	for range 20 {
		op := scalar.Op(rapid.IntRange(int(scalar.Neg), int(scalar.Ge)).Draw(t, "op"))
		from := d
		if op >= scalar.Eq && d == scalar.Bool || rapid.IntRange(0, 9).Draw(t, "other type") == 0 {
			from = rapid.SampledFrom(scalar.DTypes()).Draw(t, "from")
		}
		args := make([]*scalar.Expr, op.Arity())
		for i := range args {
			args[i] = sub(from)
		}
		if e, err := scalar.New(op, args...); err == nil && e.Type == d {
			return e
		}
	}
	return leaf()
}

// Code gives the values that the definition of expressions gives, bit by bit.
func TestCodeMeansWhatExpressionsMean(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		box := zspace.Range{Start: zspace.Point{0, -1, 2}, End: zspace.Point{2, 2, 5}}
		var views []view
		for _, d := range append([]scalar.DType{scalar.Invalid}, scalar.DTypes()...) {
			for range 2 {
				v := view{typ: d, base: 3, steps: []int64{rapid.Int64Range(-1, 2).Draw(t, "step"), 2, 1}}
				if d != scalar.Invalid {
					v.data = make([]byte, 16*d.Size())
					for i := range 16 {
						drawValue(t, d).Encode(v.data[i*d.Size():])
					}
				}
				views = append(views, v)
			}
		}
		d := rapid.SampledFrom(scalar.DTypes()).Draw(t, "type")
		e := drawExpr(t, d, rapid.IntRange(1, 4).Draw(t, "depth"), []int{1, 2})
		p := &points{views: views, box: box, point: append([]int64(nil), box.Start...)}
		n := &nest{ctx: context.Background(), box: box, views: views}
		if err := n.start(); err != nil {
			t.Fatal(err)
		}
		got, want := n.compile(e).value(d)(), e.Eval(p)
		if !got.Same(want) && n.fault == nil {
			t.Fatalf("code gives %v, the definition %v", got, want)
		}
		if n.fault != nil {
			t.Fatal(n.fault)
		}
	})
}

// BenchmarkMatmul reports the time of a multiplication and addition.
func BenchmarkMatmul(b *testing.B) {
	const m = 64
	box := zspace.MustShape(m, m, m)
	data := func() []byte { return make([]byte, m*m*4) }
	e, _ := scalar.New(scalar.Mul, scalar.NewLoad(0, scalar.Float32), scalar.NewLoad(1, scalar.Float32))
	n := &nest{ctx: context.Background(), box: box, views: []view{
		{scalar.Float32, data(), 0, []int64{m, 0, 1}}, {scalar.Float32, data(), 0, []int64{0, 1, m}}, {scalar.Float32, data(), 0, []int64{m, 1, 0}}},
		steps: []step{{[]int{0, 1}, 2, scalar.NewReduce(scalar.Add, []int{2}, e)}}}
	for b.Loop() {
		if err := n.run(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(m*m*m), "ns/op-element")
}

// Where there are many local values, steps run together point by point along the loops that they share, and hold those of a point.
func TestSharedLoops(t *testing.T) {
	const rows, columns = 600, 2000
	x, y := make([]byte, 4*rows*columns), make([]byte, 4*rows*columns)
	for i := range rows * columns {
		scalar.IntValue(scalar.Int32, int64(i%101-i%7)).Encode(x[4*i:])
	}
	less, err := scalar.New(scalar.Sub, scalar.NewLocal(0, scalar.Int32), scalar.NewLocal(1, scalar.Int32))
	if err != nil {
		t.Fatal(err)
	}
	whole := func(data []byte) view { return view{typ: scalar.Int32, data: data, steps: []int64{columns, 1}} }
	n := nest{ctx: context.Background(), box: zspace.Range{Start: zspace.Point{0, 0}, End: zspace.Point{rows, columns}},
		views: []view{whole(x), whole(y)},
		steps: []step{{[]int{0, 1}, -1, scalar.NewLoad(0, scalar.Int32)},
			{[]int{0}, -1, scalar.NewReduce(scalar.Max, []int{1}, scalar.NewLocal(0, scalar.Int32))}, {[]int{0, 1}, 1, less}}}
	if err := n.run(); err != nil {
		t.Fatal(err)
	}
	if len(n.shared) != 1 || n.shared[0] != 0 || len(n.locals[0].i) != columns {
		t.Errorf("loops %v are shared, and %d values held; expected the first, and %d", n.shared, len(n.locals[0].i), columns)
	}
	for r := range rows {
		top := int64(-1 << 40)
		for c := range columns {
			top = max(top, int64((r*columns+c)%101-(r*columns+c)%7))
		}
		for c := range columns {
			i := r*columns + c
			if got, want := scalar.Decode(scalar.Int32, y[4*i:]).I, int64(i%101-i%7)-top; got != want {
				t.Fatalf("row %d, column %d: expected %d, found %d", r, c, want, got)
			}
		}
	}
}
