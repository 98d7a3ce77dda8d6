package lowprecision_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"

	"tensortapestry.org/tapc/backends/cpu/cputest"
	"tensortapestry.org/tapc/backends/cpu/micro"
)

// tileProducts multiplies a tile by another, once as bytes and once as bfloat16.
const tileProducts = `
static void %s(const void *sums, const void *left, const void *right, void *bytes, void *bf16) {
  tapc_tile_config();
  tapc_tile_load(0, sums);
  tapc_tile_load(1, sums);
  tapc_tile_load_once(2, left);
  tapc_tile_load_apart(3, right, 64);
  tapc_tile_bytes(0, 2, 3);
  tapc_tile_bf16(1, 2, 3);
  tapc_tile_store(0, bytes);
  tapc_tile_store(1, bf16);
  tapc_tile_release();
}
`

// tileNumbers fills tiles with numbers of some exponents each, of float32 and of bfloat16, or with any bits, and compares what both give for them.
const tileNumbers = `
static uint64_t state = 1;
static uint32_t any(void) { return (state = state * 6364136223846793005u + 1442695040888963407u) >> 32; }
static uint32_t number(uint32_t from, uint32_t count) { return (any() & 0x807fffff) | (from + any() % count) << 23; }
static int nan(uint32_t x) { return (x & 0x7fffffff) > 0x7f800000; }
int main(void) {
  if (!(tapc_features() & TAPC_AMX_INT8) || !(tapc_features() & TAPC_AMX_BF16)) return 2;
  static const uint32_t exponents[5][4] = {{0, 0}, {120, 14, 120, 14}, {0, 3, 0, 140}, {60, 3, 0, 140}, {0, 255, 0, 255}};
  uint32_t sums[256], bytes[2][256], bf16[2][256];
  uint16_t left[512], right[512];
  int wrong = 0;
  for (int round = 0; round < 1000; round++) {
    const uint32_t *e = exponents[round % 5];
    for (int x = 0; x < 256; x++) sums[x] = e[1] ? number(e[0], e[1]) : any();
    for (int x = 0; x < 512; x++) left[x] = (e[1] ? number(e[0], e[1]) : any()) >> 16, right[x] = (e[1] ? number(e[2], e[3]) : any()) >> 16;
    processor(sums, left, right, bytes[0], bf16[0]);
    emulated(sums, left, right, bytes[1], bf16[1]);
    for (int x = 0; x < 256; x++) {
      if (bytes[0][x] != bytes[1][x] && wrong++ < 10) printf("bytes, round %d: processor %#x, emulated %#x\n", round, bytes[0][x], bytes[1][x]);
      if (bf16[0][x] != bf16[1][x] && !(nan(bf16[0][x]) && nan(bf16[1][x])) && wrong++ < 10)
        printf("bfloat16, round %d: processor %#x, emulated %#x\n", round, bf16[0][x], bf16[1][x]);
    }
  }
  return wrong > 0;
}
`

// TestEmulatedUnit holds the emulated matrix unit, by which the tests of products run everywhere, to a processor that has one: both give the same bits, of NaN aside, for
// any bits, and for numbers among which there are denormal ones, infinite ones, and results that are either.
func TestEmulatedUnit(t *testing.T) {
	cc := cputest.Compiler(t)
	needX86(t, cc)
	if !cputest.Has(t, cc, "(tapc_features() & TAPC_AMX_INT8) && (tapc_features() & TAPC_AMX_BF16)") {
		t.Skip("this processor has no AMX: the emulated unit was not compared with one")
	}
	header, err := filepath.Abs("testdata/tiles.h")
	if err != nil {
		t.Fatal(err)
	}
	text := cputest.WithFeatures("#include <stdio.h>\n" + fmt.Sprintf("#include %q\n", header) + fmt.Sprintf(tileProducts, "emulated") +
		"#define TAPC_X86_DOT 1\n" + micro.Text("tiles.c") + fmt.Sprintf(tileProducts, "processor") + tileNumbers)
	if out, err := exec.Command(cputest.CompileC(t, cc, text, "-O2", "-ffp-contract=off", "-Wno-unused-function")).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// refusing is a program in which the system refuses tile registers, as older ones do and as filters of system calls may: then there is no matrix unit for it, and all else is as in a
// process of its own.
const refusing = `
#if defined(__linux__) && defined(__x86_64__)
#include <errno.h>
#include <stddef.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/wait.h>
int main(void) {
  struct sock_filter rules[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_arch_prctl, 0, 1),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {sizeof rules / sizeof *rules, rules};
  const unsigned matrix = TAPC_AMX_INT8 | TAPC_AMX_BF16;
  const pid_t child = fork();
  if (child == 0) _exit((int)(tapc_features() & ~matrix & 127)); // with leave, if it is given
  int status;
  if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status)) return 3;
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) return 2;
  if (tapc_features() & matrix) return 1;
  return (int)(tapc_features() & 127) == WEXITSTATUS(status) ? 0 : 4;
}
#else
int main(void) { return 2; }
#endif
`

// TestLeaveRefused: where the system refuses tile registers, programs have all features but the matrix unit.
func TestLeaveRefused(t *testing.T) {
	cc := cputest.Compiler(t)
	needX86(t, cc)
	err := exec.Command(cputest.CompileC(t, cc, cputest.WithFeatures(refusing))).Run()
	if exit, ok := err.(*exec.ExitError); ok && exit.ExitCode() == 2 {
		t.Skip("this system takes no filter of system calls")
	}
	if err != nil {
		t.Errorf("%v (1: there is a matrix unit without leave, 4: other features are gone)", err)
	}
}
