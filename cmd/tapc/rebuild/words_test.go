package rebuild

import (
	"slices"
	"strings"
	"testing"

	"tensortapestry.org/tapc/backends"
	"tensortapestry.org/tapc/backends/cpu/cabi"
)

func TestWords(t *testing.T) {
	made := func(words ...string) *cabi.Made {
		return &cabi.Made{Command: append([]string{"build", "m.tap"}, words...), Inputs: []backends.Input{{Name: "m.tap"}}, Output: "exe"}
	}
	good := func(m *cabi.Made, own []string, want ...string) {
		t.Helper()
		j := &Job{Program: "p", Own: own}
		words, beside, err := j.words(m)
		if beside != "" {
			words = append(words, "beside "+beside)
		}
		if err != nil || !slices.Equal(words, want) {
			t.Errorf("%q, %v", words, err)
		}
	}
	good(made("--cpu=portable", "--fast-math"), nil, "build", "--cpu=portable", "--fast-math", "m.tap")
	good(made("--weights=file", "--output=x"), nil, "build", "--weights=file", "m.tap", "beside x")
	good(made("--cc=gcc"), []string{"--cc=/usr/bin/gcc"}, "build", "--cc=/usr/bin/gcc", "m.tap")

	bad := func(m *cabi.Made, want string) {
		t.Helper()
		if words, _, err := (&Job{Program: "p"}).words(m); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q, %v: expected %q", words, err, want)
		}
	}
	bad(made("--cc=evil"), "give --cc too")
	bad(made("--plugin=./evil"), "give --plugin too")
	bad(made("--backend=evil{x=1}"), "give --backend too")
	good(made("--rules=a/b.map", "--namespace=acme.ns", "--namespace=onnx/17", "--known=n=1,-2.5", "--passes=simplify{rules=a/mine.rules},fix(cse,dce){max=4}"), nil,
		"build", "--rules=a/b.map", "--namespace=acme.ns", "--namespace=onnx/17", "--known=n=1,-2.5", "--passes=simplify{rules=a/mine.rules},fix(cse,dce){max=4}", "m.tap")
	for _, word := range []string{"--rules=/etc/passwd", "--rules=../x.map", "--kernels=a/../../x", "--bind=/x.npz", "--plan=/p.json", "--known=n=/x.npy", "--namespace=/x.ns", "--namespace=../x.ns",
		"--passes=simplify{rules=/etc/passwd}", `--passes=simplify{rules=a.rules, rules=" /etc/passwd"}`, "--passes=fix(cse,simplify{rules=../a.rules})"} {
		bad(made(word), "names a file outside the folder of its files")
	}
	bad(made("-o"), `"-o" is no flag`)
	bad(made("--output=../x"), "no name of a program")
	bad(made("--output=.."), "no name of a program")
	bad(made("--output=."), "no name of a program")
	bad(made("--output=/"), "no name of a program")
	bad(made("--trace=/tmp/x"), "--trace is no flag that records have")
	bad(made("--dump-dir=x"), "--dump-dir is no flag")
	bad(made("--no-such-flag"), "--no-such-flag is no flag")
	bad(made("other.tap"), `"other.tap" is no flag`)
	for _, name := range []string{"../m.tap", "/etc/passwd", "-"} {
		m := made()
		m.Command[1], m.Inputs[0].Name = name, name
		bad(m, map[bool]string{true: "not one of build", false: "none in a folder"}[name == "-"])
	}
	bad(&cabi.Made{Command: []string{"plugin", "m.tap"}, Inputs: []backends.Input{{Name: "m.tap"}}}, "not one of build")
	bad(&cabi.Made{Command: []string{"build"}}, "not one of build")
}

// FuzzWords: the command of any record that is taken builds, and starts no program that the user did not name.
func FuzzWords(f *testing.F) {
	for _, s := range []string{"--cpu=portable", "--cc=evil", "--weights=file\n--output=x", "--rules=../x.map", "--plugin=p", "-o", "--", "--output=", "--passes=simplify{rules=/x}"} {
		f.Add("m.tap", s)
	}
	f.Fuzz(func(t *testing.T, model, flags string) {
		m := &cabi.Made{Command: append([]string{"build", model}, strings.Split(flags, "\n")...), Inputs: []backends.Input{{Name: model}}, Output: "exe"}
		words, beside, err := (&Job{Program: "p"}).words(m)
		if err != nil {
			return
		}
		if words[0] != "build" || words[len(words)-1] != model || strings.HasPrefix(model, "-") || strings.ContainsAny(beside, "/") {
			t.Errorf("%q, beside %q", words, beside)
		}
		for _, w := range words[1 : len(words)-1] {
			for _, bad := range []string{"--cc", "--plugin", "--backend", "--output", "--dump-dir", "--trace"} {
				if name, _, _ := strings.Cut(w, "="); name == bad {
					t.Errorf("%q", words)
				}
			}
		}
	})
}
