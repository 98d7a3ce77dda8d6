package zspace_test

import (
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tensortapestry.org/tapc/ir/zspace"
)

func TestCompare(t *testing.T) {
	for _, c := range []struct {
		p, q zspace.Point
		want zspace.Order
	}{
		{zspace.Point{0, 3}, zspace.Point{1, 3}, zspace.Less},
		{zspace.Point{1, 3}, zspace.Point{0, 3}, zspace.Greater},
		{zspace.Point{0, 5}, zspace.Point{5, 0}, zspace.Incomparable},
		{zspace.Point{2, 2}, zspace.Point{2, 2}, zspace.Equal},
		{zspace.Point{}, zspace.Point{}, zspace.Equal},
		{nil, zspace.Point{}, zspace.Equal},
		{zspace.Point{math.MinInt64}, zspace.Point{math.MaxInt64}, zspace.Less},
	} {
		got, err := zspace.Compare(c.p, c.q)
		if err != nil || got != c.want {
			t.Errorf("Compare(%v, %v) = %v, %v; want %v", c.p, c.q, got, err, c.want)
		}
	}
	_, err := zspace.Compare(zspace.Point{1}, zspace.Point{1, 2})
	if e := new(zspace.RankError); !errors.As(err, &e) || e.Want != 1 || e.Got != 2 {
		t.Errorf("Compare of different lengths: %v", err)
	}
}

func TestOrderString(t *testing.T) {
	for o, want := range map[zspace.Order]string{
		zspace.Equal: "equal", zspace.Less: "less", zspace.Greater: "greater",
		zspace.Incomparable: "incomparable", 9: "Order(9)",
	} {
		if o.String() != want {
			t.Errorf("%d: %q, want %q", int(o), o, want)
		}
	}
}

func TestPointArithmetic(t *testing.T) {
	p, q := zspace.Point{1, -2}, zspace.Point{10, 20}
	if diff := cmp.Diff(zspace.Point{11, 18}, must(p.Add(q))); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(zspace.Point{-9, -22}, must(p.Sub(q))); diff != "" {
		t.Error(diff)
	}
	// A single coordinate is not broadcast.
	if got, err := p.Add(zspace.Point{5}); err == nil {
		t.Errorf("[1, -2] + [5] = %v, want an error", got)
	}
	if got := (zspace.Point{1, 2}).String() + (zspace.Point{}).String(); got != "[1, 2][]" {
		t.Error(got)
	}
}

func TestPointOverflow(t *testing.T) {
	top, bottom := zspace.Point{math.MaxInt64}, zspace.Point{math.MinInt64}
	one, zero := zspace.Point{1}, zspace.Point{0}
	for name, err := range map[string]error{
		"max + 1":   second(top.Add(one)),
		"min - 1":   second(bottom.Sub(one)),
		"0 - min":   second(zero.Sub(bottom)),
		"min + min": second(bottom.Add(bottom)),
		"max - min": second(top.Sub(bottom)),
	} {
		if !errors.Is(err, zspace.ErrOverflow) {
			t.Errorf("%s: %v, want overflow", name, err)
		}
	}
	if got := must(top.Add(bottom)); got[0] != -1 {
		t.Errorf("max + min = %v", got)
	}
	if got := must(zspace.Point{-1}.Sub(bottom)); got[0] != math.MaxInt64 {
		t.Errorf("-1 - min = %v", got)
	}
}

func second[T any](_ T, err error) error { return err }

func TestPointAddSubInverse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := zspace.Point(rapid.SliceOf(rapid.Int64()).Draw(t, "p"))
		q := zspace.Point(rapid.SliceOfN(rapid.Int64(), len(p), len(p)).Draw(t, "q"))
		sum, err := p.Add(q)
		if err != nil {
			return // judged against unbounded arithmetic elsewhere
		}
		if back := must(sum.Sub(q)); !back.Equal(p) {
			t.Fatalf("(%v + %v) - %v = %v", p, q, q, back)
		}
	})
}

func TestCloneIsSeparate(t *testing.T) {
	p := zspace.Point{1, 2}
	c := p.Clone()
	c[0] = 9
	if p[0] != 1 || zspace.Point(nil).Clone() == nil {
		t.Error("Clone shares memory or is nil")
	}
	r := zspace.MustShape(2, 3)
	d := r.Clone()
	d.Start[0], d.End[0] = 7, 8
	if r.String() != "zr[0:2, 0:3]" {
		t.Errorf("Clone of a range shares memory: %v", r)
	}
}
