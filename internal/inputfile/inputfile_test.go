//go:build unix

package inputfile

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Each kind of file that is not regular is refused by name, at once.
func TestOpen(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := syscall.Mkfifo(at("pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", at("socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := errors.Join(os.WriteFile(at("file"), []byte("text"), 0o600), os.Symlink("pipe", at("link")), os.Symlink("file", at("good"))); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{at("pipe"): "named pipe", at("link"): "named pipe", at("socket"): "a socket", dir: "a directory",
		"/dev/null": "a device", "/dev/zero": "a device", at("none"): "no such file", at("file"): "", at("good"): ""} {
		done := make(chan error, 1)
		go func() {
			f, err := Open(path)
			if err == nil {
				f.Close()
			}
			done <- err
		}()
		select {
		case err := <-done:
			var p *fs.PathError
			if want == "" && err != nil || want != "" && (!errors.As(err, &p) || !strings.Contains(err.Error(), want)) {
				t.Errorf("%s: expected %q, found %v", path, want, err)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("%s: still waiting", path)
		}
	}
}

func TestReadText(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := w.WriteString("from a pipe"); err != nil {
		t.Fatal(err)
	}
	w.Close()
	piped := filepath.Join("/dev/fd", strconv.Itoa(int(r.Fd())))
	if text, err := ReadText(piped, 100); err != nil || string(text) != "from a pipe" {
		t.Errorf("%s: %q, %v", piped, text, err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, make([]byte, 100), 0o600); err != nil {
		t.Fatal(err)
	}
	for limit, want := range map[int64]string{100: "", 99: "at most 99 bytes"} {
		if _, err := ReadText(file, limit); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("limit %d: expected %q, found %v", limit, want, err)
		}
	}
	if _, err := ReadText("/dev/zero", 100); err == nil || !strings.Contains(err.Error(), "a device") {
		t.Error(err)
	}
}
