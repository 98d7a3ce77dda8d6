package main

import (
	"archive/zip"
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tensortapestry.org/tapc/internal/release"
	"tensortapestry.org/tapc/internal/testkit"
)

// TestWindows runs the tapc in the archive for Windows under Wine: what it verifies, computes and writes is what the tapc of this machine does, byte for byte.
func TestWindows(t *testing.T) {
	if !testkit.Full() && !testkit.Required(testkit.Wine) {
		t.Skip("it takes minutes; tools/nightly/run runs it")
	}
	w := newWine(t)
	here := filepath.Join(w.dir, "tapc")
	if _, err := run(w.ctx, nil, "go", "build", "-buildvcs=auto", "-o", here, "./cmd/tapc"); err != nil { // with the cache of the home folder
		t.Fatal(err)
	}
	there := w.archived()
	if out := w.must(w.wine, there, "version"); !strings.HasPrefix(string(out), "tapc "+release.Version+" ") || !strings.Contains(string(out), "windows/amd64") {
		t.Errorf("%s", out)
	}
	const graph = "examples/matmul.loom.json"
	for _, args := range [][]string{{"verify", graph}, {"translate", "--to=tap", graph}, {"opt", "--passes=simplify", graph}, {"build", graph, "--emit=schedule"}, {"build", graph, "--emit=c"},
		{"kernels", "matmul"}, {"info", graph}, {"explain", "cuts", graph}} {
		if want, got := w.must(here, args...), w.must(w.wine, append([]string{there}, args...)...); !bytes.Equal(want, got) {
			t.Errorf("tapc %s differs on Windows:\n%.2000s\nexpected\n%.2000s", strings.Join(args, " "), got, want)
		}
	}
	written := filepath.Join(w.dir, "written.tap")
	w.must(w.wine, there, "translate", graph, "-o", written)
	if got, err := os.ReadFile(written); err != nil || !bytes.Equal(got, w.must(here, "translate", "--to=tap", graph)) {
		t.Errorf("a file that is written differs: %v", err)
	}
	w.fails(1, "no-such-file", there, "verify", "no-such-file")
	w.fails(2, `did you mean "verify"?`, there, "verfy", graph)
}

// wine is Wine with a folder of its own.
type wine struct {
	*testing.T
	ctx         context.Context
	dir, wine   string
	environment []string
}

// newWine makes the folder. One server stays until the test ends, as each would look at the folder anew.
func newWine(t *testing.T) *wine {
	program, server := testkit.Program(t, testkit.Wine, "wine"), testkit.Program(t, testkit.Wine, "wineserver")
	as, ld := testkit.Program(t, testkit.Wine, "x86_64-w64-mingw32-as"), testkit.Program(t, testkit.Wine, "x86_64-w64-mingw32-ld")
	t.Chdir("../..")
	ctx, stop := context.WithTimeout(context.Background(), 40*time.Minute) // builds take most of it where other work runs
	t.Cleanup(stop)
	w := &wine{T: t, ctx: ctx, dir: t.TempDir(), wine: program}
	prefix := filepath.Join(w.dir, "wine")
	w.environment = []string{"WINEPREFIX=" + prefix, "WINEDEBUG=-all", "HOME=" + w.dir, "WINEDLLOVERRIDES=mscoree,mshtml,winemenubuilder.exe="}
	t.Cleanup(func() {
		ctx, stop := context.WithTimeout(context.Background(), time.Minute)
		defer stop()
		for _, how := range []string{"-k", "-w"} { // it writes to the folder until it has ended
			if _, err := run(ctx, w.environment, server, how); err != nil {
				t.Log(err)
			}
		}
	})
	if err := os.Mkdir(prefix, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, line := range [][]string{{server, "-p60"}, {program, "wineboot", "-i"}} { // what they start stays (the server for a minute behind the last program), so their output is no pipe for whose end we would wait
		cmd := exec.CommandContext(ctx, line[0], line[1:]...)
		cmd.Env = append(os.Environ(), w.environment...)
		if err := cmd.Run(); err != nil {
			t.Fatal(err)
		}
	}
	library := filepath.Join(prefix, "drive_c", "windows", "system32", "bcryptprimitives.dll")
	if _, err := os.Stat(library); err != nil { // Wine 8 has none
		object := filepath.Join(w.dir, "prng.o")
		w.must(as, "tools/release/testdata/prng.s", "-o", object)
		w.must(ld, "-shared", "-e", "DllMain", object, "-o", library)
	}
	return w
}

// archived makes the archive for Windows, and gives the tapc that is in it.
func (w *wine) archived() string {
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		w.Fatal(err)
	}
	defer null.Close()
	m := &maker{out: filepath.Join(w.dir, "dist"), log: null}
	if err := m.make(w.ctx, []string{"windows/amd64"}); err != nil {
		w.Fatal(err)
	}
	name := "tapc-" + release.Version + "-windows-amd64"
	z, err := zip.OpenReader(filepath.Join(m.out, name+".zip"))
	if err != nil {
		w.Fatal(err)
	}
	defer z.Close()
	f, err := z.Open(name + "/tapc.exe")
	if err != nil {
		w.Fatal(err)
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	there := filepath.Join(w.dir, "tapc.exe")
	if err == nil {
		err = os.WriteFile(there, data, 0o755)
	}
	if err != nil {
		w.Fatal(err)
	}
	return there
}

func (w *wine) must(command string, args ...string) []byte {
	w.Helper()
	out, err := run(w.ctx, w.environment, command, args...)
	if err != nil {
		w.Fatal(err)
	}
	return out
}

// fails expects a status and a part of what is said.
func (w *wine) fails(status int, says string, args ...string) {
	w.Helper()
	cmd := exec.CommandContext(w.ctx, w.wine, args...)
	cmd.Env = append(os.Environ(), w.environment...)
	if out, err := cmd.CombinedOutput(); err == nil || cmd.ProcessState.ExitCode() != status || !bytes.Contains(out, []byte(says)) {
		w.Errorf("%v: %s", err, out)
	}
}
