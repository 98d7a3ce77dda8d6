package run

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"tensortapestry.org/tapc/tools/lit/shell"
)

// tree writes files below a new directory.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// show is a tool that prints what it is given: its arguments, one a line.
var show = shell.Tool{Run: func(_ context.Context, p *shell.Process) int {
	for _, a := range p.Args {
		fmt.Fprintln(p.Stdout, a)
	}
	return 0
}}

// counter is a tool that fails until it has been called n times.
func counter(n int) shell.Tool {
	return shell.Tool{Run: func(context.Context, *shell.Process) int {
		n--
		return max(0, n)
	}}
}

// hang is a tool that never ends by itself.
var hang = shell.Tool{Run: func(ctx context.Context, _ *shell.Process) int {
	<-ctx.Done()
	return 1
}}

func TestOutcomes(t *testing.T) {
	cases := []struct {
		name, text string
		code       Code
		says       string
	}{
		{"pass", "RUN: true\n", Pass, ""},
		{"fail", "RUN: true\nRUN: exit-3\n", Fail, "command not found"},
		{"stops at the first failure", "RUN: false\nRUN: show second\n", Fail, "exit status 1"},
		{"no run", "nothing\n", Unresolved, "no 'RUN:' line"},
		{"xfail", "RUN: false\nXFAIL: *\n", XFail, ""},
		{"xfail by feature", "RUN: false\nXFAIL: red, {{bl.*}} && !green\n", XFail, ""},
		{"xpass", "RUN: true\nXFAIL: blue\n", XPass, ""},
		{"not xfail", "RUN: false\nXFAIL: red\n", Fail, ""},
		{"requires", "REQUIRES: blue, true && (red || !green)\nRUN: true\n", Pass, ""},
		{"requires missing", "REQUIRES: blue, \\\nREQUIRES: red\nRUN: false\n", Unsupported, "red"},
		{"unsupported", "UNSUPPORTED: blue\nRUN: false\n", Unsupported, "blue"},
		{"bad expression", "REQUIRES: blue &&\nRUN: true\n", Unresolved, "expected a feature"},
		{"flaky", "ALLOW_RETRIES: 2\nRUN: twice\n", FlakyPass, "attempt 2"},
		{"retries used up", "ALLOW_RETRIES: 1\nRUN: false\n", Fail, ""},
		{"bad retries", "ALLOW_RETRIES: many\nRUN: true\n", Unresolved, "ALLOW_RETRIES"},
		{"timeout", "RUN: hang\n", Timeout, "timeout after"},
		{"end", "RUN: true\nEND.\nRUN: false\n", Pass, ""},
		{"word before keyword", "xRUN: false\nX-RUN: false\nRUN: true\n", Pass, ""},
		{"continuation", "RUN: show a \\\nRUN:   b | count 2\n", Pass, ""},
		{"open continuation", "RUN: show a \\\n", Unresolved, "unterminated"},
		{"broken continuation", "RUN: show a \\\nXFAIL: *\n", Unresolved, "expected a continuation"},
		{"define", "DEFINE: %{x} = a \\\nDEFINE:   b\nRUN: show %{x} | count 2\nREDEFINE: %{x} = c\nRUN: show %{x} | count 1\n", Pass, ""},
		{"define twice", "DEFINE: %{x} = a\nDEFINE: %{x} = b\nRUN: true\n", Unresolved, "already defined"},
		{"redefine first", "REDEFINE: %{x} = a\nRUN: true\n", Unresolved, "not defined"},
		{"bad define", "DEFINE: x = a\nRUN: true\n", Unresolved, "needs %{name}"},
		{"nothing left", "RUN: %if red %{false%}\nRUN: true\n", Pass, ""},
		{"retries twice", "ALLOW_RETRIES: 1\nALLOW_RETRIES: 2\nRUN: true\n", Unresolved, "more than one"},
		{"json", `{"//": "RUN: show \"a b\" c | count 2", "k": 1}` + "\n", Pass, ""},
		{"filecheck", "RUN: show one two | filecheck %s\nCHECK: one\nCHECK-NEXT: two\n", Pass, ""},
		{"filecheck fails", "RUN: show one | FileCheck %s\nCHECK: two\n", Fail, "check:2 "},
		{"cwd", "RUN: touch here\nRUN: cat here %S/" + "t.test\n", Pass, ""},
		{"state", "RUN: mkdir -p %t.d && cd %t.d\nRUN: touch x\nRUN: cat %t.d/x\n", Pass, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			dir := tree(t, map[string]string{"t.test": c.text})
			cfg := Config{
				Features: []string{"blue"}, Timeout: 5 * time.Second, OutDir: t.TempDir(),
				Tools: map[string]shell.Tool{"show": show, "twice": counter(2), "hang": hang},
			}
			if c.code == Timeout {
				cfg.Timeout = 20 * time.Millisecond
			}
			tests, err := Discover(dir, filepath.Join(dir, "t.test"), cfg)
			if err != nil {
				t.Fatal(err)
			}
			got := Run(context.Background(), tests[0])
			if got.Code != c.code || !strings.Contains(got.Output, c.says) {
				t.Errorf("%s, want %s with %q; output:\n%s", got.Code, c.code, c.says, got.Output)
			}
		})
	}
}

func TestSubstitutions(t *testing.T) {
	cases := []struct{ line, want string }{
		{"%s %S %p %t %T %basename_t", "/d/a.b.test /d /d /o/Output/a.tmp /o/Output a.b"},
		{"%% %%s %%%s", "% %s %/d/a.b.test"},
		{"%/s %{/s} %:s %{fs-sep} %{pathsep}", "/d/a.b.test /d/a.b.test /d/a.b.test / :"},
		{"%errc_ENOENT", "No such file or directory"},
		{"%{user} %tool", "(x) T"},
		{"a%if on %{ b %}c", "a b c"},
		{"%if off %{b%} %else %{c%}", "c"},
		{"%if on && !off %{%if off %{1%} %else %{2%}%}", "2"},
		{"%if {{o.}} %{%s%}", "/d/a.b.test"},
		{"%{a}", "/d"},
	}
	for _, c := range cases {
		s := &substitutions{
			list: append([]Substitution{{"%{a}", "%{b}"}, {"%{b}", "%S"}, {"%{user}", "(x)"}, {"%tool", "T"}},
				standard("/d/a.b.test", "/o/Output/a.tmp")...),
			features: map[string]bool{"on": true},
		}
		got, err := s.apply(c.line)
		if err != nil || got != c.want {
			t.Errorf("%s: %q, error %v, want %q", c.line, got, err, c.want)
		}
	}
	for _, line := range []string{"%if on", "%if on %{", "%if on %{a%} %else b", "%if ( %{a%}"} {
		if got, err := (&substitutions{}).apply(line); err == nil {
			t.Errorf("%s: %q, want an error", line, got)
		}
	}
}

func TestRecursiveSubstitutions(t *testing.T) {
	list := []Substitution{{"%{inner}", "x"}, {"%{outer}", "%{inner}"}, {"%{loop}", "%{loop}y"}}
	for passes, want := range map[int]string{0: "%{inner}", 2: "x", 5: "x"} {
		got, err := (&substitutions{list: list, passes: passes}).apply("%{outer}")
		if err != nil || got != want {
			t.Errorf("%d passes: %q, error %v, want %q", passes, got, err, want)
		}
	}
	if _, err := (&substitutions{list: list, passes: 9}).apply("%{loop}"); err == nil {
		t.Error("an endless substitution was accepted")
	}
}

func TestLineNumbers(t *testing.T) {
	if got := numberLines("%(line) %(line+2) %(line - 3)", 10); got != "10 12 7" {
		t.Errorf("got %q", got)
	}
}

func TestBooleanExpressions(t *testing.T) {
	features := map[string]bool{"a": true, "b": true, "target=x86_64-linux": true}
	for expr, want := range map[string]bool{
		"a": true, "c": false, "!c": true, "a && b": true, "a && c": false, "c || b": true, "!(a && c) && b": true,
		"c || a && b": true, "target={{.*}}-linux": true, "target={{arm.*}}": false, "{{[ab]}}": true, "true": true,
		"false": false, "!!a": true,
	} {
		if got, err := evaluate(expr, features); err != nil || got != want {
			t.Errorf("%s: %v, error %v", expr, got, err)
		}
	}
	for _, expr := range []string{"", "a b", "(a", "a &&", "a & b", "{{(}}", "!", ")"} {
		if _, err := evaluate(expr, features); err == nil {
			t.Errorf("%q was accepted", expr)
		}
	}
}

func TestDiscover(t *testing.T) {
	dir := tree(t, map[string]string{
		"a.test": "RUN: true\n", "b.txt": "no test\n", "c.c": "// RUN: true\n", "bin": "RUN: true\x00\n",
		"Inputs/i.test": "RUN: false\n", "sub/d.test": "RUN: true\n", "sub/lit.json": `{"features": ["f"]}`,
		"sub/skip/e.test": "RUN: true\n", "sub/skip/lit.json": `{"suffixes": [".foo"]}`, ".hidden/f.test": "RUN: true\n",
		"late.txt": strings.Repeat("x\n", sniff) + "RUN: true\n",
	})
	tests, err := Discover(dir, dir, Config{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, test := range tests {
		names = append(names, test.Name)
	}
	if diff := cmp.Diff([]string{"a.test", "c.c", "sub/d.test"}, names); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"f"}, tests[2].cfg.Features); diff != "" {
		t.Error(diff)
	}
	bad := tree(t, map[string]string{"lit.json": `{"sufixes": []}`})
	if _, err := Discover(bad, bad, Config{}); err == nil {
		t.Error("an unknown setting was accepted")
	}
}

func TestMainCommand(t *testing.T) {
	dir := tree(t, map[string]string{
		"a.test": "RUN: true\n", "b.test": "RUN: echo x | filecheck %s\nCHECK: y\n", "c.test": "RUN: false\nXFAIL: *\n",
		"d.test": "REQUIRES: moon\nRUN: true\n", "e.test": "RUN: echo %{who} | count 1\n",
	})
	out := t.TempDir()
	cases := []struct {
		args   []string
		status int
		says   string
	}{
		{[]string{dir}, 1, "FAIL Tests (1):\n  b.test\n"},
		{[]string{"-v", dir}, 1, "error: CHECK: expected string not found"},
		{[]string{"--filter-out=b", dir}, 0, "PASS       : 2"},
		{[]string{"-filter", "a|c", "-s", dir}, 0, "EXCLUDED   : 3"},
		{[]string{dir, "-xfail", "b.test"}, 0, "XFAIL      : 2"},
		{[]string{dir, "-feature", "moon", "-filter", "d"}, 0, "PASS       : 1"},
		{[]string{dir, "-D", "who=me", "-filter", "^e", "-a"}, 0, "$ echo me"},
		{[]string{dir, "-num-shards=2", "-run-shard=2", "-show-tests"}, 0, "b.test\nd.test\n"},
		{[]string{dir, "-max-failures=1", "-j1", "-order=smart", "-output-dir", out}, 1, "SKIPPED"},
		{[]string{dir, "-time-tests", "-q", "-filter", "a"}, 0, "Slowest Tests:"},
		{[]string{dir, "-order=up"}, 2, "-order must be"},
		{[]string{dir, "-nothing"}, 2, "not defined"},
		{[]string{}, 2, "no tests given"},
		{[]string{filepath.Join(dir, "missing")}, 2, "no such file"},
		{[]string{filepath.Join(dir, "a.test"), filepath.Join(dir, "e.test")}, 0, "PASS       : 2"},
	}
	// The first run with an output directory leaves the history by which the next one starts with b.test.
	Main([]string{dir, "-output-dir", out}, io.Discard, io.Discard)
	for _, c := range cases {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			var buf bytes.Buffer
			if status := Main(c.args, &buf, &buf); status != c.status || !strings.Contains(buf.String(), c.says) {
				t.Errorf("status %d, want %d with %q; output:\n%s", status, c.status, c.says, buf.String())
			}
		})
	}
}

func TestJSONResults(t *testing.T) {
	dir := tree(t, map[string]string{"a.test": "RUN: true\n"})
	path := filepath.Join(t.TempDir(), "r.json")
	if status := Main([]string{dir, "-o", path}, io.Discard, io.Discard); status != 0 {
		t.Fatalf("status %d", status)
	}
	text, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(text), `"code": "PASS"`) {
		t.Errorf("%s, error %v", text, err)
	}
}

func TestSuite(t *testing.T) {
	Suite(t, "testdata", Config{Tools: map[string]shell.Tool{"show": show}, Features: []string{"blue"}})
}

func FuzzScript(f *testing.F) {
	f.Add("// RUN: a \\\n// RUN: b\nDEFINE: %{x} = %if y %{z%}\nREQUIRES: a && {{b}}\nBLESS: CHECK label /a/,/b/ {{c}}\n")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := parseScript(text)
		if err != nil {
			return
		}
		subs := &substitutions{list: standard("/d/s", "/o/t"), features: map[string]bool{"a": true}, passes: 3}
		for _, l := range s.lines {
			if l.keyword == "RUN:" {
				subs.apply(l.text)
			} else {
				subs.define(l)
			}
		}
		for _, e := range s.requires {
			evaluate(e, subs.features)
		}
		for _, m := range s.bless {
			m.spec()
		}
	})
}
