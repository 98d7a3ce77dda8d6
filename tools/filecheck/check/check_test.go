package check

import (
	"strings"
	"testing"
)

// checkCase is a check file, an input, and what Run should say of them.
type checkCase struct {
	name          string
	opts          Options
	checks, input string
	status        int
	says          string // substring of the text
}

func TestRun(t *testing.T) {
	full := Rules{FullLines: true}
	cases := []checkCase{
		{"order", Options{}, "CHECK: a\nCHECK: b\n", "a\nb\n", 0, ""},
		{"wrong order", Options{}, "CHECK: b\nCHECK: a\n", "a\nb\n", 1, "c:2:8: error: CHECK: expected string not found"},
		{"next", Options{}, "CHECK: a\nCHECK-NEXT: b\n", "a\nb\n", 0, ""},
		{"next too far", Options{}, "CHECK: a\nCHECK-NEXT: b\n", "a\nx\nb\n", 1, "is not on the line after"},
		{"next on same line", Options{}, "CHECK: a\nCHECK-NEXT: b\n", "a b\n", 1, "is on the same line as"},
		{"same", Options{}, "CHECK: a\nCHECK-SAME: b\n", "a b\n", 0, ""},
		{"same too far", Options{}, "CHECK: a\nCHECK-SAME: b\n", "a\nb\n", 1, "is not on the same line"},
		{"not", Options{}, "CHECK: a\nCHECK-NOT: x\nCHECK: b\n", "a\nb\nx\n", 0, ""},
		{"not found", Options{}, "CHECK: a\nCHECK-NOT: x\nCHECK: b\n", "a\nx\nb\n", 1, "CHECK-NOT: excluded string found"},
		{"trailing not", Options{}, "CHECK: a\nCHECK-NOT: x\n", "a\nb\nx\n", 1, "excluded string found"},
		{"dag", Options{}, "CHECK-DAG: b\nCHECK-DAG: a\nCHECK: c\n", "a\nb\nc\n", 0, ""},
		{"dag overlap", Options{}, "CHECK-DAG: ab\nCHECK-DAG: b\n", "ab\n", 1, "CHECK-DAG: expected string not found"},
		{"dag overlap allowed", Options{Rules: Rules{DagOverlap: true}}, "CHECK-DAG: ab\nCHECK-DAG: b\n", "ab\n", 0, ""},
		{"label", Options{}, "CHECK-LABEL: f\nCHECK: x\nCHECK-LABEL: g\n", "f\ng\nx\n", 1, "CHECK: expected"},
		{"empty", Options{}, "CHECK: a\nCHECK-EMPTY:\nCHECK-NEXT: b\n", "a\n\nb\n", 0, ""},
		{"not empty", Options{}, "CHECK: a\nCHECK-EMPTY:\n", "a\nb\n\n", 1, "CHECK-EMPTY: is not on the line after"},
		{"count", Options{}, "CHECK-COUNT-2: a\nCHECK-NOT: a\n", "a\na\n", 0, ""},
		{"count too few", Options{}, "CHECK-COUNT-3: a\n", "a\na\n", 1, "(3 out of 3)"},
		{"count of nothing", Options{}, "CHECK-COUNT-2147483647: {{x*}}\n", "a\n", 0, ""},
		{"literal", Options{}, "CHECK{LITERAL}: [[x]] {{y}}\n", "[[x]] {{y}}\n", 0, ""},
		{"regex", Options{}, "CHECK: {{a+|b+}}c\n", "xbbc\n", 0, ""},
		{"variable", Options{}, "CHECK: r[[R:[0-9]+]]\nCHECK: [[R]]!\n", "r12\n1! 12!\n", 0, ""},
		{"back-reference", Options{}, "CHECK: [[R:r[0-9]+]], [[R]]{{$}}\n", "r1, r2\nr3, r3\n", 0, ""},
		{"longest", Options{}, "CHECK: [[X:a|ab|abc]]\nCHECK: <[[X]]>\n", "abcd <abc>\n", 0, ""},
		{"number", Options{}, "CHECK: [[#%x,N:]]\nCHECK: [[#mul(N,2)+1]]\n", "0x1f\n3f\n", 0, ""},
		{"signed", Options{}, "CHECK: [[#%d,N:]]\nCHECK: [[#N-3]]\n", "-5\n-8\n", 0, ""},
		{"defined number", Options{Defines: []string{"#N=6", "#M=N+1"}}, "CHECK: [[#M]]\n", "7\n", 0, ""},
		{"line", Options{}, "\nCHECK: [[#@LINE+1]] [[@LINE-1]]\n", "3 1\n", 0, ""},
		{"undefined", Options{}, "CHECK: [[X]]\n", "a\n", 1, "undefined variable: X"},
		{"division by zero", Options{}, "CHECK: [[#div(1,0)]]\n", "a\n", 1, "overflow error"},
		{"scope", Options{Rules: Rules{VarScope: true}}, "CHECK: [[X:a]]\nCHECK-LABEL: f\nCHECK: [[X]]\nCHECK-LABEL: g\nCHECK: [[X]]\n",
			"a\nf\na\ng\na\n", 1, "undefined variable: X"},
		{"full lines", Options{Rules: full}, "CHECK: a b\n", "x a b\n  a  b \n", 0, ""},
		{"not full lines", Options{Rules: full}, "CHECK: a\n", "a b\n", 1, "not found"},
		{"space", Options{}, "CHECK: a b\n", "a \t  b\n", 0, ""},
		{"strict space", Options{Rules: Rules{StrictSpace: true}}, "CHECK: a b\n", "a  b\n", 1, "not found"},
		{"case", Options{Rules: Rules{IgnoreCase: true}}, "CHECK: Ab{{c}}\nCHECK: Z\n", "aBC\nz\n", 0, ""},
		{"implicit not", Options{ImplicitNots: []string{"warn"}}, "CHECK: a\n", "a\nwarn\n", 1, "IMPLICIT-CHECK-NOT: excluded"},
		{"implicit not alone", Options{ImplicitNots: []string{"warn"}}, "", "a\n", 0, ""},
		{"empty input", Options{}, "CHECK: a\n", "", 2, "'i' is empty"},
		{"empty input allowed", Options{AllowEmpty: true}, "CHECK-NOT: a\n", "", 0, ""},
		{"no directives", Options{}, "nothing\n", "a\n", 2, "no check strings found with prefix 'CHECK:'"},
		{"unused prefix", Options{Prefixes: []string{"A", "B"}}, "A: a\n", "a\n", 2, "with prefix 'B:'"},
		{"unused prefix allowed", Options{Prefixes: []string{"A", "B"}, AllowUnused: true}, "A: a\n", "a\n", 0, ""},
		{"longest prefix", Options{Prefixes: []string{"A", "A-B"}}, "A-B: b\nA: a\n", "b\na\n", 0, ""},
		{"comment", Options{}, "COM: CHECK: x\nCHECK: a\n", "a\n", 0, ""},
		{"bad prefix", Options{Prefixes: []string{"A!"}}, "", "a\n", 2, "must start with a letter"},
		{"misspelled", Options{}, "CHECK: a\nCHECK_NEXT: b\n", "a\nb\n", 2, "misspelled directive 'CHECK_NEXT:'"},
		{"first next", Options{}, "CHECK-NEXT: b\n", "a\nb\n", 2, "without previous 'CHECK: line"},
		{"lazy regex", Options{}, "CHECK: {{a*?}}\n", "a\n", 2, "repetition-operator operand invalid"},
		{"same directive", Options{}, "CHECK: [[#X:]] [[#X]]\n", "1 1\n", 2, "defined earlier in the same CHECK directive"},
		{"forgotten colon", Options{}, "CHECK: a\nCHECK-NEXT y\n", "a\n", 0, ""},
		{"forgotten colon, strict", Options{Strict: true}, "CHECK: a\nCHECK-NEXT y\n", "a\n", 2,
			"c:2:1: error: possible misspelled directive 'CHECK-NEXT'; did you mean 'CHECK-NEXT:'?"},
		{"typo, strict", Options{Strict: true}, "CHECK: a\nCHECK-NXT: y\n", "a\n", 2, "did you mean 'CHECK-NEXT:'?"},
		{"space, strict", Options{Strict: true}, "CHECK: a\nCHECK : y\n", "a\n", 2, "did you mean 'CHECK:'?"},
		{"prefix typo, strict", Options{Strict: true}, "CHECK: a\nCHEKC: y\n", "a\n", 2, "did you mean 'CHECK:'?"},
		{"prose, strict", Options{Strict: true}, "CHECK: a\nCHECK lines. CHECK-FOO: other\nCOM: CHECK-NEXT x\n", "a\n", 0, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := Run(c.opts, Text{"c", []byte(c.checks)}, Text{"i", []byte(c.input)})
			if got.Status != c.status || !strings.Contains(got.Text, c.says) {
				t.Errorf("status %d, want %d with %q; text:\n%s", got.Status, c.status, c.says, got.Text)
			}
			if (got.Status == 0) != (len(got.Diagnostics) == 0) {
				t.Errorf("status %d with diagnostics %v", got.Status, got.Diagnostics)
			}
		})
	}
}
