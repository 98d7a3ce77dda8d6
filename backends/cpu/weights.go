package cpu

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"strings"

	"tensortapestry.org/tapc/backends/cpu/isa"
	"tensortapestry.org/tapc/backends/cpu/panels"
	"tensortapestry.org/tapc/backends/cpu/toolchain"
	"tensortapestry.org/tapc/internal/outputfile"
	"tensortapestry.org/tapc/ir/diag"
)

// WeightsSuffix is how the file beside a program ends that holds its constants, if they are not inside.
const WeightsSuffix = ".weights"

// A weights file is the block of constants, and behind it the digest of the block, which the program carries too. The
// program reserves addresses for the block, which take no room in its file, and maps the file there when it starts.

// separate writes the block beside the program and gives the sources that map it.
func separate(dir string, b *panels.Block, load panels.LoadConst, path string) ([]string, error) {
	var digest []byte
	err := outputfile.Replace(path, 0o644, func(f *os.File) error {
		sum := &summed{sha256.New(), f}
		if err := b.Write(sum, load); err != nil {
			return err
		}
		digest = sum.hash.Sum(nil)
		_, err := f.Write(digest)
		return err
	})
	if err != nil {
		return nil, err
	}
	reserve := fmt.Sprintf(".section .bss.tapc,\"aw\",%%nobits\n.balign 65536\n.globl tapc_constants\n.hidden tapc_constants\ntapc_constants:\n"+
		".zero %d\n.section .note.GNU-stack,\"\",%%progbits\n", isa.Align(b.Bytes, 1<<16))
	var id strings.Builder
	for _, x := range digest {
		fmt.Fprintf(&id, "\\x%s", hex.EncodeToString([]byte{x}))
	}
	mapping := fmt.Sprintf(mapWeights, filepath.Base(path), b.Bytes, id.String())
	files := []string{filepath.Join(dir, "constants.S"), filepath.Join(dir, "weights.c")}
	for i, text := range []string{reserve, mapping} {
		if err := os.WriteFile(files[i], []byte(text), 0o644); err != nil {
			return nil, diag.Fault("%v", err)
		}
	}
	return files, nil
}

// summed writes to a file and a digest.
type summed struct {
	hash hash.Hash
	to   io.Writer
}

func (s *summed) Write(p []byte) (int, error) {
	s.hash.Write(p)
	return s.to.Write(p)
}

// separateObjects compiles what separate gives.
func separateObjects(ctx context.Context, c *toolchain.Compiler, dir string, b *panels.Block, load panels.LoadConst, path string) ([]string, error) {
	sources, err := separate(dir, b, load, path)
	if err != nil {
		return nil, err
	}
	var objects []string
	for _, s := range sources {
		o := s + ".o"
		if err := c.Run(ctx, dir, "-O1", "-c", s, "-o", o); err != nil {
			return nil, err
		}
		objects = append(objects, o)
	}
	return objects, nil
}

// mapWeights maps the file before main runs. Its parameters are the file's name, the block's bytes, and its digest.
const mapWeights = `#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

extern unsigned char tapc_constants[] __attribute__((visibility("hidden")));
static const char file[] = "%s";
static const long long bytes = %d;
static const char id[] = "%s";

static void fail(const char *path, const char *why) {
  fprintf(stderr, "%%s: error: the constants of the program, %%s: %%s\n", program_invocation_short_name, path, why);
  exit(1);
}

__attribute__((constructor)) static void tapc_map_weights(void) {
  static char path[8192];
  ssize_t n = readlink("/proc/self/exe", path, sizeof path - sizeof file - 2);
  char *slash = NULL, found[32];
  struct stat s;
  if (n > 0) {
    path[n] = 0;
    slash = strrchr(path, '/');
  }
  memcpy(slash ? slash + 1 : path, file, sizeof file);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0 || fstat(fd, &s) != 0) fail(path, strerror(errno));
  if (s.st_size != bytes + 32 || pread(fd, found, 32, bytes) != 32 || memcmp(found, id, 32) != 0)
    fail(path, "it does not belong to this program");
  if (mmap(tapc_constants, (size_t)bytes, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0) == MAP_FAILED) fail(path, strerror(errno));
  close(fd);
}
`
