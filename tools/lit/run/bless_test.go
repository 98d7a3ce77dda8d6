package run

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"tensortapestry.org/tapc/tools/lit/shell"
)

// blessOnce runs a test file with Rewrite, with a tool "print" that prints output.
func blessOnce(t *testing.T, text, output string) (string, Result) {
	t.Helper()
	dir := tree(t, map[string]string{"t.test": text})
	print := func(_ context.Context, p *shell.Process) int {
		p.Stdout.Write([]byte(strings.ReplaceAll(output, "$DIR", dir)))
		return 0
	}
	cfg := Config{Rewrite: true, OutDir: t.TempDir(), Tools: map[string]shell.Tool{"print": {Run: print}}}
	path := filepath.Join(dir, "t.test")
	tests, err := Discover(dir, path, cfg)
	if err != nil {
		t.Fatal(err)
	}
	r := Run(context.Background(), tests[0])
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(got), r
}

func TestBless(t *testing.T) {
	const run = "// RUN: print | filecheck %s\n"
	cases := []struct{ name, before, output, after string }{
		{"all", run + "// BLESS: CHECK\n// CHECK: old\n// CHECK-NEXT: old\n\nrest\n", "a\n  b\n\nc\n",
			run + "// BLESS: CHECK\n// CHECK: a\n// CHECK-NEXT:   b\n// CHECK-EMPTY:\n// CHECK-NEXT: c\n\nrest\n"},
		{"into nothing", run + "# BLESS: CHECK", "a\n", run + "# BLESS: CHECK\n# CHECK: a\n"},
		{"part", run + "// BLESS: CHECK label /^f/,/^}/\n// CHECK: old\n\n// CHECK: mine\n", "x\nf {\n y\n}\nmine\n",
			run + "// BLESS: CHECK label /^f/,/^}/\n// CHECK-LABEL: f {\n// CHECK-NEXT:  y\n// CHECK-NEXT: }\n\n// CHECK: mine\n"},
		{"syntax of patterns", run + "// BLESS: CHECK\n", "[[a]] {{b}}\n",
			run + "// BLESS: CHECK\n// CHECK{LITERAL}: [[a]] {{b}}\n"},
		{"volatile", run + "// BLESS: CHECK {{[0-9]+ ms}} {{0x[0-9a-f]+}}\n", "took 12 ms at {0xab [[x]]\n",
			run + "// BLESS: CHECK {{[0-9]+ ms}} {{0x[0-9a-f]+}}\n" +
				"// CHECK: took {{[0-9]+ ms}} at {{[{]}}{{0x[0-9a-f]+}} {{[[][[]}}x]]\n"},
		{"paths", run + "// BLESS: CHECK\n", "$DIR/t.test:1\n", run + "// BLESS: CHECK\n// CHECK: {{.*}}/t.test:1\n"},
		{"two prefixes", "// RUN: print | filecheck %s --check-prefix=A\n// BLESS: A\n// A: old\n// B: other\n", "a\n",
			"// RUN: print | filecheck %s --check-prefix=A\n// BLESS: A\n// A: a\n// B: other\n"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, r := blessOnce(t, c.before, c.output)
			if diff := cmp.Diff(c.after, got); diff != "" || r.Code != Pass || !r.Blessed {
				t.Errorf("%s (-want +got):\n%s\n%s", r.Code, diff, r.Output)
			}
			if again, r := blessOnce(t, got, c.output); again != got || r.Blessed || r.Code != Pass {
				t.Errorf("not stable: %s\n%s\n%s", r.Code, again, r.Output)
			}
		})
	}
}

func TestBlessRefuses(t *testing.T) {
	cases := []struct{ name, text, output, says string }{
		{"own lines fail", "// RUN: print | filecheck %s\n// CHECK: mine\n\n// BLESS: CHECK\n", "a\n", "left as it was"},
		{"no such prefix", "// RUN: print | filecheck %s\n// BLESS: FOO\n", "a\n", "no RUN line checks"},
		{"no such line", "// RUN: print | filecheck %s\n// BLESS: CHECK /zzz/\n", "a\n", "no line of the output"},
		{"no output", "// RUN: print | filecheck %s --allow-empty\n// BLESS: CHECK\n", "", "no output"},
		{"bad mark", "// RUN: print | filecheck %s\n// BLESS: CHECK what\n", "a\n", "BLESS needs"},
		{"command fails", "// RUN: false\n// BLESS: CHECK\n", "a\n", "exit status 1"},
		{"outputs differ", "// RUN: print | filecheck %s\n// RUN: echo b | filecheck %s\n// BLESS: CHECK\n", "a\n", "differ"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, r := blessOnce(t, c.text, c.output)
			if got != c.text || !r.Code.Bad() || !strings.Contains(r.Output, c.says) {
				t.Errorf("%s, want %q:\n%s\nfile:\n%s", r.Code, c.says, r.Output, got)
			}
		})
	}
}
