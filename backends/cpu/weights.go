package cpu

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tensortapestry.org/tapc/backends/cexpr"
	"tensortapestry.org/tapc/backends/cpu/isa"
	"tensortapestry.org/tapc/backends/cpu/panels"
	"tensortapestry.org/tapc/backends/cpu/toolchain"
	"tensortapestry.org/tapc/internal/outputfile"
	"tensortapestry.org/tapc/ir/diag"
)

// A weights file is the block of constants, and behind it the digest of the block, which the program carries too. The
// program reserves addresses for the block, which take no room in its file, and maps the file there when it starts, as
// runtime/csrc/weights.c says.

// separate writes the block to a file of its own, one of those that belong together, and gives the sources that say where it is to be.
func separate(dir string, b *panels.Block, load panels.LoadConst, path string, files *outputfile.Files) ([]string, error) {
	var sum *panels.Summed
	err := files.Add(path, 0o644, func(f *os.File) error {
		sum = panels.NewSummed(f)
		if err := b.Write(sum, load); err != nil {
			return err
		}
		_, err := f.Write(sum.Digest())
		return err
	})
	if err != nil {
		return nil, err
	}
	reserve := fmt.Sprintf(".section .bss.tapc,\"aw\",%%nobits\n.balign 65536\n.globl tapc_constants\n.hidden tapc_constants\ntapc_constants:\n"+
		".zero %d\n.section .note.GNU-stack,\"\",%%progbits\n", isa.Align(b.Bytes, 1<<16))
	var id strings.Builder
	for _, x := range sum.Digest() {
		fmt.Fprintf(&id, "0x%02x, ", x)
	}
	where := fmt.Sprintf(weightsText, cexpr.String(filepath.Base(path)), b.Bytes, id.String(), sum.Check())
	sourceFiles := []string{filepath.Join(dir, "constants.S"), filepath.Join(dir, "weights.c")}
	for i, text := range []string{reserve, where} {
		if err := os.WriteFile(sourceFiles[i], []byte(text), 0o644); err != nil {
			return nil, diag.Fault("%v", err)
		}
	}
	return sourceFiles, nil
}

// weightsText says what the file is. Its parameters are the file's name, the block's bytes, its digest and its check.
const weightsText = `#include "tapc_rt.h"

extern unsigned char tapc_constants[] __attribute__((visibility("hidden")));
extern const tapc_weights tapc_program_weights __attribute__((visibility("hidden")));
const tapc_weights tapc_program_weights = {%s, %d, {%s}, UINT64_C(%d), tapc_constants};
`

// separateObjects compiles what separate gives.
func separateObjects(ctx context.Context, c *toolchain.Compiler, dir string, b *panels.Block, load panels.LoadConst, path string, flags []string, files *outputfile.Files) ([]string, error) {
	sources, err := separate(dir, b, load, path, files)
	if err != nil {
		return nil, err
	}
	var objects []string
	for _, s := range sources {
		o := s + ".o"
		if err := c.Run(ctx, dir, slices.Concat(flags, []string{"-O1", "-I", dir, "-c", s, "-o", o})...); err != nil {
			return nil, err
		}
		objects = append(objects, o)
	}
	return objects, nil
}
