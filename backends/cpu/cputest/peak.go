package cputest

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"tensortapestry.org/tapc/backends/cpu/toolchain"
)

// peakText runs its arguments as a program and prints the most memory that it had: the sum of its pages whenever it is about to give some back, and at its end.
// (The system's own count, ru_maxrss, is off by what each processor has not told yet, up to 32 pages.)
const peakText = `#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static long pages(pid_t child) {
  char name[64], line[512];
  long kilobytes = 0;
  snprintf(name, sizeof name, "/proc/%d/smaps_rollup", (int)child);
  FILE *f = fopen(name, "r");
  while (f && fgets(line, sizeof line, f))
    if (!strncmp(line, "Rss:", 4)) kilobytes = atol(line + 4);
  if (f) fclose(f);
  return kilobytes * 1024;
}

// gives says whether a thread is about to call the system for something that gives memory back.
static int gives(pid_t thread) {
  struct { uint8_t op, pad[3]; uint32_t arch; uint64_t ip, sp, number, rest[8]; } call;
  memset(&call, 0, sizeof call);
  if (ptrace(0x420e /* PTRACE_GET_SYSCALL_INFO */, thread, (void *)sizeof call, &call) < 0) {
    perror("ptrace");
    exit(125);
  }
  return call.op == 1 && (call.number == SYS_munmap || call.number == SYS_mremap || call.number == SYS_brk || call.number == SYS_madvise || call.number == SYS_exit_group);
}

int main(int argc, char **argv) {
  long most = 0;
  int status = argc;
  pid_t child = fork();
  if (child == 0) {
    if (ptrace(PTRACE_TRACEME, 0, 0, 0) < 0) _exit(125);
    raise(SIGSTOP);
    execv(argv[1], argv + 1);
    _exit(127);
  }
  waitpid(child, &status, 0);
  if (WIFEXITED(status) || ptrace(PTRACE_SETOPTIONS, child, 0, PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL) < 0) return 125;
  ptrace(PTRACE_SYSCALL, child, 0, 0);
  for (int program = 0;;) {
    pid_t thread = waitpid(-1, &status, __WALL);
    if (thread < 0 || thread == child && !WIFSTOPPED(status)) break;
    if (!WIFSTOPPED(status)) continue;
    int signal = WSTOPSIG(status), event = status >> 16;
    if (event == PTRACE_EVENT_EXEC) program = 1;
    if (signal == (SIGTRAP | 0x80) && program && gives(thread)) {
      long now = pages(child);
      if (now > most) most = now;
    }
    int own = event == 0 && signal != SIGTRAP && signal != (SIGTRAP | 0x80) && signal != SIGSTOP;
    ptrace(PTRACE_SYSCALL, thread, 0, own ? signal : 0);
  }
  printf("peak %ld\n", most);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 126;
}
`

// Peak gives a function that runs a command and gives the most memory that it had, in bytes. It skips the test on systems that count otherwise.
func Peak(t *testing.T, cc *toolchain.Compiler) func(command ...string) int64 {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("what a program has in memory is read from Linux's /proc")
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
		if failed := (*exec.ExitError)(nil); errors.As(err, &failed) && failed.ExitCode() == 125 {
			t.Skipf("the system does not let a program be watched: %s", failed.Stderr)
		}
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
