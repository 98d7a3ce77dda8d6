package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestMake makes the archive of this system twice, and runs the tapc in it.
func TestMake(t *testing.T) {
	if testing.Short() {
		t.Skip("it links four programs")
	}
	if runtime.GOOS == "windows" {
		t.Skip("the archive is another there")
	}
	t.Chdir("../..")
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	var made []map[string][]byte
	for range 2 {
		m := &maker{out: t.TempDir(), log: null}
		if err := m.make(context.Background(), []string{runtime.GOOS + "/" + runtime.GOARCH}); err != nil {
			t.Fatal(err)
		}
		files := map[string][]byte{}
		list, err := os.ReadDir(m.out)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range list {
			if files[f.Name()], err = os.ReadFile(filepath.Join(m.out, f.Name())); err != nil {
				t.Fatal(err)
			}
		}
		made = append(made, files)
	}
	if len(made[0]) != 3 || len(made[1]) != 3 {
		t.Errorf("%d and %d files", len(made[0]), len(made[1]))
	}
	for name, data := range made[0] {
		if !bytes.Equal(data, made[1][name]) {
			t.Errorf("%s is another the second time", name)
		}
		switch {
		case strings.HasSuffix(name, ".tar.gz"):
			checkArchive(t, data)
		case strings.HasSuffix(name, ".json"):
			var list struct{ Components []component }
			if err := json.Unmarshal(data, &list); err != nil || len(list.Components) < 5 || list.Components[1].PURL == "" {
				t.Errorf("%v: %s", err, data)
			}
		}
	}
}

// checkArchive looks for what an archive must have, and asks its tapc for its version.
func checkArchive(t *testing.T, data []byte) {
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	files, r := map[string][]byte{}, tar.NewReader(z)
	for {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		_, name, _ := strings.Cut(h.Name, "/")
		if files[name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
	for name, part := range map[string]string{"man/man1/tapc-build.1": ".SH SYNOPSIS", "man/man1/tapc.1": "tapc\\-inspect(1)", "completions/tapc.bash": "complete ", "completions/_tapc": "#compdef tapc",
		"completions/tapc.fish": "complete -c tapc", "docs/cli.md": "## tapc build", "LICENSE": "", "tapc": ""} {
		if text, ok := files[name]; !ok || !bytes.Contains(text, []byte(part)) {
			t.Errorf("%s is not there, or has no %q", name, part)
		}
	}
	program := filepath.Join(t.TempDir(), "tapc")
	if err := os.WriteFile(program, files["tapc"], 0o755); err != nil {
		t.Fatal(err)
	}
	if out, err := run(context.Background(), nil, program, "version"); err != nil || !strings.HasPrefix(string(out), "tapc ") {
		t.Errorf("%s %v", out, err)
	}
}

func TestMisuse(t *testing.T) {
	for _, system := range []string{"", "linux", "/amd64"} {
		if err := (&maker{out: filepath.Join(t.TempDir(), "none")}).make(context.Background(), []string{system}); err == nil || !strings.Contains(err.Error(), "expected a system") {
			t.Errorf("%q: %v", system, err)
		}
	}
}
