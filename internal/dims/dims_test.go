package dims

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"tensortapestry.org/tapc/ir/diag"
)

func TestSplit(t *testing.T) {
	one, several, err := Split([]string{"n=8", "batch=32,1,8", "x:0=2..4", "y=1,3..5", "odd"})
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(one, []string{"n=8", "odd"}) {
		t.Error(one)
	}
	want := []Dim{{"batch", []int64{1, 8, 32}}, {"x:0", []int64{2, 3, 4}}, {"y", []int64{1, 3, 4, 5}}}
	if !reflect.DeepEqual(several, want) {
		t.Error(several)
	}
}

func TestSplitRefuses(t *testing.T) {
	for _, c := range []struct{ flags, says string }{
		{"n=5..2", "found 5..2"},
		{"n=0..", `found ""`},
		{"n=..5", `found ""`},
		{"n=1...5", `found ".5"`},
		{"n=1,", `found ""`},
		{"n=-1,2", `found "-1"`},
		{"n=+1,2", `found "+1"`},
		{"n=1.5", `found "1.5"`},
		{"n=1,1", "1 is there twice"},
		{"n=1..3,2", "2 is there twice"},
		{"n=0..9223372036854775806", "at most 65536 sizes"},
		{"n=1..9223372036854775807", "found"},
		{"n=1..99999999999999999999", "found"},
		{"n=1,2 n=3,4", "given twice"},
		{"n=1,2 n=3", "given twice"},
	} {
		_, _, err := Split(strings.Fields(c.flags))
		if err == nil || !strings.Contains(err.Error(), c.says) || diag.ExitStatus(err) != diag.ExitUsage {
			t.Errorf("%s: %v", c.flags, err)
		}
	}
}

func TestCombinations(t *testing.T) {
	_, several, err := Split([]string{"a=1,2", "b=3..5"})
	if err != nil {
		t.Fatal(err)
	}
	all, err := Combinations(several, 6)
	if want := [][]int64{{1, 3}, {1, 4}, {1, 5}, {2, 3}, {2, 4}, {2, 5}}; err != nil || !reflect.DeepEqual(all, want) {
		t.Errorf("%v, %v", all, err)
	}
	if _, err := Combinations(several, 5); err == nil || !strings.Contains(err.Error(), "at most 5 sizes of all dimensions together, as a program has a version for each: a has 2, b has 3") {
		t.Error(err)
	}
}

// FuzzFlags: what --dim says is sizes, or an error of the command line.
func FuzzFlags(f *testing.F) {
	for _, s := range []string{"n=8", "n=1,8,32", "n=0..9,20", "x:0=2", "n=+8", "n=1..", "=", "n=9223372036854775807", "n=1,2\nn=3"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		one, several, err := Split(strings.Split(text, "\n"))
		if err != nil {
			if diag.ExitStatus(err) != diag.ExitUsage {
				t.Error(err)
			}
			return
		}
		for _, d := range several {
			if len(d.Sizes) == 0 || !slices.IsSorted(d.Sizes) || d.Sizes[0] < 0 {
				t.Errorf("%s has the sizes %v", d.Name, d.Sizes)
			}
			if _, again, err := Split([]string{d.Name + "=" + strings.ReplaceAll(Spans(d.Sizes), ", ", ",")}); err == nil && len(again) == 1 && !slices.Equal(again[0].Sizes, d.Sizes) {
				t.Errorf("%s: %v is written as other sizes, %v", d.Name, d.Sizes, again)
			}
		}
		if _, err := Single(one); err != nil && diag.ExitStatus(err) != diag.ExitUsage {
			t.Error(err)
		}
	})
}
