package cpu

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"io"
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
	sum := &summed{hash: sha256.New()}
	err := files.Add(path, 0o644, func(f *os.File) error {
		sum.to = f
		if err := b.Write(sum, load); err != nil {
			return err
		}
		_, err := f.Write(sum.hash.Sum(nil))
		return err
	})
	if err != nil {
		return nil, err
	}
	reserve := fmt.Sprintf(".section .bss.tapc,\"aw\",%%nobits\n.balign 65536\n.globl tapc_constants\n.hidden tapc_constants\ntapc_constants:\n"+
		".zero %d\n.section .note.GNU-stack,\"\",%%progbits\n", isa.Align(b.Bytes, 1<<16))
	var id strings.Builder
	for _, x := range sum.hash.Sum(nil) {
		fmt.Fprintf(&id, "0x%02x, ", x)
	}
	where := fmt.Sprintf(weightsText, cexpr.String(filepath.Base(path)), b.Bytes, id.String(), sum.check.sum())
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

// summed writes to a file, a digest and a check.
type summed struct {
	hash  hash.Hash
	check check
	to    io.Writer
}

func (s *summed) Write(p []byte) (int, error) {
	s.hash.Write(p)
	s.check.write(p)
	return s.to.Write(p)
}

// check is the number of check_of in runtime/csrc/weights.c. Each lane takes every eighth word.
type check struct {
	lanes [8]uint64
	rest  []byte // less than a word for each lane
}

const checkFactor = 0x9e3779b97f4a7c15

func (c *check) write(p []byte) {
	const step = 8 * len(c.lanes)
	if len(c.rest) > 0 {
		n := min(len(p), step-len(c.rest))
		c.rest, p = append(c.rest, p[:n]...), p[n:]
		if len(c.rest) < step {
			return
		}
		c.words(c.rest)
		c.rest = c.rest[:0]
	}
	for ; len(p) >= step; p = p[step:] {
		c.words(p)
	}
	c.rest = append(c.rest, p...)
}

func (c *check) words(p []byte) {
	for i := range c.lanes {
		c.lanes[i] = (c.lanes[i] ^ binary.LittleEndian.Uint64(p[8*i:])) * checkFactor
	}
}

func (c *check) sum() (all uint64) {
	for _, x := range c.lanes {
		all = (all ^ x ^ x>>32) * checkFactor
	}
	return all
}

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
