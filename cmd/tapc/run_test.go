package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tensortapestry.org/tapc/internal/filecache"
)

// foreignCompiler is a compiler for machines that there are none of.
const foreignCompiler = `#!/bin/sh
case $1 in --version) echo foreign 1; exit ;; -dumpmachine) echo z80-unknown-cpm; exit ;; -march=native) exit 1 ;; esac
while [ $# -gt 1 ]; do
  if [ "$1" = -o ]; then printf '\311' >"$2"; chmod 700 "$2"; fi
  shift
done
`

// A program for another machine does not run here, unless something is named that runs it.
func TestRunner(t *testing.T) {
	dir := t.TempDir()
	cc, runner := filepath.Join(dir, "cc"), filepath.Join(dir, "emulator")
	for file, text := range map[string]string{cc: foreignCompiler, runner: "#!/bin/sh\necho \"$1 runs $3 $4\"\n"} {
		if err := os.WriteFile(file, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv(filecache.Variable, "off")
	status, _, stderr := tapc(t, "", "run", "--cc="+cc, example, "--random", "1")
	if want := "the program is for z80-unknown-cpm, which this machine does not run: name what does, such as --runner="; status != 2 || !strings.Contains(stderr, want) {
		t.Errorf("status %d: %s", status, stderr)
	}
	status, stdout, stderr := tapc(t, "", "run", "--cc="+cc, "--runner="+runner+" -fast", example, "--random", "1")
	if status != 0 || stdout != "-fast runs --random 1\n" {
		t.Errorf("status %d: %q %s", status, stdout, stderr)
	}
	status, _, stderr = tapc(t, "", "build", "--cc="+cc, "--cpu=native", example, "-o", filepath.Join(dir, "out"))
	if status != 2 || !strings.Contains(stderr, "which compiles for z80-unknown-cpm, does not know it") {
		t.Errorf("status %d: %s", status, stderr)
	}
}
