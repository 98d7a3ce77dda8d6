package ere

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestFind(t *testing.T) {
	tests := []struct {
		pattern, text string
		flags         Flags
		want          []int
	}{
		{pattern: "a|ab|abc", text: "xabcd", want: []int{1, 4}},
		{pattern: "(a|ab)(c|bcd)(d*)", text: "abcd", want: []int{0, 4, 0, 2, 2, 3, 3, 4}},
		{pattern: "(a*)(ab)*", text: "aab", want: []int{0, 3, 0, 1, 1, 3}},
		{pattern: "x(a|b)*", text: "xabab", want: []int{0, 5, 4, 5}},
		{pattern: "(a?)(a{2,3})b", text: "aaab", want: []int{0, 4, 0, 1, 1, 3}},
		{pattern: "(r[0-9]+), \\1", text: "op r12, r1, r1", want: []int{8, 14, 8, 10}},
		{pattern: "(a*)\\1", text: "aaaaa", want: []int{0, 4, 0, 2}},
		{pattern: "^b$", text: "a\nb\nc", flags: Newline, want: []int{2, 3}},
		{pattern: "^b$", text: "a\nb\nc", want: nil},
		{pattern: "^a.b$", text: "a\nb", want: []int{0, 3}},
		{pattern: "a.c", text: "a\nc abc", flags: Newline, want: []int{4, 7}},
		{pattern: "a[^x]c", text: "a\nc", flags: Newline, want: nil},
		{pattern: "a[[:space:]]c", text: "a\nc", flags: Newline, want: []int{0, 3}},
		{pattern: "HeLLo[x-z]", text: "hEllOY", flags: FoldCase, want: []int{0, 6}},
		{pattern: "[[:<:]]b+[[:>:]]", text: "abb bb", want: []int{4, 6}},
		{pattern: "()|x", text: "x", want: []int{0, 1, -1, -1}},
		{pattern: "a{0}b", text: "ab", want: []int{1, 2}},
		{pattern: "[]a]+[^]b]", text: "]a]c", want: []int{0, 4}},
		{pattern: "[[.hyphen.]-/]+", text: "a-./b", want: []int{1, 4}},
		{pattern: "{a}", text: "{a}", want: []int{0, 3}},
		{pattern: "\\d", text: "5d", want: []int{1, 2}},
	}
	for _, test := range tests {
		t.Run(test.pattern, func(t *testing.T) {
			re, err := Compile(test.pattern, test.flags)
			if err != nil {
				t.Fatal(err)
			}
			got, err := re.Find(test.text)
			if diff := cmp.Diff(test.want, got); diff != "" || err != nil {
				t.Errorf("Find(%q) error %v, difference (-want +got):\n%s", test.text, err, diff)
			}
		})
	}
}

func TestSyntaxErrors(t *testing.T) {
	tests := map[string]string{
		"":                       "empty (sub)expression",
		"a|":                     "empty (sub)expression",
		"(|a)":                   "empty (sub)expression",
		"(a":                     "parentheses not balanced",
		"a)":                     "parentheses not balanced",
		"[a":                     "brackets ([ ]) not balanced",
		"[[:foo:]]":              "invalid character class",
		"[z-a]":                  "invalid character range",
		"[a-c-e]":                "invalid character range",
		"[[.xy.]]":               "invalid collating element",
		"*a":                     "repetition-operator operand invalid",
		"a*?":                    "repetition-operator operand invalid",
		"^*":                     "repetition-operator operand invalid",
		"a{1":                    "braces not balanced",
		"a{2,1}":                 "invalid repetition count(s)",
		"a{1000}":                "invalid repetition count(s)",
		"a{1x}":                  "invalid repetition count(s)",
		"a\\":                    "trailing backslash (\\)",
		"(a\\1)":                 "invalid backreference number",
		"\\1(a)":                 "invalid backreference number",
		"(((a{255}){255}){255})": "regular expression too large",
	}
	for pattern, want := range tests {
		var syntax *SyntaxError
		_, err := Compile(pattern, 0)
		if !errors.As(err, &syntax) || syntax.Msg != want {
			t.Errorf("Compile(%q) = %v, want %q", pattern, err, want)
		}
	}
}

func TestEscapeMatchesItself(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOfN(rapid.RuneFrom([]rune(`ab()^$|*+?.[]\{} `)), 1, 20, -1).Draw(t, "text")
		re, err := Compile(Escape(text), 0)
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := re.Find("zz" + text + "zz"); cmp.Diff([]int{2, 2 + len(text)}, got) != "" {
			t.Fatalf("Find = %v", got)
		}
	})
}

// pattern draws an expression without back-references that both engines accept.
func pattern(depth int) *rapid.Generator[string] {
	atoms := rapid.SampledFrom([]string{"a", "b", "c", ".", "[ab]", "[^a]", "[[:space:]]", "^", "$", "()", "\\."})
	if depth == 0 {
		return atoms
	}
	return rapid.Custom(func(t *rapid.T) string {
		sub := pattern(depth - 1)
		switch rapid.IntRange(0, 4).Draw(t, "shape") {
		case 0:
			return sub.Draw(t, "left") + sub.Draw(t, "right")
		case 1:
			return "(" + sub.Draw(t, "left") + "|" + sub.Draw(t, "right") + ")"
		case 2:
			ops := rapid.SampledFrom([]string{"*", "+", "?", "{2}", "{0,2}", "{1,3}", "{2,}"})
			return "(" + sub.Draw(t, "body") + ")" + ops.Draw(t, "op")
		case 3:
			return "(" + sub.Draw(t, "body") + ")"
		}
		return atoms.Draw(t, "atom")
	})
}

var subject = rapid.StringOfN(rapid.RuneFrom([]rune("aabbc.\n")), 0, 24, -1)

func TestAgreesWithGoPOSIX(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		expr, text := pattern(3).Draw(t, "pattern"), subject.Draw(t, "text")
		re, err := Compile(expr, Newline)
		if err != nil {
			t.Fatalf("Compile(%q): %v", expr, err)
		}
		got, err := re.Find(text)
		if err != nil {
			t.Fatal(err)
		}
		want := regexp.MustCompilePOSIX(expr).FindStringIndex(text)
		if len(got) > 0 {
			checkGroups(t, got)
			got = got[:2]
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%q on %q (-want +got):\n%s", expr, text, diff)
		}
	})
}

// checkGroups fails unless every group is unset or lies within the match.
func checkGroups(t *rapid.T, caps []int) {
	for i := 2; i < len(caps); i += 2 {
		lo, hi := caps[i], caps[i+1]
		unset := lo == -1 && hi == -1
		if !unset && (lo < caps[0] || hi < lo || hi > caps[1]) {
			t.Fatalf("group %d is [%d,%d) in match [%d,%d)", i/2, lo, hi, caps[0], caps[1])
		}
	}
}

// The backtracker must find the same match as the simulation on patterns that both can run.
func TestBacktrackerAgreesWithSimulation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		expr, text := pattern(3).Draw(t, "pattern"), subject.Draw(t, "text")
		re, err := Compile(expr, Newline)
		if err != nil {
			t.Fatal(err)
		}
		want, _ := re.Find(text)
		got, err := re.backtrack(text)
		if err != nil {
			t.Fatal(err)
		}
		if len(want) > 0 && len(got) > 0 {
			want, got = want[:2], got[:2]
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%q on %q (-simulation +backtracker):\n%s", expr, text, diff)
		}
	})
}

func TestBudget(t *testing.T) {
	re, err := Compile(`((a*)*b?)*(c*)\1\2\3x`, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := re.Find(strings.Repeat("a", 3000)); !errors.Is(err, ErrBudget) {
		t.Errorf("Find = %v, want ErrBudget", err)
	}
}

func FuzzFind(f *testing.F) {
	for _, seed := range []string{"(a|b)*\\1", "[[:alpha:]-z]{2,3}", "^(.*)$", "((((a?)?)?)?)", "[[.a.]-[.z.]]"} {
		f.Add(seed, "abab\nzz")
	}
	f.Fuzz(func(t *testing.T, expr, text string) {
		if len(expr) > 200 || len(text) > 2000 {
			return
		}
		for _, flags := range []Flags{0, Newline, Newline | FoldCase} {
			re, err := Compile(expr, flags)
			if err != nil {
				continue
			}
			caps, err := re.Find(text)
			if err == nil && caps != nil && (len(caps) != 2*re.Groups()+2 || caps[0] < 0 || caps[1] > len(text)) {
				t.Fatalf("captures %v for %d groups", caps, re.Groups())
			}
		}
	})
}
