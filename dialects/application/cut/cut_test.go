package cut

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tensortapestry.org/tapc/ir/zspace"
	"tensortapestry.org/tapc/ir/zspace/tiling"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]Cut{
		"2":             Grid(2),
		"2x1":           Grid(2, 1),
		"by16x3+5":      {[]Level{{Parts: []Part{{Size: 16}, {Sizes: []int64{3, 5}}}}}},
		"m:2,k:by3":     {[]Level{{Names: []string{"m", "k"}, Parts: []Part{{Count: 2}, {Size: 3}}}}},
		"2/by3":         {[]Level{{Parts: []Part{{Count: 2}}}, {Parts: []Part{{Size: 3}}}}},
		"[0:2][2:5]/3":  {[]Level{{Boxes: []zspace.Range{box(t, "[0:2]"), box(t, "[2:5]")}}, {Parts: []Part{{Count: 3}}}}},
		"[-1:2, 0:4]":   {[]Level{{Boxes: []zspace.Range{box(t, "[-1:2, 0:4]")}}}},
		"1048576":       Grid(1 << 20),
		"1024x1024":     Grid(1024, 1024),
		" 2 x 1 / m:2 ": {[]Level{{Parts: []Part{{Count: 2}, {Count: 1}}}, {Names: []string{"m"}, Parts: []Part{{Count: 2}}}}},
	} {
		got, err := Parse(text)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", text, err, diff)
		}
		again, err := Parse(got.String())
		if diff := cmp.Diff(want, again); err != nil || diff != "" {
			t.Errorf("%s, written as %s: %v\n%s", text, got, err, diff)
		}
	}
	for text, message := range map[string]string{
		"": "a level says nothing", "2/": "a level says nothing", "2x": "not a number of parts", "0": "1 or more", "-1": "1 or more", "1.5": "not a number",
		"by0": "1 or more", "by": "not a number", "3+": "not a number", "3+0": "1 or more", "m:": "not a number", ":2": "not a dimension",
		"m:2,m:3": "m is there twice", "m:2,3": "not a dimension", "[0:2": "not a box", "[2:0]": "not a box", "[0:2]x": "not a box",
		"2/[0:2]": "first level", "1048577": "more than 1048576", "1024x1025": "more than 1048576", "1024/1025": "more than 1048576",
		"9223372036854775807": "more than 1048576", "9223372036854775808": "64 bits", "2x9223372036854775807x3": "more than 1048576",
	} {
		if got, err := Parse(text); err == nil || !strings.Contains(err.Error(), message) {
			t.Errorf("%q: %v, %v; expected %s", text, got, err, message)
		}
	}
}

func box(t testing.TB, text string) zspace.Range {
	t.Helper()
	r, err := zspace.ParseRange(text)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestBlocks(t *testing.T) {
	s := Space{Index: box(t, "[0:5, -2:2]"), Names: []string{"m", "n"}, Others: map[string]string{"k": "it is reduced"}}
	for text, want := range map[string]string{
		"2x1":                   "[0:3, -2:2][3:5, -2:2]",
		"by2x1":                 "[0:2, -2:2][2:4, -2:2][4:5, -2:2]",
		"1+4x1":                 "[0:1, -2:2][1:5, -2:2]",
		"n:2":                   "[0:5, -2:0][0:5, 0:2]",
		"d1:2":                  "[0:5, -2:0][0:5, 0:2]",
		"2x1/2x1":               "[0:2, -2:2][2:3, -2:2][3:4, -2:2][4:5, -2:2]",
		"2x1/n:2":               "[0:3, -2:0][0:3, 0:2][3:5, -2:0][3:5, 0:2]",
		"[0:5, 0:2][0:5, -2:0]": "[0:5, 0:2][0:5, -2:0]",
		"by9x9":                 "!TAP0802: at most 4 parts",
		"6x1":                   "!TAP0802: at most 5 parts",
		"2x1/3x1":               "!TAP0802: at most 2 parts", // the second block has two rows
		"2":                     "!TAP0801: 2 counts",
		"1+5x1":                 "!TAP0824: sum is 5",
		"9223372036854775807+9223372036854775807x1": "!TAP0824: sum is 5",
		"2x1/1+2x1":             "!TAP0824: sum is 2",
		"q:2":                   "!TAP0822: m, n",
		"k:2":                   "!TAP0823: m, n",
		"[0:5][5:6]":            "!TAP0801: boxes inside",
		"[0:5, -2:1]":           "!TAP0821: zr[0:5, 1:2]",
		"[0:5, -2:1][0:5, 0:2]": "!TAP0821: share zr[0:5, 0:1]",
	} {
		c, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		blocks, err := c.Blocks(s)
		got := ""
		for _, b := range blocks {
			got += b.Text()
		}
		var m *Misfit
		if errors.As(err, &m) {
			code, about, _ := strings.Cut(want, ": ")
			if code != "!"+m.Code || !strings.Contains(m.Expected+m.Found, about) {
				t.Errorf("%s: %s, expected %s", text, m, want)
			}
		} else if err != nil || got != want {
			t.Errorf("%s: %s, %v; expected %s", text, got, err, want)
		}
	}
	wide := Space{Index: box(t, "[0:4194304]")}
	if _, err := (Cut{[]Level{{Parts: []Part{{Size: 1}}}}}).Blocks(wide); err == nil || !strings.Contains(err.Error(), "more than 1048576") {
		t.Error(err)
	}
	if blocks, err := (Cut{[]Level{{Parts: []Part{{Size: 4}}}}}).Blocks(wide); err != nil || len(blocks) != MaxBlocks {
		t.Error(len(blocks), err) // near miss: just as many as may be
	}
}

// Blocks of random cuts tile their index, and a cut that is written and read again gives the same.
func TestBlocksTile(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rnd := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 7))
		var s Space
		for d := range 1 + rnd.IntN(3) {
			at := rnd.Int64N(9) - 4
			s.Index.Start, s.Index.End = append(s.Index.Start, at), append(s.Index.End, at+rnd.Int64N(9))
			s.Names = append(s.Names, fmt.Sprintf("n%d", d))
		}
		c := Random(rnd, s)
		blocks, err := c.Blocks(s)
		if err != nil {
			t.Fatalf("%s of %v: %v", c, s.Index, err)
		}
		if fault, err := tiling.Check(s.Index, blocks); err != nil || fault != nil {
			t.Fatalf("%s of %v: %v, %v", c, s.Index, fault, err)
		}
		again, err := Parse(c.String())
		if diff := cmp.Diff(c, again); err != nil || diff != "" {
			t.Fatalf("%s: %v\n%s", c, err, diff)
		}
	})
}
