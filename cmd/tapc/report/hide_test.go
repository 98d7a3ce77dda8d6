package report

import (
	"strings"
	"testing"

	"tensortapestry.org/tapc/cmd/tapc/recorded"
)

func TestHidden(t *testing.T) {
	h := (&hidden{other: map[string]string{}}).set("/work/reports/.tapc-12345/r", "/home/ada", "ada", "analytical")
	for in, want := range map[string]string{
		"/home/ada/models/m.onnx:1: error":         "~/models/m.onnx:1: error",
		"HOME=/home/ada":                           "HOME=~",
		"by ada on analytical":                     "by USER on MACHINE",
		"adapter, canada, analytically":            "adapter, canada, analytically", // near misses
		"/home/adam/x":                             "/home/adam/x",
		"/work/reports/.tapc-12345/r/graph/m.tap":  "graph/m.tap",
		"cc -c /tmp/tapc-0987654321/p.c -o":        "cc -c TEMPORARY/p.c -o",
		"tapc-reproducer-simplify.tap, tapc-1.zip": "tapc-reproducer-simplify.tap, tapc-1.zip",
	} {
		if got := h.text(in); got != want {
			t.Errorf("%q becomes %q, expected %q", in, got, want)
		}
		if h.private(h.text(in)) {
			t.Errorf("%q is private", h.text(in))
		}
	}
	if !h.private("x/home/ada/y") || !h.private("ada") || h.private("adagio") {
		t.Error("private")
	}
	short := (&hidden{other: map[string]string{}}).set("/r", "/", "al", "root")
	if got := short.text("al and root in /"); got != "al and root in /" {
		t.Error(got)
	}
}

func TestOutputIn(t *testing.T) {
	for _, x := range []struct{ flag, value, want string }{
		{"output", "/home/ada/p", "made/p"}, {"output", "-", "-"}, {"output", "y=/tmp/y.npy", "y=made/y.npy"}, {"reproducer-dir", "/x", "."},
		{"reproducer-dir", "", ""}, {"trace", "../t.json", "made/t.json"},
	} {
		if got := outputIn(recorded.Flag{Name: x.flag, Value: x.value}); got != x.want {
			t.Errorf("--%s=%s becomes %s", x.flag, x.value, got)
		}
	}
}

func TestFenced(t *testing.T) {
	var b strings.Builder
	fenced(&b, "a\n```\nb\n")
	if b.String() != "````\na\n```\nb\n````\n\n" {
		t.Errorf("%q", b.String())
	}
	if got := firstLines(strings.Repeat("x\n", 50), 40); strings.Count(got, "\n") != 40 || !strings.HasSuffix(got, "said.txt)") {
		t.Error(got)
	}
	if got := cut(strings.Repeat("é", most)); len(got) > most+40 || strings.ContainsRune(got, '\uFFFD') {
		t.Error(len(got))
	}
}
