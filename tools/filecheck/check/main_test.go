package check

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// invoke runs the command in a directory with c.txt and i.txt.
func invoke(t *testing.T, checks, input, env string, args ...string) (status int, out, errs string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"c.txt": checks, "i.txt": input} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	var stdout, stderr bytes.Buffer
	status = Main(Command{
		Args: args, Dir: dir, Stdin: strings.NewReader(input), Stdout: &stdout, Stderr: &stderr,
		Getenv: func(name string) string { return map[string]string{"FILECHECK_OPTS": env}[name] },
	})
	return status, stdout.String(), stderr.String()
}

func TestMainCommand(t *testing.T) {
	const checks = "CHECK: a\nCHECK-NEXT: b\nFOO: b\n"
	cases := []struct {
		name   string
		args   string
		env    string
		status int
		says   string
	}{
		{"stdin", "c.txt", "", 0, ""},
		{"file", "c.txt --input-file=i.txt", "", 0, ""},
		{"file apart", "-input-file i.txt c.txt", "", 0, ""},
		{"prefix", "c.txt -check-prefix=FOO", "", 0, ""},
		{"prefixes", "c.txt --check-prefixes=CHECK,FOO", "", 1, "FOO: expected string not found"},
		{"verbose", "c.txt -v -dump-input=never", "", 0, "c.txt:1:8: remark: CHECK: expected string found in input"},
		{"verbose off", "c.txt -v=false -dump-input=never", "", 0, ""},
		{"environment", "c.txt", "-v '-dump-input=never'", 0, "<stdin>:2:1: note: found here\nb\n^\n"},
		{"options end", "-- c.txt", "", 0, ""},
		{"dump always", "c.txt -dump-input=always -vv", "", 0, "check:1     ^"},
		{"dump precedence", "c.txt -check-prefix=FOO -DX=1 -dump-input=never -dump-input=always", "", 0, "Input was:"},
		{"no check file", "", "", 2, "<check-file> not specified"},
		{"missing check file", "no.txt", "", 2, "Could not open check file 'no.txt': No such file or directory"},
		{"missing input file", "c.txt --input-file no.txt", "", 2, "Could not open input file 'no.txt': No such file or directory"},
		{"two check files", "c.txt d.txt", "", 1, "Too many positional arguments"},
		{"unknown option", "c.txt --foo", "", 1, "Unknown command line argument '--foo'.  Try: 'FileCheck --help'\nFileCheck: Did you mean '-v'?\n"},
		{"mistyped option", "c.txt --alow-empty", "", 1, "'--alow-empty'.  Try: 'FileCheck --help'\nFileCheck: Did you mean '--allow-empty'?\n"},
		{"mistyped option with a value", "c.txt -check-prefxi=A", "", 1, "FileCheck: Did you mean '--check-prefix=A'?\n"},
		{"malformed implicit pattern", "c.txt --implicit-check-not={{[}}", "", 2, "command line:1:24: error: invalid regex"},
		{"no value", "c.txt --check-prefix", "", 1, "for the --check-prefix option: requires a value!"},
		{"bad switch", "c.txt -v=maybe", "", 1, "for the -v option: 'maybe' is invalid value for boolean argument"},
		{"bad mode", "c.txt -dump-input=x", "", 1, "for the --dump-input option: Cannot find option named 'x'!"},
		{"bad filter", "c.txt -dump-input-filter=x", "", 1, "for the --dump-input-filter option: Cannot find option named 'x'!"},
		{"bad context", "c.txt -dump-input-context=-1", "", 1, "'-1' value invalid for uint argument!"},
		{"bad definition", "c.txt -DX", "", 2, "Missing equal sign in command-line definition '-DX'"},
		{"nameless definition", "c.txt -D=X", "", 2, "Missing variable name in command-line definition '-D=X'"},
		{"wrong name", "c.txt -D2X=1", "", 2, "Global defines:1:19: error: invalid variable name"},
		{"number and text", "c.txt -D#X=1 -DX=1", "", 2, "numeric variable with name 'X' already exists"},
		{"undefined number", "c.txt -D#X=Y+1", "", 2, "undefined variable: Y"},
		{"comment prefix", "c.txt -comment-prefixes=CHECK", "", 2, "must be unique among check and comment prefixes: 'CHECK'"},
		{"color", "c.txt --color -check-prefixes=FOO,CHECK", "", 1, "\x1b[0;1;31merror: \x1b[0m"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			status, _, errs := invoke(t, checks, "a\nb\n", c.env, strings.Fields(c.args)...)
			if status != c.status || !strings.Contains(errs, c.says) || c.says == "" && errs != "" {
				t.Errorf("status %d, want %d with %q; stderr:\n%s", status, c.status, c.says, errs)
			}
		})
	}
	for _, arg := range []string{"--help", "--version", "--dump-input=help"} {
		if status, out, errs := invoke(t, "", "", "", arg); status != 0 || out == "" || errs != "" {
			t.Errorf("%s: status %d, stdout %q, stderr %q", arg, status, out, errs)
		}
	}
}

// TestDump pins the whole text of a failure: messages, substitutions, captures and the marked input.
func TestDump(t *testing.T) {
	checks := "CHECK: start [[V:[a-z]+]]\nCHECK-DAG: [[V]]1\nCHECK-DAG: {{b.}}\nCHECK-NOT: bad\nCHECK-NEXT: [[#N:7]] end\n"
	input := "start b\nb1 b2\n\nx\ny\nz\nw\nv\nu\nt\nfine\n8 end\n"
	want := `c.txt:5:13: error: CHECK-NEXT: expected string not found in input
CHECK-NEXT: [[#N:7]] end
            ^
i.txt:2:6: note: scanning from here
b1 b2
     ^
i.txt:2:6: note: with "N:7" equal to "7"
b1 b2
     ^
i.txt:12:1: note: possible intended match here
8 end
^

Input file: i.txt
Check file: c.txt

-dump-input=help explains the following input dump.

Input was:
<<<<<<
           1: start b 
check:1'0     ^~~~~~~
check:1'1           ^  captured var "V"
           2: b1 b2 
dag:2'0       ^~
dag:2'1              with "V" equal to "b"
dag:3            ^~
next:5'0           X error: no match found
next:5'1             with "N:7" equal to "7"
           3:  
next:5'0      ~
           4: x 
next:5'0      ~~
           .
           .
           .
          10: t 
next:5'0      ~~
          11: fine 
next:5'0      ~~~~~
          12: 8 end 
next:5'0      ~~~~~~
next:5'2      ?      possible intended match
>>>>>>
`
	status, _, errs := invoke(t, checks, input, "", "c.txt", "--input-file=i.txt", "-v", "-dump-input-context=2")
	if diff := cmp.Diff(want, errs); diff != "" || status != StatusMismatch {
		t.Errorf("status %d (-want +got):\n%s", status, diff)
	}
}

func TestDumpFilters(t *testing.T) {
	checks, input := "CHECK: a\nCHECK: {{b[[:space:]]c}}\n", "1\na\n2\n3\n4\n5\nb\nc\n6\n7\n8\n9\n"
	for filter, want := range map[string]int{"error": 0, "annotation": 3, "annotation-full": 4, "all": 12} {
		_, _, errs := invoke(t, checks, input, "", "c.txt", "-dump-input=always", "-v", "-dump-input-context=0",
			"-dump-input-filter="+filter)
		if got := strings.Count(errs, ": ") - strings.Count(errs, "file: "); got != want {
			t.Errorf("%s: %d lines, want %d:\n%s", filter, got, want, errs)
		}
	}
}

func TestTabsAndOtherBytesInMessages(t *testing.T) {
	_, _, errs := invoke(t, "\tCHECK:\té{{x}}\n", "a\tb\n", "", "c.txt", "--strict-whitespace", "-dump-input=never")
	want := "c.txt:1:9: error: CHECK: expected string not found in input\n        CHECK:  é{{x}}\n" +
		"<stdin>:1:1: note: scanning from here\na       b\n^\n"
	if !strings.HasPrefix(errs, want) {
		t.Errorf("(-want +got):\n%s", cmp.Diff(want, errs))
	}
}

func TestNumbers(t *testing.T) {
	cases := []struct {
		checks, input string
		status        int
		says          string
	}{
		{"CHECK: [[#%.4x,A:]] [[#%#X,B:]]\nCHECK: [[#A+1]] [[#B]]\n", "00ff 0xAB\n0100 0xAB\n", 0, ""},
		{"CHECK: [[#%x,A:]] [[#%d,B:]]\nCHECK: [[#A+B]]\n", "ff -1\nfe\n", 2, "implicit format conflict between 'A' (%x) and 'B' (%d)"},
		{"CHECK: [[#%x,A:]] [[#%d,B:]]\nCHECK: [[#%x,A+B]]\n", "ff -1\nfe\n", 0, ""},
		{"CHECK: [[#max(0x10,min(8,9))-(1+1)]] [[#div(7,2)]] [[#0b11]] [[#010]]\n", "14 3 3 8\n", 0, ""},
		{"CHECK: [[#18446744073709551615+1]]\n", "18446744073709551616\n", 0, ""},
		{"CHECK: [[#1-2]]\n", "-1\n", 1, "overflow error"},
		{"CHECK: [[#%d,1-2]]\n", "-1\n", 0, ""},
		{"CHECK: [[#%u,A:==3]]\n", "3\n", 0, ""},
		{"CHECK: [[#A:]]\nCHECK: [[#%x,A:]]\n", "3\n", 2, "format different from previous variable definition"},
		{"CHECK: [[A:x]]\nCHECK: [[#A:]]\n", "x\n", 2, "string variable with name 'A' already exists"},
		{"CHECK: [[#A:]]\nCHECK: [[A:x]]\n", "x\n", 2, "numeric variable with name 'A' already exists"},
		{"CHECK: [[#%.5000u,]]\n", "1\n", 2, "invalid precision"},
		{"CHECK: [[#%#u,1]]\n", "1\n", 2, "alternate form only supported for hex values"},
		{"CHECK: [[#x,1]]\n", "1\n", 2, "invalid matching format specification"},
		{"CHECK: [[#1*2]]\n", "1\n", 2, "unsupported operation '*'"},
		{"CHECK: [[#1+]]\n", "1\n", 2, "missing operand"},
		{"CHECK: [[#(1]]\n", "1\n", 2, "missing ')' at end of nested expression"},
		{"CHECK: [[#add(1,2]]\n", "1\n", 2, "missing ')' at end of call expression"},
		{"CHECK: [[#add(1,)]]\n", "1\n", 2, "missing argument"},
		{"CHECK: [[#add(1)]]\n", "1\n", 2, "takes 2 arguments but 1 given"},
		{"CHECK: [[#pow(1,2)]]\n", "1\n", 2, "call to undefined function 'pow'"},
		{"CHECK: [[#==]]\n", "1\n", 2, "empty numeric expression should not have a constraint"},
		{"CHECK: [[#@FOO]]\n", "1\n", 2, "invalid pseudo numeric variable '@FOO'"},
		{"CHECK: [[@LINE+x]]\n", "1\n", 2, "invalid operand format"},
		{"CHECK: [[#A B:]]\n", "1\n", 2, "unexpected characters after numeric variable name"},
		{"CHECK: [[#" + strings.Repeat("(", 500) + "1]]\n", "1\n", 2, "nested too deeply"},
	}
	for _, c := range cases {
		got := Run(Options{}, Text{"c", []byte(c.checks)}, Text{"i", []byte(c.input)})
		if got.Status != c.status || !strings.Contains(got.Text, c.says) {
			t.Errorf("%sstatus %d, want %d with %q:\n%s", c.checks, got.Status, c.status, c.says, got.Text)
		}
	}
}

func TestInspect(t *testing.T) {
	got, err := Inspect(Command{Args: []string{"c.txt", "--check-prefix=A", "-v"}})
	want := Invocation{Options{Prefixes: []string{"A"}, Verbosity: 1}, "c.txt", "-"}
	if err != nil || got.CheckFile != want.CheckFile || got.InputFile != want.InputFile ||
		cmp.Diff(want.Options.Prefixes, got.Options.Prefixes) != "" || got.Options.Verbosity != 1 {
		t.Errorf("Inspect = %+v, error %v", got, err)
	}
}
