// Package contributing_test holds CONTRIBUTING.md, ./do and .ci/run to each other: one list of checks, one of generated files.
package contributing_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const root = "../.."

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestCommands: what the page names, the script has, and the other way round.
func TestCommands(t *testing.T) {
	script, page := read(t, "do"), read(t, "CONTRIBUTING.md")
	cases := regexp.MustCompile(`(?m)^  (.*)\) "\$@" ;;`).FindStringSubmatch(script)
	if cases == nil {
		t.Fatal("./do has no list of its commands")
	}
	known := strings.Split(cases[1], " | ")
	named := map[string]bool{"lint": true, "tests": true} // parts of check, for .ci/run
	for _, m := range regexp.MustCompile(`\./do ([a-z]+)`).FindAllStringSubmatch(page, -1) {
		named[m[1]] = true
	}
	for _, c := range known {
		if !named[c] || !strings.Contains(script, "\n"+c+"() {") {
			t.Errorf("./do %s is not in CONTRIBUTING.md or has no function", c)
		}
		delete(named, c)
	}
	for c := range named {
		t.Errorf("CONTRIBUTING.md names ./do %s, which there is not", c)
	}
	out, err := exec.Command(filepath.Join(root, "do"), "nonsense").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "./do check") || !strings.Contains(string(out), "./do bless") {
		t.Errorf("./do nonsense: %v, %s", err, out)
	}
}

// TestOneListOfChecks: CI has no checks of its own.
func TestOneListOfChecks(t *testing.T) {
	for _, line := range strings.Split(read(t, ".ci/run"), "\n") {
		if regexp.MustCompile(`\b(go (test|vet|build|tool)|gofmt|staticcheck)\b`).MatchString(line) {
			t.Errorf(".ci/run checks by itself what ./do should: %s", line)
		}
	}
	for _, part := range []string{"./do lint", "./do tests"} {
		if !strings.Contains(read(t, ".ci/run"), "\n"+part+"\n") {
			t.Errorf(".ci/run does not run %s", part)
		}
	}
	if !strings.Contains(read(t, "do"), "check() {\n  lint\n  tests\n}") {
		t.Error("./do check is not what CI runs")
	}
}

// TestOneListOfGeneratedFiles: a file that says that a command made it is one that ./do docs makes.
func TestOneListOfGeneratedFiles(t *testing.T) {
	script := read(t, "do")
	list := script[strings.Index(script, "generated='"):]
	list = list[:strings.Index(list, "\n'\n")+1]
	out, err := exec.Command("git", "-C", root, "grep", "-lE", "^//go:generate|Made by .?go (run|generate)|To renew: go |DO NOT EDIT").Output()
	if err != nil {
		t.Skip("this is no Git repository")
	}
	for _, file := range strings.Fields(string(out)) {
		switch {
		case strings.HasSuffix(file, ".go") && strings.Contains(read(t, file), "\n//go:generate"):
			if !strings.Contains(list, "go generate ./"+filepath.ToSlash(filepath.Dir(file))+"\n") {
				t.Errorf("./do docs does not run go generate for %s", file)
			}
		case strings.HasSuffix(file, ".md") || strings.HasSuffix(file, ".pb.go") || strings.HasSuffix(file, ".proto"):
			if !strings.Contains(list, file) && !strings.HasPrefix(file, "tools/") {
				t.Errorf("./do docs does not make %s", file)
			}
		}
	}
}

// TestDocsCheck: ./do docs --check names a generated file that is not current, and changes none.
func TestDocsCheck(t *testing.T) {
	list := regexp.MustCompile(`(?s)\ngenerated='\n.*?\n'\n`)
	script := list.ReplaceAllString(read(t, "do"), "\ngenerated='\nmade.md|cp source.md made.md\n'\n")
	for name, c := range map[string]struct {
		made string
		fine bool
	}{
		"current":     {"one\n", true},
		"another":     {"two\n", false},
		"another one": {"longer\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for file, text := range map[string]string{"do": script, "source.md": "one\n", "made.md": c.made} {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			out, err := exec.Command(filepath.Join(dir, "do"), "docs", "--check").CombinedOutput()
			if (err == nil) != c.fine || strings.Contains(string(out), "not current: made.md") == c.fine {
				t.Errorf("%v, %s", err, out)
			}
			if made, _ := os.ReadFile(filepath.Join(dir, "made.md")); string(made) != c.made {
				t.Errorf("the file is %q afterwards", made)
			}
		})
	}
}
