package zspace_test

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tensortapestry.org/tapc/ir/zspace"
	"tensortapestry.org/tapc/ir/zspace/zspacetest"
)

func TestParseRange(t *testing.T) {
	for text, want := range map[string]string{
		"zr[0:2, -1:3]":           "zr[0:2, -1:3]",
		"[0:2,-1:3]":              "zr[0:2, -1:3]",
		"  zr [ 0 : 2 ,\t- 1:3 ]": "zr[0:2, -1:3]",
		"zr[]":                    "zr[]",
		"[ ]":                     "zr[]",
		"[-9223372036854775808:-9223372036854775808]": "zr[-9223372036854775808:-9223372036854775808]",
		"[0:4294967303]": "zr[0:4294967303]", // beyond 32 bits
	} {
		if got, err := zspace.ParseRange(text); err != nil || got.String() != want {
			t.Errorf("%q: %v, %v; want %s", text, got, err, want)
		}
	}
}

func TestParseRangeErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                               `at byte 0: expected "[", found end of text`,
		"zr":                             `at byte 2: expected "[", found end of text`,
		"zr(0:2)":                        `at byte 2: expected "[", found "(0:2)"`,
		"[0:2":                           `at byte 4: expected "," or "]", found end of text`,
		"[0:2,]":                         `at byte 5: expected an integer, found "]"`,
		"[0]":                            `at byte 2: expected ":", found "]"`,
		"[0:x]":                          `at byte 3: expected an integer, found "x]"`,
		"[0:1.5]":                        `at byte 4: expected "," or "]", found ".5]"`,
		"[0:+1]":                         `at byte 3: expected an integer, found "+1]"`,
		"[0:2] 7":                        `at byte 6: expected end of text, found "7"`,
		"[0:2]]":                         `at byte 5: expected end of text, found "]"`,
		"[0:9223372036854775808]":        `at byte 3: expected a number of 64 bits, found "9223372036854775"`,
		"[-9223372036854775809:0]":       `at byte 2: expected a number of 64 bits, found "9223372036854775"`,
		"[0:99999999999999999999999999]": `at byte 3: expected a number of 64 bits, found "9999999999999999"`,
		"[5:0]":                          `dimension 0: start 5 is beyond end 0`,
	} {
		if got, err := zspace.ParseRange(text); err == nil || err.Error() != want {
			t.Errorf("%q: %v, %v\nwant %s", text, got, err, want)
		}
	}
	_, err := zspace.ParseRange("[0:9223372036854775808]")
	if e := new(zspace.ParseError); !errors.As(err, &e) || e.Offset != 3 || !errors.Is(err, zspace.ErrOverflow) {
		t.Errorf("a number beyond 64 bits: %v", err)
	}
}

func TestParseProjectionMap(t *testing.T) {
	for text, want := range map[string]string{
		"(d0, d1) -> [d0 + 10, 2*d1] + [1, 5]": "(d0, d1) -> [d0 + 10, 2*d1] + [1, 5]",
		"(d0,d1)->[10+d0,d1+d1]+[1,5]":         "(d0, d1) -> [d0 + 10, 2*d1] + [1, 5]",
		"(d0) -> [-d0 - 3, - 2 * d0] + [0, 1]": "(d0) -> [-d0 - 3, -2*d0] + [0, 1]",
		"(d0) -> [d0 - -3 + -d0] + [1]":        "(d0) -> [3] + [1]",
		"(d0, d1) -> [0] + [1]":                "(d0, d1) -> [0] + [1]",
		"() -> [3, -4] + [1, 2]":               "() -> [3, -4] + [1, 2]",
		"() -> [] + []":                        "() -> [] + []",
		"(d0) -> [] + []":                      "() -> [] + []",
		"(d0) -> [-9223372036854775808*d0 - 9223372036854775808] + [9223372036854775807]": "(d0) -> [-9223372036854775808*d0 - 9223372036854775808] + [9223372036854775807]",
	} {
		got, err := zspace.ParseProjectionMap(text)
		if err != nil || got.String() != want {
			t.Errorf("%q: %v, %v; want %s", text, got, err, want)
		}
	}
	a, err := zspace.ParseAffineMap("(d0, d1) -> (d0 + 10, 2*d1)")
	if err != nil || a.String() != "(d0, d1) -> (d0 + 10, 2*d1)" {
		t.Errorf("%v, %v", a, err)
	}
}

func TestParseProjectionMapErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                                        `at byte 0: expected "(", found end of text`,
		"(x) -> [x] + [1]":                        `at byte 1: expected dimension d0, found "x) -> [x] + [1]"`,
		"(d1) -> [d1] + [1]":                      `at byte 1: expected dimension d0, found "d1) -> [d1] + [1"`,
		"(d0, d0) -> [d0] + [1]":                  `at byte 5: expected dimension d1, found "d0) -> [d0] + [1"`,
		"(d00) -> [d0] + [1]":                     `at byte 1: expected dimension d0, found "d00) -> [d0] + ["`,
		"(d0) -> (d0) + [1]":                      `at byte 8: expected "[", found "(d0) + [1]"`,
		"(d0) -> [d1] + [1]":                      `at byte 9: expected a dimension below d1, found "d1] + [1]"`,
		"(d0) -> [2*3] + [1]":                     `at byte 11: expected a dimension below d1, found "3] + [1]"`,
		"(d0) -> [d0*2] + [1]":                    `at byte 11: expected "," or "]", found "*2] + [1]"`,
		"(d0) -> [d0 +] + [1]":                    `at byte 13: expected an integer, found "] + [1]"`,
		"(d0) -> [] + [1]":                        `shape: expected 0 dimensions, found 1`,
		"(d0) -> [d0] + [-1]":                     `shape: dimension 0 is -1, expected 0 or more`,
		"(d0) -> [d0]":                            `at byte 12: expected "+", found end of text`,
		"(d0) -> [9223372036854775807 + 1] + [1]": `at byte 31: expected a sum of 64 bits, found "1] + [1]"`,
	} {
		if got, err := zspace.ParseProjectionMap(text); err == nil || err.Error() != want {
			t.Errorf("%q: %v, %v\nwant %s", text, got, err, want)
		}
	}
}

// A text that is short for the matrix that it asks for is refused before the
// matrix is made.
func TestParseBoundsAllocation(t *testing.T) {
	var dims []string
	for i := range 20_000 {
		dims = append(dims, "d"+itoa(i))
	}
	text := "(" + strings.Join(dims, ",") + ")->(" + strings.Repeat("0,", 20_000) + "0)"
	_, err := zspace.ParseAffineMap(text)
	if e := new(zspace.ParseError); !errors.As(err, &e) || !strings.Contains(e.Want, "matrix entries") {
		t.Errorf("20,000 rows of 20,000 columns: %v", err)
	}
}

func itoa(i int) string { return strings.Trim(zspace.Point{int64(i)}.String(), "[]") }

// What is printed parses back to the same value, ends of the space included.
func TestTextRoundTrip(t *testing.T) { rapid.Check(t, checkRoundTrip) }

func checkRoundTrip(t *rapid.T) {
	number := rapid.OneOf(rapid.Int64(), rapid.Int64Range(-2, 2))
	rows, cols := rapid.IntRange(0, 4).Draw(t, "rows"), rapid.IntRange(0, 12).Draw(t, "cols")
	m := make(zspace.Matrix, rows)
	for k := range m {
		m[k] = rapid.SliceOfN(number, cols, cols).Draw(t, "row")
	}
	off := rapid.SliceOfN(number, rows, rows).Draw(t, "offset")
	shape := rapid.SliceOfN(rapid.Int64Min(0), rows, rows).Draw(t, "shape")
	a := must(zspace.NewAffineMap(m, off))
	p := must(zspace.NewProjectionMap(a, shape))
	if got, err := zspace.ParseAffineMap(a.String()); err != nil || !got.Equal(a) {
		t.Fatalf("%v: %v, %v", a, got, err)
	}
	if got, err := zspace.ParseProjectionMap(p.String()); err != nil || !got.Equal(p) {
		t.Fatalf("%v: %v, %v", p, got, err)
	}
	r := zspacetest.Range(t, cols, "range")
	for _, text := range []string{r.String(), r.Text()} {
		if got, err := zspace.ParseRange(text); err != nil || !got.Equal(r) {
			t.Fatalf("%s: %v, %v", text, got, err)
		}
	}
}

func TestInvalidMapsPrint(t *testing.T) {
	bad := zspace.ProjectionMap{AffineMap: zspace.AffineMap{Projection: zspace.Matrix{{1, 2}, {3}}}}
	if got := bad.String(); got != "invalid projection: matrix row 1 has 1 entries, expected 2 as in row 0" {
		t.Error(got)
	}
	if got := bad.AffineMap.String(); !strings.HasPrefix(got, "invalid map: ") {
		t.Error(got)
	}
}
