package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// fake gives a command that does what tapc does for one graph: its program is a script that writes text to the output.
func fake(t *testing.T, dir, name, c, program string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	script := fmt.Sprintf(`#!/bin/sh

case "$2 $3" in
*refuse*) echo "error: refused by %[1]s" >&2; exit 1 ;;
*--emit=c) printf '%%s' '%[2]s' > "$5" ;;
*) printf '#!/bin/sh\nfor a; do case "$a" in --output=y=*) printf %%%%s %[3]s > "${a#--output=y=}" ;; esac; done\n' > "$5"; chmod +x "$5" ;;
esac
`, name, c, program)
	if err := os.WriteFile(path, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// C that differs in the description alone is the same.
func TestNotes(t *testing.T) {
	c := func(text, after string) []byte {
		return []byte("static const struct {\n  uint32_t type;\n  char owner[8], text[9];\n} program_note = {\"" + text + "\"};\n#define program_description program_note.text\n" + after)
	}
	if a, b := withoutNote(c("one", "x")), withoutNote(c("another", "x")); string(a) != string(b) {
		t.Errorf("%s\n%s", a, b)
	}
	if a, b := withoutNote(c("one", "x")), withoutNote(c("one", "y")); string(a) == string(b) {
		t.Error("what stands behind the description is left out too")
	}
}

// Each verdict comes from what the two sides do: the same C, other C with the same and with other bytes, and refusals by one or both.
func TestVerdicts(t *testing.T) {
	dir := t.TempDir()
	a, same, other, wrong := fake(t, dir, "a", "C1", "1"), fake(t, dir, "same", "C1", "1"), fake(t, dir, "other", "C2", "1"), fake(t, dir, "wrong", "C2", "2")
	for name, c := range map[string]struct {
		tapc [2]string
		file string
		want verdict
	}{
		"same C":     {[2]string{a, same}, "g.tap", sameC},
		"same bits":  {[2]string{a, other}, "g.tap", sameBit},
		"other bits": {[2]string{a, wrong}, "g.tap", differs},
		"refused":    {[2]string{a, same}, "refuse.tap", refused},
	} {
		t.Run(name, func(t *testing.T) {
			p := pair{tapc: c.tapc, skips: true}
			got := p.compare(context.Background(), testCase{dir: t.TempDir(), file: c.file, Inputs: map[string]string{}, Outputs: map[string]string{"y": "y.npy"}})
			if got.verdict != c.want {
				t.Errorf("verdict %d (%v), expected %d", got.verdict, got.err, c.want)
			}
		})
	}
}

// The libraries of sides that do not both write folders of C count as different; where no side builds anything, that is said.
func TestLibrariesOfOldCommits(t *testing.T) {
	dir := t.TempDir()
	folders := filepath.Join(dir, "folders")
	if err := os.WriteFile(folders, []byte("#!/bin/sh\nmkdir -p \"$5\" && echo x > \"$5/runtime.h\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	none := filepath.Join(dir, "none")
	if err := os.WriteFile(none, []byte("#!/bin/sh\necho 'no folders' >&2; exit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		tapc  [2]string
		files int
		fails bool
	}{
		"both write folders": {[2]string{folders, folders}, 0, false},
		"one writes folders": {[2]string{none, folders}, 1, false},
		"no side":            {[2]string{none, none}, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			p := pair{tapc: c.tapc}
			both, err := p.libraries(context.Background(), []testCase{{dir: t.TempDir(), file: "g.tap"}})
			if files := otherFiles(both[0], both[1]); len(files) != c.files || (err != nil) != c.fails {
				t.Errorf("%v, %v", files, err)
			}
		})
	}
}
