package check

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tensortapestry.org/tapc/internal/testkit"
)

// oracle gives the path of an LLVM 19 FileCheck to compare with.
func oracle(t *testing.T) string {
	t.Helper()
	path := os.Getenv("FILECHECK_ORACLE")
	if path == "" {
		testkit.Need(t, testkit.FileCheck, errors.New("FILECHECK_ORACLE names no FileCheck to compare with"))
	}
	return path
}

// checkLine draws a line of a check file over a small alphabet, so that matches are frequent.
func checkLine() *rapid.Generator[string] {
	prefix := rapid.SampledFrom([]string{"CHECK", "CHECK", "CHECK", "CHECK", "FOO", "COM", "xCHECK"})
	suffix := rapid.SampledFrom([]string{
		"", "", "", "-NEXT", "-SAME", "-NOT", "-DAG", "-DAG", "-LABEL", "-EMPTY", "-COUNT-2", "-COUNT-3", "_NEXT", "-FOO",
		"-NOT-DAG", "{LITERAL}", "-DAG{LITERAL}", "-COUNT-0", "-COUNT-2{LITERAL}", "-NXT", "{ LITERAL , LITERAL }",
	})
	return rapid.Custom(func(t *rapid.T) string {
		s := suffix.Draw(t, "suffix")
		colon := rapid.SampledFrom([]string{":", ":", ":", ":", ":", ":", ":", ":", " ", " :"}).Draw(t, "colon")
		body := ""
		if s != "-EMPTY" || rapid.IntRange(0, 9).Draw(t, "full") == 0 {
			body = rapid.SampledFrom([]string{" ", "", "  ", "\t"}).Draw(t, "space") + patternText().Draw(t, "pattern")
		}
		return prefix.Draw(t, "prefix") + s + colon + body
	})
}

func patternText() *rapid.Generator[string] {
	piece := rapid.SampledFrom([]string{
		"a", "b", "ab", "c", " ", "1", "2", "12", "x", ".", "*", "[", "]", "{", "\t", "é",
		"{{a|ab}}", "{{.*}}", "{{^}}", "{{$}}", "{{[ab]+}}", "{{(a)(b)?}}", "{{x*}}", "{{a", "{{a**}}", "{{}}", "{{[[:space:]]}}",
		"[[V:a|ab|abc]]", "[[V]]", "[[W:.*]]", "[[W]]", "[[V:[0-9]+]]", "[[$G:b+]]", "[[$G]]", "[[V:]]", "[[ V]]", "[[1]]",
		"[[@LINE]]", "[[@LINE+1]]", "[[#@LINE-1]]", "[[@FOO]]", "[[V", "[[V:(a)|b]]", "[[V:[a]]]", "[[[V]]]",
		"[[#N:]]", "[[#N]]", "[[#N+1]]", "[[#%x,H:]]", "[[#H]]", "[[#%d,S:]]", "[[#S-5]]", "[[#]]", "[[#%.2u,]]", "[[#%X,N]]",
		"[[#N:1+1]]", "[[#add(N,2)]]", "[[#mul(N, sub(3,1)) ]]", "[[#(N+1)-1]]", "[[#== N]]", "[[#N:==2]]", "[[#div(N,0)]]",
		"[[#%#x,P:]]", "[[#N*2]]", "[[#max(1)]]", "[[#foo(1,2)]]", "[[#V]]", "[[N]]", "[[#H+N]]", "[[#%y,N]]", "[[#0x1F]]",
		"[[#N+]]", "[[#(N]]", "[[#, ]]", "[[#%u, N:, 2]]", "[[#min(N,)]]", "[[#-1]]", "[[#%d,-1]]",
	})
	return rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(piece, 1, 4).Draw(t, "pieces"), "")
	})
}

func inputText() *rapid.Generator[string] {
	word := rapid.SampledFrom([]string{
		"a", "b", "ab", "abc", "c", " ", "  ", "\t", "1", "2", "12", "-3", "1f", "0x1f", "x", "\n", "\n", "\n\n", "\r\n", "é", "{", "[", "bb",
	})
	return rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(word, 1, 30).Draw(t, "words"), "")
	})
}

func argList() *rapid.Generator[[]string] {
	arg := rapid.SampledFrom([]string{
		"-v", "-vv", "--match-full-lines", "--strict-whitespace", "--ignore-case", "--enable-var-scope", "--allow-empty",
		"--allow-deprecated-dag-overlap", "--implicit-check-not=b", "--implicit-check-not={{x+}}", "--dump-input=never",
		"--dump-input=always", "--dump-input-filter=all", "--dump-input-filter=annotation", "--dump-input-context=0",
		"--dump-input-filter=annotation-full", "--dump-input-context=1", "-DV=a", "-D#N=2", "-D#%x,H=0x1F", "-D#N=N+1", "-DV", "-D=a", "-DV+=2",
		"--check-prefix=FOO", "--check-prefixes=CHECK,FOO", "--allow-unused-prefixes", "--comment-prefixes=FOO", "-DN=3", "-D#V=1",
	})
	return rapid.SliceOfN(arg, 0, 4)
}

// TestAgreesWithLLVM compares status and every byte of output with LLVM's FileCheck on random files.
func TestAgreesWithLLVM(t *testing.T) {
	oracle := oracle(t)
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		checks := strings.Join(rapid.SliceOfN(checkLine(), 1, 6).Draw(t, "checks"), "\n") + "\n"
		compare(t, oracle, dir, checks, inputText().Draw(t, "input"), argList().Draw(t, "args"), false)
	})
}

// TestMistypedOptionsAgreeWithLLVM compares what is said of options with a letter too many, too few or wrong.
func TestMistypedOptionsAgreeWithLLVM(t *testing.T) {
	oracle := oracle(t)
	dir := t.TempDir()
	names := []string{"allow-empty", "check-prefix=A", "dump-input=fail", "match-full-lines", "strict-whitespace", "enable-var-scope", "ignore-case"}
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom(names).Draw(t, "name")
		at := rapid.IntRange(1, 7).Draw(t, "at") // not the first: LLVM takes --heck for -h
		letter := rapid.SampledFrom([]string{"", "q", "w" + name[at:at+1]}).Draw(t, "letter")
		compare(t, oracle, dir, "CHECK: a\n", "a\n", []string{"--" + name[:at] + letter + name[at+1:]}, false)
	})
}

// regex draws an expression with groups and alternatives. It has no anchors, which LLVM's matcher miscounts in
// repetitions such as (^){2}.
func regex(depth int) *rapid.Generator[string] {
	atoms := rapid.SampledFrom([]string{"a", "b", "c", ".", "[ab]", "[^a]", "[[:space:]]", "x"})
	if depth == 0 {
		return atoms
	}
	return rapid.Custom(func(t *rapid.T) string {
		sub := regex(depth - 1)
		switch rapid.IntRange(0, 5).Draw(t, "shape") {
		case 0, 1:
			return sub.Draw(t, "left") + sub.Draw(t, "right")
		case 2:
			return "(" + sub.Draw(t, "left") + "|" + sub.Draw(t, "right") + ")"
		case 3, 4:
			ops := rapid.SampledFrom([]string{"*", "+", "?", "{2}", "{0,2}", "{1,3}", "{2,}"})
			return "(" + sub.Draw(t, "body") + ")" + ops.Draw(t, "op")
		}
		return atoms.Draw(t, "atom")
	})
}

// TestCapturesAgreeWithLLVM compares what expressions capture.
func TestCapturesAgreeWithLLVM(t *testing.T) {
	oracle := oracle(t)
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		var checks strings.Builder
		for i, name := range []string{"A", "B", "C"} {
			checks.WriteString(rapid.SampledFrom([]string{"", "a", "CHECK: ", " "}).Draw(t, "between"))
			if i == 0 {
				checks.Reset()
				checks.WriteString("CHECK: ")
			}
			checks.WriteString("[[" + name + ":" + regex(2).Draw(t, "regex") + "]]")
		}
		again := rapid.Bool().Draw(t, "again")
		if again {
			checks.WriteString("[[B]]")
		}
		checks.WriteString("\n")
		input := rapid.StringOfN(rapid.RuneFrom([]rune("aaabbc \n")), 1, 16, -1).Draw(t, "input")
		compare(t, oracle, dir, checks.String(), input, []string{"-vv"}, again)
	})
}

// compare runs both programs. With misses, a mismatch according to LLVM proves nothing: its matcher overlooks matches
// of some patterns with back-references, such as (a)*a$ before one on "a".
func compare(t *rapid.T, oracle, dir, checks, input string, args []string, misses bool) {
	args = append([]string{"c.txt", "--input-file", "i.txt"}, args...)
	for name, text := range map[string]string{"c.txt": checks, "i.txt": input} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, wantStatus := runOracle(t, oracle, dir, args)
	if wantStatus < 0 || misses && wantStatus == StatusMismatch {
		return // LLVM's matcher crashes on some repetitions of empty matches
	}
	if strings.Contains(want, "missing closing") {
		wantStatus = StatusError // where LLVM leaves with 1, unlike for other bad patterns
	}
	var out, errs bytes.Buffer
	got := Main(Command{Args: args, Dir: dir, Stdout: &out, Stderr: &errs})
	if diff := cmp.Diff(want, errs.String()); diff != "" || got != wantStatus {
		t.Fatalf("args %q\nchecks:\n%s\ninput: %q\nstatus %d, want %d\n%s", args, checks, input, got, wantStatus, diff)
	}
}

func runOracle(t *rapid.T, oracle, dir string, args []string) (string, int) {
	cmd := exec.Command(oracle, args...)
	cmd.Args[0] = "FileCheck"
	cmd.Dir = dir
	var errs bytes.Buffer
	cmd.Stderr = &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return errs.String(), cmd.ProcessState.ExitCode()
}
