package cputest

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"tensortapestry.org/tapc/backends/cpu/toolchain"
)

// peakText runs its arguments as a program and prints the most memory that it had. (The parent of a program has a share in that figure
// when it starts it; a small parent has a small one.)
const peakText = `#define _GNU_SOURCE
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char **argv) {
  int status = argc;
  struct rusage used;
  if (fork() == 0) {
    execv(argv[1], argv + 1);
    _exit(127);
  }
  wait4(-1, &status, 0, &used);
  printf("peak %ld\n", used.ru_maxrss * 1024);
  return WEXITSTATUS(status);
}
`

// Peak gives a function that runs a command and gives the most memory that it had, in bytes. It skips the test on systems that count otherwise.
func Peak(t *testing.T, cc *toolchain.Compiler) func(command ...string) int64 {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("the unit of ru_maxrss is Linux's")
	}
	dir := t.TempDir()
	wrapper := filepath.Join(dir, "peak")
	if err := os.WriteFile(wrapper+".c", []byte(peakText), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := cc.Run(t.Context(), dir, wrapper+".c", "-o", wrapper); err != nil {
		t.Fatal(err)
	}
	return func(command ...string) int64 {
		t.Helper()
		out, err := exec.Command(wrapper, command...).Output()
		at := strings.LastIndex(string(out), "peak ")
		if err != nil || at < 0 {
			t.Fatalf("%v: %s", err, out)
		}
		peak, err := strconv.ParseInt(strings.TrimSpace(string(out[at+len("peak "):])), 10, 64)
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return peak
	}
}
