package check

import (
	"bytes"
	"strings"
	"testing"
)

// FuzzRun looks for check files, inputs and definitions that make the engine panic or hang, and checks that its
// reports are consistent.
func FuzzRun(f *testing.F) {
	seeds := []string{
		"CHECK: [[#%x,N:]]\nCHECK-NEXT: [[#N+1]]\n", "CHECK-DAG: a\nCHECK-NOT: {{b|c}}\nCHECK-LABEL: d\n",
		"CHECK-COUNT-3: [[V:.*]] [[V]]\nCHECK-EMPTY:\nCHECK-SAME: [[@LINE]]\n", "CHECK{LITERAL}: [[\nCHECK_NEXT: x\n",
		"CHECK: [[#mul(add(N,1),max(2,0x3))]]\n", "CHECK: {{(a*)*\\1}}\nCHECK: [[[a]]] ]]\n",
	}
	for _, s := range seeds {
		f.Add(s, "a\nb 1f\n\n20 c d d\n", "#N=31", uint16(0))
		f.Add(s, "x", "V=a.b", uint16(0xffff))
	}
	f.Fuzz(func(t *testing.T, checks, input, define string, flags uint16) {
		if len(checks)+len(input) > 1<<12 {
			return
		}
		bit := func(n int) bool { return flags>>n&1 != 0 }
		opts := Options{
			Defines: []string{define}, Strict: bit(0), AllowEmpty: bit(1), Verbosity: int(flags >> 2 & 3), Color: bit(4),
			Rules: Rules{bit(5), bit(6), bit(7), bit(8), bit(9)},
			Dump:  Dump{DumpMode(flags >> 10 & 1), DumpFilter(flags >> 11 & 3), int(flags>>13&3) - 1},
		}
		got := Run(opts, Text{"c", []byte(checks)}, Text{"i", []byte(input)})
		if got.Status < 0 || got.Status > 2 {
			t.Fatalf("status %d", got.Status)
		}
		errors := 0
		for _, d := range got.Diagnostics {
			if d.Severity == "error" {
				errors++
			}
		}
		if (got.Status != 0) != (errors > 0) {
			t.Fatalf("status %d with %d errors:\n%s", got.Status, errors, got.Text)
		}
	})
}

// FuzzArgs looks for command lines that make the option parser panic.
func FuzzArgs(f *testing.F) {
	f.Add("c.txt\x00--input-file\x00i.txt", "-v --color")
	f.Add("-D\x00--check-prefix", "'unclosed \\")
	f.Fuzz(func(t *testing.T, args, env string) {
		var out bytes.Buffer
		dir := t.TempDir()
		Main(Command{
			Args: strings.Split(strings.ReplaceAll(args, "/", ""), "\x00"), Dir: dir, Stdin: strings.NewReader("x"),
			Getenv: func(string) string { return strings.ReplaceAll(env, "/", "") }, Stdout: &out, Stderr: &out,
		})
	})
}
