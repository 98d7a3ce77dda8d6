package gpu

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tensortapestry.org/tapc/ir/diag"
)

const device = `{"ordinal": 0, "name": "a GPU", "compute_capability": "9.0", "multiprocessors": 132, "memory_bytes": 1, "shared_bytes": 1, "driver": 13000}`

// program makes a script the tapc-cuda that is found.
func program(t *testing.T, script string) string {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, Name)
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o777); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":/usr/bin:/bin")
	return path
}

// TestFind: what is missing is said with a code and what was looked for; answers that tapc-cuda never gives are refused.
func TestFind(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := Find(t.Context())
	if code(err) != codeProgram || !strings.Contains(err.Error(), Name+" beside ") || !strings.Contains(err.Error(), "or on PATH") {
		t.Errorf("nothing on PATH: %v", err)
	}
	for _, c := range []struct{ name, script, code, want string }{
		{"no driver", "echo 'tapc-cuda: error while loading shared libraries: libcuda.so.1: no such file' >&2; exit 127", codeDevice, "libcuda.so.1: no such file"},
		{"silent", "exit 3", codeDevice, "exit status 3"},
		{"none", "echo '[]'", codeDevice, "has no GPU"},
		{"no JSON", "echo hello", codeAnswer, `"hello"`},
		{"nothing", "true", codeAnswer, `""`},
		{"another form", "echo '{}'", codeAnswer, `"{}"`},
		{"no capability", "echo '[" + strings.Replace(device, "9.0", "nine", 1) + "]'", codeAnswer, "compute capability"},
		{"no name", "echo '[" + strings.Replace(device, "a GPU", "", 1) + "]'", codeAnswer, "a name"},
		{"much", "yes | head -c 100000", codeAnswer, "…"},
	} {
		t.Run(c.name, func(t *testing.T) {
			program(t, c.script)
			if r, err := Find(t.Context()); code(err) != c.code || !strings.Contains(err.Error(), c.want) {
				t.Errorf("found %v, %v; want %s with %q", r, err, c.code, c.want)
			}
		})
	}
	path := program(t, "[ $# = 1 ] && [ $1 = devices ] && echo '["+device+"]'")
	r, err := Find(t.Context())
	if err != nil || r.Program != path || r.Device.Name != "a GPU" || r.Device.Multiprocessors != 132 {
		t.Errorf("found %+v, %v", r, err)
	}
}

// code gives that of an error.
func code(err error) string {
	if list := diag.FromError(err); len(list) == 1 {
		return list[0].Code
	}
	return ""
}

// TestSession: what answers damaged, ends or hangs is an error that says so.
func TestSession(t *testing.T) {
	const greet = "echo '{\"device\": " + device + "}'; "
	for _, c := range []struct{ name, script, want string }{
		{"fails at the start", "echo 'tapc-cuda: launches[0] of kernel k0: LaunchFailed' >&2; exit 3", "launches[0] of kernel k0: LaunchFailed"},
		{"says nothing", "exit 3", "exit status 3"},
		{"greets with garbage", "echo hello", "TAP0923"},
		{"greets with more", "echo '{\"device\": {}, \"more\": 1}'", "TAP0923"},
		{"fails later", greet + "read n; echo 'it is lost' >&2; exit 3", "it is lost"},
		{"ends", greet + "read n", "ended"},
		{"no time", greet + "read n; echo '{}'", "TAP0923"},
		{"negative", greet + "read n; echo '{\"ms\": -1}'", "TAP0923"},
		{"too great", greet + "read n; echo '{\"ms\": 1e999}'", "TAP0923"},
		{"a text", greet + "read n; echo '{\"ms\": \"NaN\"}'", "TAP0923"},
		{"two", greet + "read n; echo '{\"ms\": 1} {\"ms\": 2}'", "TAP0923"},
		{"half a line", greet + "read n; printf '{\"ms\": 1'", "ended"},
		{"no end", greet + "read n; yes x | tr -d '\\n'", "TAP0923"},
		{"hangs", greet + "read n; sleep 100", "did not end within"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := &Runner{Program: program(t, c.script), Patience: 20 * time.Second}
			s, err := r.Start(t.Context(), "list.json")
			if err == nil {
				defer s.Close()
				if c.name == "hangs" {
					s.patience = 100 * time.Millisecond
				}
				_, err = s.Time(1)
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
	r := &Runner{Program: program(t, greet+"while read n; do echo \"{\\\"ms\\\": $n}\"; done"), Patience: 20 * time.Second}
	s, err := r.Start(t.Context(), "list.json")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for n, want := range map[int]float64{3: 0.003, 0: 0.001, 2 * mostPasses: mostPasses / 1e3} {
		if got, err := s.Time(n); err != nil || got != want {
			t.Errorf("%d passes take %v s, want %v: %v", n, got, want, err)
		}
	}
}

// TestInterrupt: when the context ends, so does the process, and the error is the context's.
func TestInterrupt(t *testing.T) {
	r := &Runner{Program: program(t, "echo '{\"device\": "+device+"}'; read n; sleep 100"), Patience: time.Minute}
	stopped := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	s, err := r.Start(ctx, "list.json")
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(50*time.Millisecond, func() { cancel(stopped) })
	if _, err := s.Time(1); !errors.Is(err, stopped) {
		t.Errorf("the error is %v", err)
	}
	s.Close()
	if s.cmd.ProcessState == nil {
		t.Error("the process did not end")
	}
}
