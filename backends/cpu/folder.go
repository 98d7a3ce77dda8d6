package cpu

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tensortapestry.org/tapc/backends/cpu/cabi"
	"tensortapestry.org/tapc/backends/cpu/isa"
	"tensortapestry.org/tapc/backends/cpu/panels"
	rt "tensortapestry.org/tapc/backends/cpu/runtime"
	"tensortapestry.org/tapc/backends/cpu/toolchain"
	"tensortapestry.org/tapc/ir/diag"
)

// family is the processors of one architecture.
type family struct {
	condition string // of the C preprocessor
	isa.Machine
}

// families are those that a folder has versions for, and at the end all others.
func families() []family {
	var out []family
	for _, m := range isa.Machines() {
		condition := "1"
		if m.Name != "" {
			condition = "defined(__" + m.Name + "__)"
		}
		out = append(out, family{condition, m})
	}
	return out
}

// Folder writes a program as a folder of C that a compiler builds on any machine: its kernels for each architecture, the run-time library,
// the constants, the header of the library, and a makefile.
func (s *Source) Folder(ctx context.Context, load panels.LoadConst, dir string) error {
	p, files := s.program, map[string]string{}
	m := &makefile{name: cabi.Identifier(p.name), version: p.version}
	for name, text := range rt.Files() {
		files[name] = string(text)
	}
	var calls strings.Builder
	first := 0
	for i, f := range families() {
		c, err := s.form.code(first, f.Portable)
		if err != nil {
			return err
		}
		fmt.Fprintf(&calls, "#%s %s\n%s", [2]string{"if", "elif"}[min(i, 1)], f.condition, c.calls)
		for _, x := range c.parts {
			files[x.name+".c"] = "#if " + f.condition + "\n" + x.text + "#endif\n"
		}
		m.families, first = append(m.families, madeFamily{f, c.parts}), c.next
	}
	var err error
	if files["program.c"], err = s.whole(calls.String()+"#endif\n\n", sharedLibrary, false); err != nil {
		return err
	}
	if p.Block.Bytes > 0 {
		if err := p.Block.WriteFile(filepath.Join(dir, "constants.bin"), func(f io.Writer) error { return p.Block.Write(f, load) }); err != nil {
			return err
		}
		m.constants, files["constants.c"] = true, constantsText
	}
	files[m.name+".h"], files["Makefile"] = s.form.description().Header(), m.String()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			return diag.Fault("%v", err)
		}
	}
	return context.Cause(ctx)
}

// constantsText takes the file of constants into the program.
const constantsText = `// The constants of the program, from constants.bin in the folder that the compiler runs in.
__asm__(".section .rodata\n.balign 4096\n.globl tapc_constants\n.hidden tapc_constants\ntapc_constants:\n.incbin \"constants.bin\"\n.text\n");
`

// makefile builds a folder with GNU make.
type makefile struct {
	name, version string
	constants     bool
	families      []madeFamily
}

type madeFamily struct {
	family
	parts []part
}

func (m *makefile) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, `# Builds %[1]s, an executable, and lib%[1]s.so with GNU make and a C11 compiler that has GNU C: GCC or Clang, for any
# little-endian machine with POSIX. "make CC=aarch64-linux-gnu-gcc" builds for another.
NAME = %[1]s
CFLAGS = -O3
FLAGS = %[2]s -fPIC -fvisibility=hidden -pthread -DTAPC_VERSION='"%[3]s"'
machine := $(firstword $(subst -, ,$(shell $(CC) -dumpmachine)))
gnu := $(findstring Free Software Foundation,$(shell $(CC) --version))
objects = program.o%[4]s

`, m.name, strings.Join(without(toolchain.UsualFlags(), []string{"-O3"}), " "), m.version, map[bool]string{true: " constants.o"}[m.constants])
	for _, f := range m.families {
		if f.Name != "" {
			fmt.Fprintf(&b, "ifneq ($(filter %s,$(machine)),)\n", strings.Join(f.Names(), " "))
		}
		for _, x := range f.parts {
			fmt.Fprintf(&b, "objects += %s.o\n", x.name)
			if len(x.flags) > 0 {
				fmt.Fprintf(&b, "%s.o: FLAGS += %s\n", x.name, strings.Join(x.flags, " "))
			}
		}
		if len(f.Stack) > 0 {
			fmt.Fprintf(&b, "ifneq ($(gnu),)\nFLAGS += %s\nendif\n", strings.Join(f.Stack, " "))
		}
		if f.Name != "" {
			b.WriteString("else\n")
		}
	}
	b.WriteString(strings.Repeat("endif\n", len(m.families)-1))
	var headers []string
	for _, name := range slices.Sorted(maps.Keys(rt.Files())) {
		if strings.HasSuffix(name, ".h") {
			headers = append(headers, name)
		}
	}
	fmt.Fprintf(&b, `
library = %s
rest = %s

all: $(NAME) lib$(NAME).so

$(NAME): $(objects) $(library) $(rest)
	$(CC) $(LDFLAGS) -o $@ $^ -pthread -lm

lib$(NAME).so: $(objects) $(library)
	$(CC) $(LDFLAGS) -shared -Wl,-Bsymbolic -o $@ $^ -pthread -lm

%%.o: %%.c made-by %s
	$(CC) $(CFLAGS) $(FLAGS) -c -o $@ $<

# Objects are made again by another compiler, or with other flags.
made-by: FORCE
	@echo '$(CC) $(CFLAGS)' | cmp -s - $@ || echo '$(CC) $(CFLAGS)' > $@

clean:
	rm -f $(NAME) lib$(NAME).so *.o made-by

.PHONY: all clean FORCE
`, objectsOf(rt.Sources(false)), objectsOf(without(rt.Sources(true), rt.Sources(false))), strings.Join(headers, " "))
	if m.constants {
		b.WriteString("\nconstants.o: constants.bin\n")
	}
	return b.String()
}

func objectsOf(sources []string) string {
	return strings.ReplaceAll(strings.Join(sources, " "), ".c", ".o")
}

func without(list, others []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return slices.Contains(others, s) })
}
