package scalar

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestDTypeNames(t *testing.T) {
	for _, d := range DTypes() {
		got, err := ParseDType(d.String())
		if err != nil || got != d {
			t.Errorf("%v: %v %v", d, got, err)
		}
	}
	if _, err := ParseDType("Float32"); err == nil {
		t.Error("names are exact")
	}
}

// Every code of the small float formats reads back as itself, but for the payload of NaN.
func TestSmallFloats(t *testing.T) {
	for d, f := range formats {
		for code := range 1 << d.Bits() {
			v := f.decode(uint16(code))
			if back := f.encode(v); back != uint16(code) && !math.IsNaN(v) {
				t.Fatalf("%v: code %#x is %v, which is code %#x", d, code, v, back)
			}
			if want := uint16(code)&f.Sign() | f.NaN; math.IsNaN(v) && f.encode(v) != want {
				t.Fatalf("%v: the NaN with code %#x becomes code %#x, want %#x", d, code, f.encode(v), want)
			}
		}
	}
}

// What each format has at its edges. Source: the tables of the specifications that formats names.
func TestFormats(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, c := range []struct {
		d                           DType
		least, most, over, ofNaN    float64
		ofNegativeZero, ofNegative2 float64
	}{
		{Float16, 0x1p-24, 65504, inf, nan, math.Copysign(0, -1), -2},
		{BFloat16, 0x1p-133, 0x1.fep127, inf, nan, math.Copysign(0, -1), -2},
		{Float8E5M2, 0x1p-16, 57344, inf, nan, math.Copysign(0, -1), -2},
		{Float8E4M3, 0x1p-9, 448, nan, nan, math.Copysign(0, -1), -2},
		{Float8E4M3FNUZ, 0x1p-10, 240, nan, nan, 0, -2},
		{Float8E5M2FNUZ, 0x1p-17, 57344, nan, nan, 0, -2},
		{Float8E8M0, 0x1p-127, 0x1p127, nan, nan, nan, nan},
		{Float6E2M3, 0.125, 7.5, 7.5, math.Copysign(0, -1), math.Copysign(0, -1), -2},
		{Float6E3M2, 0.0625, 28, 28, math.Copysign(0, -1), math.Copysign(0, -1), -2},
		{Float4E2M1, 0.5, 6, 6, math.Copysign(0, -1), math.Copysign(0, -1), -2},
	} {
		least := inf
		for _, v := range NarrowValues(c.d) {
			if v > 0 {
				least = min(least, v)
			}
		}
		round := Rounding(c.d)
		_, most := c.d.Limits()
		for i, pair := range [][2]float64{{least, c.least}, {most, c.most}, {round(1e39), c.over}, {round(inf), c.over}, {round(nan), c.ofNaN},
			{round(math.Copysign(0, -1)), c.ofNegativeZero}, {round(-2), c.ofNegative2}} {
			if !sameFloat(pair[0], pair[1]) {
				t.Errorf("%v, number %d: %v, want %v", c.d, i, pair[0], pair[1])
			}
		}
		if lo, hi := Lowest(c.d), Highest(c.d); !lo.Same(FloatValue(c.d, lo.F)) || !hi.Same(FloatValue(c.d, hi.F)) {
			t.Errorf("%v: %v and %v are not values of it", c.d, lo, hi)
		}
	}
}

// Bits read as another type and back are what they were.
func TestBitcast(t *testing.T) {
	for _, a := range DTypes() {
		for _, b := range DTypes() {
			if a.Bits() != b.Bits() || a.Bits() > 16 || a == Bool || b == Bool {
				continue
			}
			for code := range 1 << a.Bits() {
				v := Decode(a, []byte{byte(code), byte(code >> 8)})
				there := Apply(Bitcast, b, v)
				if back := Apply(Bitcast, a, there); !back.Same(v) && !math.IsNaN(there.F) {
					t.Fatalf("%v as %v is %v, and back %v", v, b, there, back)
				}
			}
		}
	}
	for _, c := range []struct{ v, want Value }{
		{FloatValue(Float32, 1), IntValue(Int32, 0x3f800000)},
		{FloatValue(Float64, -2.5), IntValue(Int64, -4610560118520545280)},
		{IntValue(UInt64, 2<<32|1), Value{DType: Complex64, F: 0x1p-149, Im: 0x1p-148}},
		{BoolValue(true), IntValue(UInt8, 1)},
		{IntValue(Int4, -1), FloatValue(Float4E2M1, -6)},
	} {
		if got := Apply(Bitcast, c.want.DType, c.v); !got.Same(c.want) {
			t.Errorf("%v as %v is %v, want %v", c.v, c.want.DType, got, c.want)
		}
	}
	if e, err := NewBitcast(Int32, NewLoad(0, Float64)); err == nil {
		t.Errorf("64 bits read as 32: %v", e)
	}
}

// narrow lists the float types of at most 16 bits.
func narrow() []DType {
	return slices.DeleteFunc(DTypes(), func(d DType) bool { _, ok := d.Format(); return !ok })
}

// Rounding is to the nearest value, with ties to the even code; checked against neighbours.
func TestRoundingIsNearest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := rapid.SampledFrom(narrow()).Draw(t, "dtype")
		ff := formats[d]
		code := uint16(rapid.IntRange(0, int(ff.Last)-1).Draw(t, "code"))
		lo, hi := ff.decode(code), ff.decode(code+1)
		part := rapid.Float64Range(0, 1).Draw(t, "part")
		x := lo + (hi-lo)*part
		want := code
		if mid := lo + (hi-lo)/2; x > mid || x == mid && (code%2 == 1 || ff.Unsigned) {
			want = code + 1
		}
		if got := ff.encode(x); got != want {
			t.Fatalf("%v: %v between %v and %v is code %#x, want %#x", d, x, lo, hi, got, want)
		}
	})
}

// Rounding without codes agrees with rounding through them, for values of every size.
func TestRoundingAgreesWithCodes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := rapid.SampledFrom(narrow()).Draw(t, "dtype")
		ff := formats[d]
		x := rapid.Float64().Draw(t, "x")
		if rapid.Bool().Draw(t, "near the format") {
			x = math.Ldexp(rapid.Float64Range(-2, 2).Draw(t, "mantissa"), rapid.IntRange(-160, 130).Draw(t, "exponent"))
		}
		if rapid.Bool().Draw(t, "a tie") {
			code := uint16(rapid.IntRange(0, int(ff.Last)-1).Draw(t, "code"))
			x = (ff.decode(code) + ff.decode(code+1)) / 2
		}
		want := ff.decode(ff.encode(x))
		if got := Rounding(d)(x); !sameFloat(got, want) {
			t.Fatalf("%v: %v rounds to %v, want %v", d, x, got, want)
		}
	})
}

func TestStoredForm(t *testing.T) {
	values := []Value{IntValue(Int8, -1), IntValue(UInt8, 200), IntValue(Int16, -30000), IntValue(UInt64, -1), IntValue(Int4, -8),
		FloatValue(Float16, 1.5), FloatValue(Float32, math.Pi), FloatValue(Float64, math.Copysign(0, -1)), BoolValue(true),
		{DType: Complex64, F: 1, Im: -2}, {DType: Complex128, F: 1, Im: -2}}
	for _, v := range values {
		b := make([]byte, v.DType.Size())
		v.Encode(b)
		if got := Decode(v.DType, b); !got.Same(v) {
			t.Errorf("%v reads back as %v", v, got)
		}
	}
}

func TestOperators(t *testing.T) {
	i8, i32, u8, f32 := Int8, Int32, UInt8, Float32
	cases := []struct {
		op         Op
		a, b, want Value
	}{
		{Add, IntValue(i8, 127), IntValue(i8, 1), IntValue(i8, -128)},
		{Mul, IntValue(i32, 1<<30), IntValue(i32, 4), IntValue(i32, 0)},
		{Div, IntValue(i32, -7), IntValue(i32, 2), IntValue(i32, -3)},
		{Div, IntValue(i32, 7), IntValue(i32, 0), IntValue(i32, 0)},
		{Div, IntValue(i8, -128), IntValue(i8, -1), IntValue(i8, -128)},
		{Rem, IntValue(i32, -7), IntValue(i32, 2), IntValue(i32, -1)},
		{Mod, IntValue(i32, -7), IntValue(i32, 2), IntValue(i32, 1)},
		{Mod, FloatValue(f32, -7), FloatValue(f32, 2), FloatValue(f32, 1)},
		{Pow, IntValue(i32, 3), IntValue(i32, 4), IntValue(i32, 81)},
		{Pow, IntValue(i32, 2), IntValue(i32, -1), IntValue(i32, 0)},
		{Shl, IntValue(i8, 1), IntValue(i8, 8), IntValue(i8, 0)},
		{Shr, IntValue(i8, -128), IntValue(i8, 100), IntValue(i8, -1)},
		{Shr, IntValue(u8, 128), IntValue(u8, 7), IntValue(u8, 1)},
		{Max, FloatValue(f32, math.NaN()), FloatValue(f32, 1), FloatValue(f32, math.NaN())},
		{Max, FloatValue(f32, 1), FloatValue(f32, math.NaN()), FloatValue(f32, math.NaN())},
		{Lt, IntValue(u8, 200), IntValue(u8, 100), BoolValue(false)},
		{Lt, FloatValue(f32, math.NaN()), FloatValue(f32, 1), BoolValue(false)},
		{Ne, FloatValue(f32, math.NaN()), FloatValue(f32, math.NaN()), BoolValue(true)},
	}
	for _, c := range cases {
		if got := Apply(c.op, Invalid, c.a, c.b); !got.Same(c.want) {
			t.Errorf("%v %v %v = %v, want %v", c.a, c.op, c.b, got, c.want)
		}
	}
}

func TestUnaryOperators(t *testing.T) {
	c := func(re, im float64) Value { return Value{DType: Complex64, F: re, Im: im} }
	f := func(x float64) Value { return FloatValue(Float32, x) }
	inf, nan := math.Inf(1), math.NaN()
	cases := []struct {
		op      Op
		a, want Value
	}{
		{Abs, IntValue(Int8, -128), IntValue(Int8, -128)},
		{Abs, IntValue(UInt8, 200), IntValue(UInt8, 200)},
		{Sign, IntValue(UInt64, -1), IntValue(UInt64, 1)},
		{Sign, IntValue(Int16, -300), IntValue(Int16, -1)},
		{Sign, f(math.Copysign(0, -1)), f(math.Copysign(0, -1))},
		{Not, IntValue(UInt4, 5), IntValue(UInt4, 10)},
		{Not, BoolValue(true), BoolValue(false)},
		{Popcount, IntValue(Int8, -1), IntValue(Int8, 8)},
		{Popcount, IntValue(UInt64, -1), IntValue(UInt64, 64)},
		{Clz, IntValue(Int16, 1), IntValue(Int16, 15)},
		{Clz, IntValue(Int32, 0), IntValue(Int32, 32)},
		{Clz, IntValue(Int8, -1), IntValue(Int8, 0)},
		{IsInf, f(-inf), BoolValue(true)},
		{IsInf, c(0, inf), BoolValue(true)},
		{IsInf, f(nan), BoolValue(false)},
		{IsNaN, c(0, nan), BoolValue(true)},
		{IsNaN, IntValue(Int8, 3), BoolValue(false)},
		{Round, f(2.5), f(2)},
		{Expm1, f(1e-10), f(1e-10)},
		{Log2, f(8), f(3)},
		{Cbrt, f(-27), f(-3)},
		{Rsqrt, f(0.25), f(2)},
		{Abs, c(3, -4), f(5)},
		{Real, c(3, -4), f(3)},
		{Imag, c(3, -4), f(-4)},
		{Conj, c(3, -4), c(3, 4)},
		{Sqrt, c(-4, 0), c(0, 2)},
		{Exp, c(0, 0), c(1, 0)},
		{Tanh, c(100, 1), c(1, 0)},
	}
	for _, x := range cases {
		if got := Apply(x.op, Invalid, x.a); !got.Same(x.want) {
			t.Errorf("%v of %v = %v, want %v", x.op, x.a, got, x.want)
		}
	}
	got := Apply(Div, Invalid, c(1, 2), c(3, -4))
	if want := c(float64(float32(-0.2)), float64(float32(0.4))); !got.Same(want) {
		t.Errorf("(1+2i) / (3-4i) = %v, want %v", got, want)
	}
	if got := Apply(Complex, Invalid, f(1), f(2)); !got.Same(c(1, 2)) {
		t.Errorf("complex(1, 2) = %v", got)
	}
}

// Powers are compared with exact ones of small integers, and with themselves taken apart.
func TestPow(t *testing.T) {
	for base := 2; base < 40; base++ {
		exact := new(big.Int).SetInt64(1)
		for e := 1; e < 180; e++ {
			exact.Mul(exact, big.NewInt(int64(base)))
			want, _ := new(big.Float).SetInt(exact).Float64()
			if got := pow(float64(base), float64(e)); math.Abs(got-want) > want*0x1p-52 {
				t.Fatalf("%d to the %d is %v, want %v", base, e, got, want)
			}
			if got := pow(float64(base), -float64(e)); math.Abs(got*want-1) > 0x1p-51 {
				t.Fatalf("%d to the -%d is %v, want 1/%v", base, e, got, want)
			}
		}
	}
	for _, x := range []float64{0, math.Copysign(0, -1), 1, -1, 2.5, -2.5, 1e-300, math.Inf(1), math.Inf(-1), math.NaN(), 5e-324} {
		for _, y := range []float64{0, 1, -1, 2, 3, 0.5, -0.5, 1e20, -1e20, 1e300, math.Inf(1), math.Inf(-1), math.NaN(), 4} {
			got, want := pow(x, y), math.Pow(x, y)
			if !sameFloat(got, want) && !(math.Abs(got-want) <= math.Abs(want)*1e-14) {
				t.Errorf("%v to the %v is %v, want %v", x, y, got, want)
			}
		}
	}
}

// Every operator is defined on every type that its rule admits, and gives a value of the type that New infers.
func TestOperatorsAreTotal(t *testing.T) {
	for op := Neg; op < Where; op++ {
		for _, d := range DTypes() {
			args := []*Expr{NewConst(one(d)), NewConst(one(d))}[:op.Arity()]
			if d == Bool {
				args = []*Expr{NewConst(BoolValue(true)), NewConst(BoolValue(true))}[:op.Arity()]
			}
			e, err := New(op, args...)
			if err != nil {
				continue
			}
			if v := e.Fold(); v.Op != Const || v.Type != e.Type || v.Value.DType != e.Type {
				t.Errorf("%v on %v: %v, want a value of %v", op, d, v.Value, e.Type)
			}
		}
	}
}

// What an exact operator makes of numbers of float32 is the same in float32 and in float64; what others make differs for some of them.
func TestClasses(t *testing.T) {
	numbers := []float64{0.7, 1.3, 3, -0.7, 0.1, 17}
	for op := Neg; op < Eq; op++ {
		if op == Rem { // the remainder of two floats needs no rounding, but takes what a division does
			continue
		}
		differs := false
		for _, a := range numbers {
			for _, b := range numbers {
				var got [2]Value
				for i, d := range []DType{Float32, Float64} {
					args := []*Expr{NewConst(FloatValue(d, float64(float32(a)))), NewConst(FloatValue(d, float64(float32(b))))}
					if e, err := New(op, args[:op.Arity()]...); err == nil && e.Type == d {
						got[i] = e.Fold().Value
					}
				}
				differs = differs || !sameFloat(got[0].F, got[1].F)
			}
		}
		if exact := op.Class() == Exact; exact == differs {
			t.Errorf("%v: exact by its class: %v; rounded: %v", op, exact, differs)
		}
	}
}

// A comparison that Fold decides holds, or fails, for every pair of numbers.
func TestFoldOfComparisons(t *testing.T) {
	decided := 0
	for _, d := range DTypes() {
		for _, from := range DTypes() {
			if !d.IsInt() || !(from.IsInt() || from == Bool) {
				continue
			}
			numbers := []Value{Lowest(from), Zero(from), IntValue(from, 1), IntValue(from, 7), Highest(from)}
			left := NewCast(d, NewLoad(0, from))
			for _, bound := range []Value{Lowest(d), Zero(d), IntValue(d, -1), IntValue(d, 1), IntValue(d, 7), IntValue(d, 128), IntValue(d, 255), Highest(d)} {
				for op := Lt; op <= Ge; op++ {
					for _, swap := range []bool{false, true} {
						compare := func(x *Expr) *Expr {
							args := []*Expr{x, NewConst(bound)}
							if swap {
								slices.Reverse(args)
							}
							e, err := New(op, args...)
							if err != nil {
								t.Fatal(err)
							}
							return e.Fold()
						}
						e := compare(left)
						if e.Op != Const {
							continue
						}
						decided++
						for _, x := range numbers {
							if from == Bool {
								x = BoolValue(x.I != 0)
							}
							if got := compare(NewConst(Convert(x, d))); !got.Value.Same(e.Value) {
								t.Fatalf("%v of %v as %v and %v (swapped: %v) is decided as %v, found %v for %v", op, from, d, bound, swap, e.Value, got.Value, x)
							}
						}
					}
				}
			}
		}
	}
	if decided < 1000 {
		t.Errorf("%d comparisons are decided, expected many more", decided)
	}
	open, err := New(Lt, NewLoad(0, Int8), NewConst(IntValue(Int8, 0)))
	if e := open.Fold(); err != nil || e.Op == Const {
		t.Errorf("a comparison of a signed number with 0 is decided: %v, %v", e, err)
	}
}

func TestFoldOfLogic(t *testing.T) {
	x := NewLoad(0, Bool)
	for _, c := range []struct {
		op    Op
		value bool
		same  bool // the other side is left
	}{{And, true, true}, {And, false, false}, {Or, false, true}, {Or, true, false}} {
		constant := NewConst(BoolValue(c.value))
		for _, args := range [][]*Expr{{x, constant}, {constant, x}} {
			e, err := New(c.op, args...)
			if err != nil {
				t.Fatal(err)
			}
			if got := e.Fold(); got != x && c.same || got != constant && !c.same {
				t.Errorf("%v of %v and %v is %v", c.op, args[0].Op, args[1].Op, got.Op)
			}
		}
	}
	if e, _ := New(Xor, x, NewConst(BoolValue(true))); e.Fold() != e {
		t.Error("xor is folded as if it were and")
	}
}

func TestConvert(t *testing.T) {
	cases := []struct{ v, want Value }{
		{FloatValue(Float32, 300), IntValue(Int8, 127)},
		{FloatValue(Float32, -1.9), IntValue(Int8, -1)},
		{FloatValue(Float64, math.NaN()), IntValue(Int64, 0)},
		{FloatValue(Float64, -5), IntValue(UInt32, 0)},
		{FloatValue(Float64, 1e30), IntValue(Int64, math.MaxInt64)},
		{IntValue(Int32, 300), IntValue(UInt8, 44)},
		{IntValue(Int32, 2), BoolValue(true)},
		{IntValue(UInt64, -1), FloatValue(Float64, 1<<64)},
		{IntValue(Int64, 1<<24+1), FloatValue(Float32, 1<<24)},
	}
	for _, c := range cases {
		if got := Convert(c.v, c.want.DType); !got.Same(c.want) {
			t.Errorf("%v to %v = %v, want %v", c.v, c.want.DType, got, c.want)
		}
	}
}

type testScope struct{}

func (testScope) Lookup(name string) (*Expr, bool) {
	switch name {
	case "x", "y":
		return NewLoad(int(name[0]-'x'), Float32), true
	case "n":
		return NewLoad(2, Int64), true
	case "k", "j":
		return NewLoop(int('k' - name[0])), true
	}
	return nil, false
}

func (testScope) Axes(name string) ([]int, bool) {
	i := slices.Index([]string{"k", "j"}, name)
	return []int{i}, i >= 0
}
func (testScope) OperandName(ref int) string { return []string{"x", "y", "n"}[ref] }
func (testScope) LocalName(int) string       { return "local" }
func (testScope) LoopName(ref int) string    { return []string{"k", "j"}[ref] }

func TestParse(t *testing.T) {
	cases := map[string]string{
		"x + y * 2":                        "x + y * float32(2)",
		"(x + y) * x - -1":                 "(x + y) * x - float32(-1)",
		"sum(k) x * y + x":                 "sum(k) (x * y) + x",
		"(sum(k) x) * y":                   "(sum(k) (x)) * y",
		"max(x, y)":                        "max(x, y)",
		"max(k) x":                         "max(k) (x)",
		"sum(k, j) (x + y)":                "sum(k, j) (x + y)",
		"where(x < 0, 0, x)":               "where(x < float32(0), float32(0), x)",
		"int64(x) + n % 3":                 "int64(x) + n % int64(3)",
		"int64(-9223372036854775808) + n":  "int64(-9223372036854775808) + n",
		"float32(inf) * x":                 "float32(inf) * x",
		"neg(x) / rsqrt(y)":                "neg(x) / rsqrt(y)",
		"x - (y - x)":                      "x - (y - x)",
		"at(k, n - 1, x * y) + x":          "at(k, n - int64(1), x * y) + x",
		"x + float32(bitcast(n, float64))": "x + float32(bitcast(n, float64))",
		"bitcast(x * y, int32)":            "bitcast(x * y, int32)",
		"at(k, 2, sum(j) x)":               "at(k, int64(2), sum(j) (x))",
		"float32(x) + y":                   "x + y",
		"where(2 > 1, x, y)":               "where(float64(2) > float64(1), x, y)",
	}
	for text, want := range cases {
		e, err := Parse(text, testScope{})
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := e.Format(testScope{}); got != want {
			t.Errorf("%s: printed %s, want %s", text, got, want)
		}
		back, err := Parse(e.Format(testScope{}), testScope{})
		if err != nil || !back.Equal(e) {
			t.Errorf("%s: reads back as %v, %v", text, back, err)
		}
	}
}

func TestParseErrors(t *testing.T) {
	cases := map[string]string{
		"":                             "expected an expression",
		"x +":                          "column 4: expected an expression, found the end",
		"x y":                          `unexpected "y"`,
		"x + n":                        "add mixes float32 and int64",
		"foo(x)":                       `unknown function "foo"`,
		"z":                            `unknown name "z"`,
		"exp(n)":                       "exp is not defined on int64",
		"max(x)":                       "takes 2 arguments",
		"at(x, 1, y)":                  `at takes a loop, not "x"`,
		"at(k, x, y)":                  "the index of at: expected int64, found float32",
		"at(k, 1)":                     `expected ","`,
		"bitcast(x, int64)":            "float32 and int64 are not as wide as each other",
		"bitcast(x, y)":                `bitcast takes an element type, not "y"`,
		"bitcast(x)":                   `expected ","`,
		"erf(complex64(1, 2))":         "erf is not defined on complex64",
		"1.5 + n":                      "1.5 is not a value of int64",
		"(x":                           `expected ")"`,
		strings.Repeat("(", 300) + "x": "nested deeper",
	}
	for text, want := range cases {
		if _, err := Parse(text, testScope{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
}

// What can be no expression is refused with its place, and what its names may make one passes.
func TestSyntax(t *testing.T) {
	for text, want := range map[string]string{
		"x + y * -2": "", "sum(k) a * b + c": "", "max(k) (x)": "", "max(a, b)": "", "f(x, g())": "", "at(k, n - 1, x)": "", "where(x, 0, inf)": "",
		"int64(-5)": "", "min(j, k) where(x, y, 1e-5)": "", "a & !b": `column 5: expected an expression, found "!"`,
		"x +":                    "column 4: expected an expression, found the end",
		"(x + y":                 `column 7: expected ")", found ""`,
		"x + y)":                 `column 6: expected an operator or the end, found ")"`,
		"x y":                    `column 3: expected an operator or the end, found "y"`,
		"where(x)":               "column 9: where takes 3 arguments, found 1",
		"exp()":                  "column 6: exp takes 1 arguments, found 0",
		"f(x, y":                 `column 7: expected ")", found ""`,
		"sum(k)":                 "", // a call of the scope's, perhaps
		"sum(k) + x":             "",
		"1.2.3 * x":              `column 1: "1.2.3" is not a number`,
		"x \u00d7 y":             `column 3: expected an operator or the end, found "×"`,
		strings.Repeat("(", 300): "column 201: nested deeper than 200",
	} {
		err := Syntax(text)
		if got := fmt.Sprint(err); err == nil && want != "" || err != nil && got != want {
			t.Errorf("%.40q: found %v, expected %q", text, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"x + y * 2", "sum(k) x * y", "where(x < 0, 0, x)", "int64(-5)", "max(k) (x)", "complex64(1, 2)", "at(k, n, x)", "bitcast(x, int32)"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		e, err := Parse(s, testScope{})
		if wrong := Syntax(s); wrong != nil && err == nil {
			t.Fatalf("%q is read, and is no expression: %v", s, wrong)
		}
		if err != nil || e.Type == Invalid {
			return
		}
		text := e.Format(testScope{})
		back, err := Parse(text, testScope{})
		if err != nil || !back.Equal(e) {
			t.Fatalf("%q printed as %q reads back as %v, %v", s, text, back, err)
		}
	})
}
