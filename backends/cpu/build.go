package cpu

import (
	"context"
	"os"
	"path/filepath"

	rt "tensortapestry.org/tapc/backends/cpu/runtime"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/tensorfile"
)

// Options of Build.
type Options struct {
	Version string   // of tapc
	CPU     string   // -march value: "native", "x86-64-v3", …; "baseline" is the compiler's default
	Flags   []string // further compiler flags, behind the usual ones
}

// LoadConst gives the value of constant number i of a Source.
type LoadConst func(c tensorops.Const) (tensorfile.Tensor, error)

// Build compiles and links a program. The executable appears at path complete or not at all.
func (c *Compiler) Build(ctx context.Context, src *Source, load LoadConst, path string, opt Options) error {
	lib, err := c.library(ctx, opt.Version)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "tapc-build-")
	if err != nil {
		return diag.Fault("a folder to build in: %v", err)
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "program.c")
	if err := os.WriteFile(program, []byte(src.C), 0o644); err != nil {
		return diag.Fault("%v", err)
	}
	args := append(Flags(opt.CPU), opt.Flags...)
	args = append(args, "-I", lib, program)
	if src.Bytes > 0 {
		assembly, err := writeConstants(dir, src, load)
		if err != nil {
			return err
		}
		args = append(args, assembly)
	}
	for _, name := range rt.Sources(true) {
		args = append(args, filepath.Join(lib, object(name)))
	}
	out, err := os.CreateTemp(filepath.Dir(path), ".tapc-")
	if err != nil {
		return err
	}
	out.Close()
	defer os.Remove(out.Name())
	if err := c.run(ctx, append(args, "-lm", "-o", out.Name())...); err != nil {
		return err
	}
	if err := os.Chmod(out.Name(), 0o755); err != nil {
		return diag.Fault("%v", err)
	}
	return os.Rename(out.Name(), path)
}

// writeConstants writes the block of constants and the assembly that includes it, and gives the assembly's path.
func writeConstants(dir string, src *Source, load LoadConst) (string, error) {
	file, path := filepath.Join(dir, "constants.bin"), filepath.Join(dir, "constants.S")
	if err := src.block.writeFile(file, load); err != nil {
		return "", err
	}
	return path, src.block.assembly(path, file)
}
