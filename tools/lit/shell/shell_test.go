package shell

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// tools for the tests: "upper" is a filter, "both" writes to both outputs, "exit" returns its argument.
var tools = map[string]Tool{
	"upper": {Run: func(_ context.Context, p *Process) int {
		text, _ := io.ReadAll(p.Stdin)
		io.WriteString(p.Stdout, strings.ToUpper(string(text)))
		return 0
	}},
	"both": {Run: func(_ context.Context, p *Process) int {
		io.WriteString(p.Stdout, "out\n")
		io.WriteString(p.Stderr, "err\n")
		return 0
	}},
	"exit": {Run: func(_ context.Context, p *Process) int {
		var n int
		fmt.Sscan(p.Args[0], &n)
		return n
	}},
	"boom": {Run: func(context.Context, *Process) int { panic("boom") }},
	"args": {Run: func(_ context.Context, p *Process) int {
		fmt.Fprintf(p.Stdout, "%q\n", p.Args)
		return 0
	}},
}

func TestRun(t *testing.T) {
	cases := []struct {
		line   string
		status int
		out    string // stdout of the last command
	}{
		{"echo a b", 0, "a b\n"},
		{`echo "a  b" 'c"d' e\ f "x\"y\\z\n"`, 0, "a  b c\"d e f x\"y\\z\\n\n"},
		{"echo -n a", 0, "a"},
		{`echo -e 'a\tb\x41\0101\q'`, 0, "a\tbAA\\q\n"},
		{"echo a | upper", 0, "A\n"},
		{"echo a | upper | cat | count 1", 0, ""},
		{"echo a | count 2", 1, ""},
		{"false | true", 1, ""},
		{"true | exit 3 | true", 3, ""},
		{"false ; echo a", 0, "a\n"},
		{"false && echo a", 1, ""},
		{"false || echo a", 0, "a\n"},
		{"true || echo a && echo b", 0, "b\n"},
		{"not false", 0, ""},
		{"not true", 1, ""},
		{"not not exit 2", 1, ""},
		{"not exit 7", 0, ""},
		{"not boom", 1, ""},
		{"not --crash boom", 0, ""},
		{"not --crash false", 1, ""},
		{"both 2>&1 | upper", 0, "OUT\nERR\n"},
		{"both 2>/dev/null | upper", 0, "OUT\n"},
		{"both &> f ; cat f", 0, "out\nerr\n"},
		{"both > f 2>&1 ; cat f", 0, "out\nerr\n"},
		{"both 2> f >/dev/null ; cat f", 0, "err\n"},
		{"both 2>&1 > f | upper", 0, "ERR\n"},
		{"echo a > f ; echo b >> f ; upper < f", 0, "A\nB\n"},
		{"args *.txt '*.txt' \\*.txt no*match", 0, `["x.txt" "y.txt" "*.txt" "*.txt" "no*match"]` + "\n"},
		{"env A=1 B=2 env -u A", 0, "B=2\nBASE=x\n"},
		{"env A='x y' not env -i | count 3", 1, ""},
		{"A=1 env -u BASE", 0, "A=1\n"},
		{"export A=1 ; env", 0, "A=1\nBASE=x\n"},
		{"mkdir -p d/e && cd d && echo a > e/f && cd .. && cat d/e/f", 0, "a\n"},
		{"mkdir d ; pushd d ; echo a > f ; popd ; cat d/f", 0, "a\n"},
		{"popd", 1, ""},
		{"cp x.txt c && cat c", 0, "x\n"},
		{"mkdir d && cp x.txt y.txt d && cp -r d e && cat e/y.txt", 0, "y\n"},
		{"rm x.txt && cat x.txt", 1, ""},
		{"rm nothing", 1, ""},
		{"rm -f nothing", 0, ""},
		{"mkdir d && rm d", 1, ""},
		{"mkdir d && rm -rf d && cd d", 1, ""},
		{"diff x.txt x.txt", 0, ""},
		{"diff -q x.txt y.txt", 1, "Files x.txt and y.txt differ\n"},
		{"echo ' x' | diff -w x.txt -", 0, ""},
		{"mkdir d && cp x.txt d && cp -r d e && diff -r d e", 0, ""},
		{"mkdir d && cp x.txt d && cp -r d e && touch e/z && diff -r d e", 1, "Only in e: z\n"},
		{"echo 'CHECK: a' > c ; echo a | FileCheck c", 0, ""},
		{"echo 'CHECK: b' > c ; echo a | not filecheck c", 0, ""},
		{"mkdir d e && touch d/z && mkdir e/z && diff -r d e", 1, "File d/z is a file while file e/z is a directory\n"},
		{"mkdir -p d e/z && diff -r d e", 1, "Only in e: z\n"},
		{"echo bar1 > f && echo bar2 | diff -I 'bar.' f -", 0, ""},
		{"echo -e 'x\r' | diff --strip-trailing-cr -U 2 x.txt -", 0, ""},
		{"echo -e '\x01\xe9\x7f' | cat -v", 0, "^AM-i^?\n"},
		{"split-file parts p && cat p/one p/sub/two", 0, "1\n2\n"},
		{"split-file --leading-lines parts p && count 3 < p/one", 0, ""},
		{"split-file x.txt p", 1, ""},
		{": ;", 0, ""},
	}
	for _, c := range cases {
		t.Run(c.line, func(t *testing.T) {
			s := New(playground(t), []string{"BASE=x"}, tools)
			status, err := s.Run(context.Background(), c.line)
			if err != nil {
				t.Fatal(err)
			}
			last := s.Steps[len(s.Steps)-1]
			if diff := cmp.Diff(c.out, last.Stdout); status != c.status || diff != "" {
				t.Errorf("status %d, want %d; stdout (-want +got):\n%s\nstderr: %s", status, c.status, diff, last.Stderr)
			}
		})
	}
}

// playground returns a directory with a few files.
func playground(t *testing.T) string {
	dir := t.TempDir()
	files := map[string]string{
		"x.txt": "x\n", "y.txt": "y\n", "parts": "ignored\n#--- one\n1\n//--- sub/two\n2\n",
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestFaults(t *testing.T) {
	cases := map[string]string{
		"no-such-program":        "command not found",
		"not no-such-program":    "command not found",
		"echo 'a":                "missing closing '",
		"echo a |":               "command expected",
		"| echo a":               "command expected",
		"echo a &":               "unsupported operator",
		"echo a >":               "file name expected",
		"echo a > no/such/dir/f": "no such file",
		"cat < missing":          "no such file",
		"cd . | cat":             "cannot be part of a pipeline",
		"echo a 3> f":            "unsupported redirection",
		"cat << EOF":             "unsupported operator",
		"not":                    "prefix without a command",
		"env -x true":            "unsupported option",
		"echo a \\":              "backslash at the end",
	}
	for line, want := range cases {
		s := New(t.TempDir(), nil, nil)
		if _, err := s.Run(context.Background(), line); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", line, err, want)
		}
	}
}

func TestSplitRefusesToLeaveItsDirectory(t *testing.T) {
	for _, name := range []string{"../x", "/x", " x", ""} {
		if _, err := split("f", []byte("#--- "+name+"\n"), false); err == nil {
			t.Errorf("part %q was accepted", name)
		}
	}
	if _, err := split("f", []byte("#--- a\n#--- a\n"), false); err == nil {
		t.Error("a repeated part was accepted")
	}
}

func TestTimeoutKillsPrograms(t *testing.T) {
	if _, err := os.Stat("/bin/sh"); err != nil {
		t.Skip("no /bin/sh")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	start := time.Now()
	s := New(t.TempDir(), []string{"PATH=/usr/bin:/bin"}, nil)
	status, err := s.Run(ctx, "sh -c 'sleep 60 & sleep 60' | cat")
	if status == 0 && err == nil || time.Since(start) > 10*time.Second {
		t.Errorf("status %d, error %v after %s", status, err, time.Since(start))
	}
}

// A program whose reader has ended early must not fail for it.
func TestEarlyReader(t *testing.T) {
	s := New(t.TempDir(), []string{"PATH=/usr/bin:/bin"}, map[string]Tool{
		"ignore": {Run: func(context.Context, *Process) int { return 0 }},
	})
	if status, err := s.Run(context.Background(), "head -c 1000000 /dev/zero | ignore"); status != 0 || err != nil {
		t.Errorf("status %d, error %v", status, err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("a 'b' \"c\\\"\" | d 2>&1 && e || f; g *? > h")
	f.Fuzz(func(t *testing.T, line string) {
		list, err := parse(line)
		if err == nil && len(list) == 0 {
			t.Fatal("neither commands nor an error")
		}
	})
}
