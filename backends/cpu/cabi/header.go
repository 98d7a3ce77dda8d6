package cabi

import (
	"fmt"
	"slices"
	"strings"

	"tensortapestry.org/tapc/backends/cnest"
	rt "tensortapestry.org/tapc/backends/cpu/runtime"
)

// Exports writes the functions of a library in C, behind its program (program_name, program_description and tapc_main_program). shared: it is loaded when a program runs, and loaders ask for its table by one name;
// what is linked into a program has no name that does not begin with its own.
func Exports(program string, shared bool) string {
	text := `
#define EXPORT __attribute__((visibility("default")))
EXPORT tapc_instance *NAME_create(int threads, char *error, size_t error_bytes) {
  return tapc_instance_create(&tapc_main_program, threads, error, error_bytes);
}
EXPORT int NAME_run(tapc_instance *instance, const void *const *inputs, void *const *outputs, char *error, size_t error_bytes) {
  return tapc_instance_run(instance, inputs, outputs, error, error_bytes);
}
EXPORT int NAME_run_at(tapc_instance *instance, const int64_t *sizes, const void *const *inputs, void *const *outputs, char *error, size_t error_bytes) {
  return tapc_instance_run_at(instance, sizes, inputs, outputs, error, error_bytes);
}
EXPORT int NAME_pin(tapc_instance *instance, int place, char *error, size_t error_bytes) {
  return tapc_instance_pin(instance, place, error, error_bytes);
}
EXPORT void NAME_destroy(tapc_instance *instance) { tapc_instance_destroy(instance); }
EXPORT const char *NAME_describe(void) { return tapc_main_program.describe; }
EXPORT const tapc_library *NAME_library(void) {
  static const tapc_library library = {TAPC_ABI, sizeof(tapc_library), program_name, program_description, NAME_create, NAME_run, NAME_destroy, NAME_run_at, NAME_pin};
  return &library;
}
`
	if shared {
		text += "EXPORT const tapc_library *tapc_library_of(void) { return NAME_library(); }\n"
	}
	return strings.ReplaceAll(text, "NAME", Identifier(program))
}

// Header writes the C header of a library.
func (d *Description) Header() string {
	name := Identifier(d.Program)
	var b strings.Builder
	fmt.Fprintf(&b, "// The C interface of %s. Written by tapc %s.\n//\n", cnest.Clip(d.Program), d.Tapc)
	arguments(&b, "Inputs", d.Inputs)
	arguments(&b, "Outputs", d.Outputs)
	guard := "TAPC_" + strings.ToUpper(name) + "_H"
	d.sharing(&b)
	fmt.Fprintf(&b, `// Every buffer is the caller's: row-major, aligned for its element type, and
// no output overlaps another buffer. The address of a buffer of 0 bytes does not matter.
#ifndef %s
#define %s

#include <stddef.h>
#include <stdint.h>

`, guard, guard)
	b.WriteString(onlyOnce(rt.LibraryInterface()))
	b.WriteString(d.macros(strings.ToUpper(name)))
	b.WriteString("#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n")
	fmt.Fprintf(&b, `// Makes an instance with a number of threads (0: one for each core that the process may use) and scratch memory (%d bytes, and
// %d for each further thread). All functions may be called from any thread; runs of one instance wait for each other, runs of
// different instances do not. On failure it gives NULL and one line of text in error, which is cut to error_bytes; error may be NULL.
`, d.Arena, d.Thread.Arena)
	b.WriteString(strings.ReplaceAll(strings.ReplaceAll(`tapc_instance *NAME_create(int threads, char *error, size_t error_bytes);

// Runs once. inputs and outputs hold the addresses of the buffers in the order above. It gives 0, or another number with one
// line of text in error: 1 if a value of an input is at fault, 2 if an address is (NULL, not aligned, or overlapping), 3 otherwise;
// then the outputs are undefined. Nothing is allocated.
int NAME_run(tapc_instance *instance, const void *const *inputs, void *const *outputs, char *error, size_t error_bytes);

SIZES// Binds each thread of an instance to a core: at place 0 to the first cores that the process may use, at place n to those behind n times as many, so that
// instances have cores of their own. Who calls a run is bound while it lasts. It gives 0, or another number with one line of text in error: 2 where
// there are fewer cores.
int NAME_pin(tapc_instance *instance, int place, char *error, size_t error_bytes);

// Ends the threads and frees the memory. No run may be in progress. NULL is allowed.
void NAME_destroy(tapc_instance *instance);

// The program's description as JSON text, as the executable prints it for --describe.
const char *NAME_describe(void);

// All of these as a table. A program that is compiled with this header and finds another library than it was compiled for can
// tell by NAME_library()->abi.
const tapc_library *NAME_library(void);

`, "SIZES", d.Sizes.header()), "NAME", name))
	b.WriteString("#ifdef __cplusplus\n}\n#endif\n#endif\n")
	return b.String()
}

// onlyOnce guards the part that all headers have.
func onlyOnce(text string) string {
	return fmt.Sprintf(`// What the headers of all libraries have in common.
#ifdef TAPC_ABI
#if TAPC_ABI != %d
#error "headers of libraries with different interfaces: build them with one version of tapc"
#endif
#else
%s#endif

`, Version, text)
}

// sharing says how inputs and outputs lie in one memory, if any do.
func (d *Description) sharing(b *strings.Builder) {
	if slices.ContainsFunc(d.Inputs, func(x Tensor) bool { return x.Beside != "" }) {
		b.WriteString("// An input and an output in one memory are at one address, that of the input; for the output, outputs may have NULL. The memory has the shape\n" +
			"// that is said above, at every size: an element of either is where the element with its coordinates is in that shape.\n//\n")
	}
}

// arguments lists inputs or outputs in a comment.
func arguments(b *strings.Builder, title string, list []Tensor) {
	fmt.Fprintf(b, "// %s:\n", title)
	for i, x := range list {
		shape := strings.Join(strings.Fields(fmt.Sprint(x.Shape)), ", ")
		fmt.Fprintf(b, "//   [%d] %s: %s %s, %d bytes\n", i, cnest.Clip(fmt.Sprintf("%q", x.Name)), x.DType, shape, x.Bytes)
		if x.Beside != "" {
			room := strings.Join(strings.Fields(fmt.Sprint(x.Room)), ", ")
			fmt.Fprintf(b, "//       in the memory of %s, from the start of %s on\n", cnest.Clip(fmt.Sprintf("%q", x.Beside)), room)
		}
	}
	b.WriteString("//\n")
}

// macros writes the numbers and names of inputs and outputs as macros, which begin with a name in capitals.
func (d *Description) macros(name string) string {
	m := macros{name: name, taken: map[string]bool{}}
	m.define("ABI", Version, "the interface that this header is for")
	m.define("INPUTS", len(d.Inputs), "")
	m.define("OUTPUTS", len(d.Outputs), "")
	m.tensors("INPUT", d.Inputs)
	m.tensors("OUTPUT", d.Outputs)
	return m.text.String() + "\n"
}

// macros are definitions with names that differ.
type macros struct {
	name  string
	taken map[string]bool
	text  strings.Builder
}

func (m *macros) define(word string, value any, about string) {
	m.taken[word] = true
	fmt.Fprintf(&m.text, "#define %s_%s %v", m.name, word, value)
	if about != "" {
		m.text.WriteString(" // " + about)
	}
	m.text.WriteByte('\n')
}

// property is what macros say of a tensor: the end of the macro's name, and the value.
type property struct {
	suffix string
	value  any
}

func properties(i int, x Tensor) []property {
	count := int64(1)
	for _, n := range x.Shape {
		count *= n
	}
	list := []property{{"", i}, {"_NAME", quoted(x.Name)}, {"_DTYPE", quoted(x.DType)}, {"_RANK", len(x.Shape)}}
	for d, n := range x.Shape {
		list = append(list, property{fmt.Sprintf("_DIM%d", d), n})
	}
	for d, n := range x.Strides {
		list = append(list, property{fmt.Sprintf("_STRIDE%d", d), n})
	}
	return append(list, property{"_COUNT", count}, property{"_BYTES", x.Bytes})
}

// tensors defines what is known of each input or output. Where two names become one macro the later one has a number behind it.
func (m *macros) tensors(kind string, list []Tensor) {
	for i, x := range list {
		all := properties(i, x)
		word := kind + "_" + upper(x.Name)
		for n := 2; m.takes(word, all); n++ {
			word = fmt.Sprintf("%s_%s_%d", kind, upper(x.Name), n)
		}
		for _, p := range all {
			m.define(word+p.suffix, p.value, "")
		}
	}
}

func (m *macros) takes(word string, list []property) bool {
	for _, p := range list {
		if m.taken[word+p.suffix] {
			return true
		}
	}
	return false
}

// upper writes a name in capitals, digits and underscores.
func upper(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return r - 'a' + 'A'
		case isLetter(r), isDigit(r):
			return r
		}
		return '_'
	}, name)
}

// quoted writes a text as a C literal.
func quoted(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= 0x7f || c == '"' || c == '\\' || c == '?' {
			fmt.Fprintf(&b, `\%03o`, c)
		} else {
			b.WriteByte(c)
		}
	}
	return `"` + b.String() + `"`
}
