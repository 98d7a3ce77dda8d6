package zspace_test

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tensortapestry.org/tapc/ir/zspace"
	"tensortapestry.org/tapc/ir/zspace/zspacetest"
)

func texts(rs []zspace.Range) []string {
	var out []string
	for _, r := range rs {
		out = append(out, r.Text())
	}
	return out
}

func TestSplitVectors(t *testing.T) {
	for _, c := range []struct {
		r     string
		dim   int
		chunk int64
		want  []string
	}{
		{"[0:3, 0:5]", 1, 2, []string{"[0:3, 0:2]", "[0:3, 2:4]", "[0:3, 4:5]"}},
		{"[0:3, 0:5]", -2, 2, []string{"[0:2, 0:5]", "[2:3, 0:5]"}},
		// counts that quotient plus remainder gets wrong
		{"[0:10]", 0, 4, []string{"[0:4]", "[4:8]", "[8:10]"}},
		{"[0:5]", 0, 3, []string{"[0:3]", "[3:5]"}},
		{"[0:7]", 0, 4, []string{"[0:4]", "[4:7]"}},
		{"[0:7]", 0, 5, []string{"[0:5]", "[5:7]"}},
		{"[0:12]", 0, 5, []string{"[0:5]", "[5:10]", "[10:12]"}},
		{"[-3:3]", 0, 3, []string{"[-3:0]", "[0:3]"}},
		{"[0:5]", 0, 5, []string{"[0:5]"}},
		{"[0:5]", 0, math.MaxInt64, []string{"[0:5]"}},
		{"[7:7]", 0, 1, []string{"[7:7]"}},
	} {
		got, err := rng(t, c.r).Split(c.dim, c.chunk)
		if diff := cmp.Diff(c.want, texts(got)); err != nil || diff != "" {
			t.Errorf("%s dim %d by %d: %v %s", c.r, c.dim, c.chunk, err, diff)
		}
	}
}

func TestSplitRefuses(t *testing.T) {
	r := zspace.MustShape(4, 1<<40)
	asSplit, asDim := new(*zspace.SplitError), new(*zspace.DimError)
	for name, c := range map[string]struct {
		err  error
		want any
	}{
		"chunk 0":            {second(r.Split(0, 0)), asSplit},
		"chunk -1":           {second(r.Split(0, -1)), asSplit},
		"dim 2":              {second(r.Split(2, 1)), asDim},
		"dim -3":             {second(r.Split(-3, 1)), asDim},
		"no dims":            {second(zspace.MustShape().Split(0, 1)), asDim},
		"sizes too few":      {second(r.SplitSizes(0, []int64{1, 2})), asSplit},
		"sizes too many":     {second(r.SplitSizes(0, []int64{3, 2})), asSplit},
		"sizes that wrap":    {second(r.SplitSizes(0, []int64{math.MaxInt64, math.MaxInt64, 6})), asSplit},
		"sizes with 0":       {second(r.SplitSizes(0, []int64{4, 0})), asSplit},
		"sizes with -1":      {second(r.SplitSizes(0, []int64{5, -1})), asSplit},
		"sizes of dim 5":     {second(r.SplitSizes(5, []int64{4})), asDim},
		"count 0":            {second(r.SplitCount(0, 0)), asSplit},
		"count of dim 9":     {second(r.SplitCount(9, 1)), asDim},
		"grid count 0":       {second(r.Grid([]int64{1, 0})), asSplit},
		"grid of other rank": {second(r.Grid([]int64{1})), new(*zspace.RankError)},
	} {
		if !errors.As(c.err, c.want) {
			t.Errorf("%s: %v, want %T", name, c.err, c.want)
		}
	}
	for name, err := range map[string]error{
		"chunks": second(r.Split(1, 1)),
		"count":  second(r.SplitCount(1, 1<<40)),
		"grid":   second(r.Grid([]int64{1 << 32, 1 << 32})),
	} {
		if !errors.Is(err, zspace.ErrTooMany) {
			t.Errorf("%s without bound: %v", name, err)
		}
	}
}

func TestSplitSizesAndCount(t *testing.T) {
	r := rng(t, "[10:20]")
	if diff := cmp.Diff([]string{"[10:11]", "[11:15]", "[15:20]"}, texts(must(r.SplitSizes(0, []int64{1, 4, 5})))); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"[10:13]", "[13:16]", "[16:18]", "[18:20]"}, texts(must(r.SplitCount(-1, 4)))); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"[0:1]", "[1:2]", "[2:2]"}, texts(must(rng(t, "[0:2]").SplitCount(0, 3)))); diff != "" {
		t.Error(diff)
	}
	if got := must(rng(t, "[3:3]").SplitSizes(0, nil)); len(got) != 0 {
		t.Errorf("an empty dimension by no sizes: %v", got)
	}
}

func TestGridOrder(t *testing.T) {
	want := []string{"[0:2, 0:2]", "[0:2, 2:4]", "[2:3, 0:2]", "[2:3, 2:4]"}
	if diff := cmp.Diff(want, texts(must(zspace.MustShape(3, 4).Grid([]int64{2, 2})))); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"[]"}, texts(must(zspace.MustShape().Grid(nil)))); diff != "" {
		t.Error(diff)
	}
}

// A part can be changed without changing its neighbours or the whole.
func TestSplitPartsAreSeparate(t *testing.T) {
	r := zspace.MustShape(4, 4)
	parts := must(r.Grid([]int64{2, 2}))
	_ = append(parts[0].Start, 99)
	parts[0].Start[0], parts[0].End[1] = 77, 88
	if fmt.Sprint(r, parts[1:]) != "zr[0:4, 0:4] [zr[0:2, 2:4] zr[2:4, 0:2] zr[2:4, 2:4]]" {
		t.Errorf("%v %v", r, parts)
	}
}

// Every way to split tiles the range, in ascending order.
func TestSplitsTile(t *testing.T) { rapid.Check(t, checkSplits) }

func checkSplits(t *rapid.T) {
	r := zspacetest.Range(t, rapid.IntRange(1, 3).Draw(t, "rank"), "r")
	dim := rapid.IntRange(-r.Rank(), r.Rank()-1).Draw(t, "dim")
	n := rapid.Int64Range(1, 6).Draw(t, "n")
	d := (dim + r.Rank()) % r.Rank()
	chunks, parts := must(r.Split(dim, n)), must(r.SplitCount(dim, n))
	extent := r.Shape()[d]
	if want := max(1, (extent+n-1)/n); int64(len(chunks)) != want {
		t.Fatalf("%d chunks, want %d", len(chunks), want)
	}
	if int64(len(parts)) != n {
		t.Fatalf("%d parts, want %d", len(parts), n)
	}
	for i, p := range parts {
		if e := p.Shape()[d]; e != extent/n && e != extent/n+1 || i > 0 && e > parts[i-1].Shape()[d] {
			t.Fatalf("part %d has extent %d of %d", i, e, extent)
		}
	}
	counts := make([]int64, r.Rank())
	for i := range counts {
		counts[i] = rapid.Int64Range(1, 3).Draw(t, "count")
	}
	for _, list := range [][]zspace.Range{chunks, parts, must(r.Grid(counts))} {
		if diff := cmp.Diff(zspacetest.Count([]zspace.Range{r}), zspacetest.Count(list)); diff != "" {
			t.Fatalf("%v: %s", list, diff)
		}
	}
}
