package cpu

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tensortapestry.org/tapc/backends/cpu/cabi"
	"tensortapestry.org/tapc/backends/cpu/isa"
	"tensortapestry.org/tapc/backends/cpu/panels"
	"tensortapestry.org/tapc/backends/cpu/symbols"
	"tensortapestry.org/tapc/backends/cpu/toolchain"
	"tensortapestry.org/tapc/internal/interruptible"
	"tensortapestry.org/tapc/internal/outputfile"
	"tensortapestry.org/tapc/ir/diag"
)

// Options of Build and its kin.
type Options struct {
	Version string   // of tapc
	CPU     string   // processors to write code for, see Compiler.Targets
	Flags   []string // further compiler flags, behind the usual ones
	Weights string   // file beside an executable or library that the constants go to; "" puts them inside
	// Stage is told what begins: "compile", which writes constants too, and "link"; nil if nobody asks.
	Stage func(name string)
}

func (o *Options) begin(stage string) {
	if o.Stage != nil {
		o.Stage(stage)
	}
}

// Build compiles and links a program. The executable appears at path complete or not at all.
func Build(ctx context.Context, c *toolchain.Compiler, src *Source, load panels.LoadConst, path string, opt Options) error {
	return build(ctx, c, src, load, path, opt, executable)
}

// BuildLibrary compiles a program to a shared library for C and what can call C, and writes its header beside it: path with
// .h for its suffix. Both appear complete or neither does. What the library exports begins with the name in the header.
func BuildLibrary(ctx context.Context, c *toolchain.Compiler, src *Source, load panels.LoadConst, path string, opt Options) error {
	return build(ctx, c, src, load, path, opt, sharedLibrary)
}

// BuildObject is BuildLibrary, but gives an object file to link into another program, which needs -pthread -lm.
func BuildObject(ctx context.Context, c *toolchain.Compiler, src *Source, load panels.LoadConst, path string, opt Options) error {
	return build(ctx, c, src, load, path, opt, objectFile)
}

// artifact is what is built.
type artifact uint8

const (
	executable artifact = iota
	sharedLibrary
	objectFile
)

// String gives the value of --emit.
func (a artifact) String() string { return [...]string{"exe", "lib", "obj"}[a] }

// build compiles the parts of a program and links them.
func build(ctx context.Context, c *toolchain.Compiler, src *Source, load panels.LoadConst, path string, opt Options, what artifact) error {
	targets, err := c.Targets(ctx, opt.CPU)
	if err != nil {
		return err
	}
	if m := src.form.madeBy(); m != nil {
		m.Output, m.Compiler, m.Machine, m.Processors = what.String(), c.Version, c.Triple(), nil
		for _, t := range targets {
			m.Processors = append(m.Processors, t.Name)
		}
	}
	kernels, err := interruptible.Value(ctx, func() (written, error) { return src.form.code(0, targets) })
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "tapc-build-")
	if err != nil {
		return diag.Fault("a folder to build in: %v", err)
	}
	defer os.RemoveAll(dir)
	var files outputfile.Files // the program, and what is beside it
	defer files.Discard()
	opt.begin("compile")
	objects, err := objects(ctx, c, dir, kernels, src, load, opt, what, &files)
	if err != nil {
		return err
	}
	if what != executable {
		err := files.Add(headerBeside(path), 0o644, func(f *os.File) error {
			_, err := f.WriteString(src.form.description().Header())
			return err
		})
		if err != nil {
			return err
		}
	}
	opt.begin("link")
	if err := link(ctx, c, dir, objects, path, opt, what, &files); err != nil {
		return err
	}
	return files.Place()
}

// headerBeside gives the name of the header of a library or an object file.
func headerBeside(path string) string { return strings.TrimSuffix(path, filepath.Ext(path)) + ".h" }

// link makes one file of objects.
func link(ctx context.Context, c *toolchain.Compiler, dir string, objects []string, path string, opt Options, what artifact, files *outputfile.Files) error {
	var args []string
	mode := os.FileMode(0o755)
	switch what {
	case executable:
		args = slices.Concat(objects, []string{"-pthread", "-lm"}, c.Machine.NoBuildID())
	case sharedLibrary:
		args = slices.Concat([]string{"-shared", "-Wl,-Bsymbolic"}, objects, []string{"-pthread", "-lm"}, c.Machine.NoBuildID())
	case objectFile:
		args = append([]string{"-r", "-nostdlib"}, objects...)
		mode = 0o644
	}
	args = append(args, opt.Flags...)
	return files.Add(path, mode, func(f *os.File) error {
		f.Close() // the linker writes it
		if err := c.Run(ctx, dir, append(args, "-o", f.Name())...); err != nil {
			return err
		}
		if what == objectFile {
			if err := localize(f.Name()); err != nil {
				return err
			}
		}
		return os.Chmod(f.Name(), mode)
	})
}

// localize leaves an object file the names that it exports, so that it goes into a program beside others.
func localize(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return diag.Fault("%v", err)
	}
	if err := errors.Join(symbols.Localize(f), f.Close()); err != nil {
		return diag.Fault("the object file that the linker wrote: %v", err)
	}
	return nil
}

// constantsObject makes the object that holds the block of constants.
func constantsObject(ctx context.Context, c *toolchain.Compiler, dir string, b *panels.Block, load panels.LoadConst) (string, error) {
	object := filepath.Join(dir, "constants.o")
	if c.Machine.WritesObjects() {
		return object, b.WriteFile(object, func(f io.Writer) error {
			return toolchain.WriteObject(f, c.Machine.ELF, b.Bytes, func(w io.Writer) error { return b.Write(w, load) })
		})
	}
	file, path := filepath.Join(dir, "constants.bin"), filepath.Join(dir, "constants.S")
	if err := b.WriteFile(file, func(f io.Writer) error { return b.Write(f, load) }); err != nil {
		return "", err
	}
	if err := b.Assembly(path, file); err != nil {
		return "", err
	}
	return object, c.Run(ctx, dir, "-c", path, "-o", object)
}

// whole writes the file of the program, with the calls of its code.
func (s *Source) whole(calls string, what artifact, separate bool) (string, error) {
	var out strings.Builder
	fmt.Fprintf(&out, header, s.program.name, s.program.version, "")
	out.WriteString(calls)
	err := s.form.main(&out, separate)
	if what != executable {
		out.WriteString(cabi.Exports(s.program.name, what == sharedLibrary))
	}
	return out.String(), err
}

// code is as a form has it.
func (p *program) code(first int, targets []isa.Target) (written, error) {
	return codeOf([]*program{p}, first, targets, func(int) string { return "" })
}

// codeOf writes the kernels of programs, and the functions that run them, whose names begin with a prefix.
func codeOf(list []*program, first int, targets []isa.Target, prefix func(program int) string) (written, error) {
	out := written{next: first}
	var calls strings.Builder
	choice(&calls, targets)
	for i, p := range list {
		files, err := p.kernels(out.next, targets)
		if err != nil {
			return written{}, err
		}
		out.parts = append(out.parts, files...)
		var names []string
		for range targets {
			names = append(names, fmt.Sprintf("tapc_v%d_run", out.next))
			out.next++
		}
		dispatch(&calls, names, targets, prefix(i))
	}
	out.calls = calls.String()
	return out, nil
}

// kernels writes the kernels of versions, of which the first has a number.
func (p *program) kernels(first int, targets []isa.Target) ([]part, error) {
	var out []part
	if err := p.checkConfigs(targets); err != nil {
		return nil, err
	}
	for i, t := range targets {
		e, err := p.emit(t, fmt.Sprintf("tapc_v%d_", first+i))
		if err != nil {
			return nil, err
		}
		files, err := e.files(fmt.Sprintf("kernels%d", first+i))
		if err != nil {
			return nil, err
		}
		out = append(out, files...)
	}
	return out, nil
}

// partBytes is how much text one file of kernels holds at most, if it holds more than one kernel. Smaller files keep all cores
// busy to the end; each costs what starting the compiler does, a hundredth of a second or two.
const partBytes = 24 << 10

// writtenFlag is how much compilers optimize contractions, whose loops are written out for vectors and registers already: more takes
// them a third longer and gains nothing that could be measured.
const writtenFlag = "-O2"

// files writes the kernels of one target, and the function that runs them, in files of a size that compile side by side.
func (e *emitter) files(name string) ([]part, error) {
	var declarations strings.Builder
	for i := range e.codes {
		fmt.Fprintf(&declarations, "HIDDEN void %sk%d(void *const *b, tapc_pool *pool);\n", e.unit.Prefix, i)
	}
	top := fmt.Sprintf(header, e.name+" for "+e.unit.Target.Name, e.version, "") + "#define HIDDEN __attribute__((visibility(\"hidden\")))\n\n" +
		e.prelude() + declarations.String() + "\n"
	var out []part
	var text strings.Builder
	flush := func(flags ...string) {
		out = append(out, part{fmt.Sprintf("%s_%d", name, len(out)), top + text.String(), slices.Concat(e.unit.Target.Flags, flags), e.unit.Target.Name, []*program{e.program}})
		text.Reset()
	}
	for _, kind := range []struct {
		written bool
		flags   []string
	}{{true, []string{writtenFlag}}, {false, nil}} {
		for _, c := range e.codes {
			if c.written != kind.written {
				continue
			}
			k := c.String()
			if text.Len() > 0 && text.Len()+len(k) > partBytes {
				flush(kind.flags...)
			}
			text.WriteString(k)
		}
		if kind.written && text.Len() > 0 {
			flush(kind.flags...)
		}
	}
	fmt.Fprintf(&text, "HIDDEN int %srun(const tapc_program *program, const void *const *in, void *const *out, void *arena, tapc_pool *pool);\n", e.unit.Prefix)
	if err := e.run(&text, "", e.unit.Prefix+"run"); err != nil {
		return nil, err
	}
	flush()
	return out, nil
}
