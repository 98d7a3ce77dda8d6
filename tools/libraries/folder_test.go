//go:build linux

package libraries_test

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tensortapestry.org/tapc/internal/testkit"
	"tensortapestry.org/tapc/library"
)

// integers has results that are the same on every machine.
const integers = `tapc 1
%x = tensor int32 [0:40, 0:50]
%w = tensor int32 [0:50, 0:30]
%z = tensor int32 [0:40, 0:30]
%y = tensor int32 [0:40, 0:30]
operation op:constant {value: 3} -> (result: %w)
operation op:matmul (X: %x, Y: %w) -> (Z: %z)
operation op:relu (tensor: %z) -> (result: %y)
`

// TestFolder builds what --emit=c writes to a folder with each compiler, also for another machine, and runs it.
func TestFolder(t *testing.T) {
	program, dir := tapc(t), t.TempDir()
	gnuMake := testkit.Program(t, testkit.Compilers, "make")
	write(t, filepath.Join(dir, "integers.tap"), integers)
	want := do(t, dir, nil, program, "run", "integers.tap", "--random", "1", "--reference")
	build := func(t *testing.T, cc string, runner []string) string {
		t.Parallel()
		folder := filepath.Join(t.TempDir(), "integers")
		do(t, dir, nil, program, "build", "integers.tap", "--emit=c", "-o", folder)
		do(t, folder, nil, gnuMake, "-j2", "CC="+cc, "CFLAGS=-O0 -Wall -Wextra -Werror")
		if out := do(t, folder, nil, append(slices.Clone(runner), filepath.Join(folder, "integers"), "--random", "1")...); out != want {
			t.Errorf("found\n%s\nwant\n%s", out, want)
		}
		return folder
	}
	for _, cc := range []string{"gcc", "clang"} {
		if testing.Short() && cc == "clang" {
			continue
		}
		t.Run(cc, func(t *testing.T) {
			cc := testkit.Program(t, testkit.Compilers, cc)
			folder := build(t, cc, nil)
			if again := do(t, folder, nil, gnuMake, "CC="+cc, "CFLAGS=-O0 -Wall -Wextra -Werror"); strings.Contains(again, "-c -o") {
				t.Errorf("it is compiled again:\n%s", again)
			}
			if other := do(t, folder, nil, gnuMake, "CC="+cc, "CFLAGS=-O1", "main.o"); !strings.Contains(other, "-c -o main.o") {
				t.Errorf("with other flags it is not compiled again:\n%s", other)
			}
			m := opened(t, filepath.Join(folder, "libintegers.so"), library.Options{})
			x, y := m.Inputs()[0].Make().([]int32), m.MakeOutputs()
			x[0] = 2
			if err := m.Run(context.Background(), library.Values{"x": x}, y); err != nil || y["y"].([]int32)[29] != 6 || y["y"].([]int32)[30] != 0 {
				t.Error(y, err)
			}
		})
	}
	if testing.Short() {
		return
	}
	t.Run("aarch64", func(t *testing.T) {
		tools := testkit.CrossAArch64(t, "gcc")
		build(t, tools.Compiler, tools.Emulator)
	})
}
