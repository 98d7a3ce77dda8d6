package cpu

import (
	"fmt"
	"strings"

	"tensortapestry.org/tapc/backends/cnest"
	"tensortapestry.org/tapc/dialects/tensorops"
)

// identifier makes a C identifier of a program's name.
func identifier(name string) string {
	var b strings.Builder
	for i, r := range name {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r == '_', i > 0 && r >= '0' && r <= '9':
			b.WriteRune(r)
		case i == 0 && r >= '0' && r <= '9':
			b.WriteString("p" + string(r))
		default:
			b.WriteByte('_')
		}
	}
	if b.Len() == 0 {
		return "program"
	}
	return b.String()
}

// exports writes the functions that a library has.
func (p *program) exports() string {
	return strings.ReplaceAll(`
#define EXPORT __attribute__((visibility("default")))
EXPORT tapc_instance *NAME_create(int threads, char *error, size_t error_bytes) {
  return tapc_instance_create(&tapc_main_program, threads, error, error_bytes);
}
EXPORT int NAME_run(tapc_instance *instance, const void *const *inputs, void *const *outputs, char *error, size_t error_bytes) {
  return tapc_instance_run(instance, inputs, outputs, error, error_bytes);
}
EXPORT void NAME_destroy(tapc_instance *instance) { tapc_instance_destroy(instance); }
EXPORT const char *NAME_describe(void) { return tapc_main_program.describe; }
`, "NAME", identifier(p.name))
}

// header writes the C header of a library.
func (p *program) header() string {
	name := identifier(p.name)
	var b strings.Builder
	fmt.Fprintf(&b, "// The C interface of %s. Written by tapc %s.\n//\n", cnest.Clip(p.name), p.version)
	p.arguments(&b, "Inputs", p.Inputs)
	p.arguments(&b, "Outputs", p.Outputs)
	guard := "TAPC_" + strings.ToUpper(name) + "_H"
	fmt.Fprintf(&b, `// Every buffer is the caller's: row-major, aligned for its element type, and
// no output overlaps another buffer. The address of a buffer of 0 bytes does not matter.
#ifndef %s
#define %s

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

// The program made ready to run: its threads and its scratch memory (%d bytes, and %d for each further thread). All
// functions may be called from any thread; runs of one instance wait for each other, runs of different instances do not.
typedef struct tapc_instance tapc_instance;

// Makes an instance with a number of threads (0: one for each core that the process may use). On failure it gives NULL and
// one line of text in error, which is cut to error_bytes; error may be NULL.
`, guard, guard, p.arenaBytes(), p.thread)
	b.WriteString(strings.ReplaceAll(`tapc_instance *NAME_create(int threads, char *error, size_t error_bytes);

// Runs once. inputs and outputs hold the addresses of the buffers in the order above. It gives 0, or another number with one
// line of text in error: 1 if a value of an input is at fault, 2 if an address is (NULL, not aligned, or overlapping), 3 otherwise;
// then the outputs are undefined. Nothing is allocated.
int NAME_run(tapc_instance *instance, const void *const *inputs, void *const *outputs, char *error, size_t error_bytes);

// Ends the threads and frees the memory. No run may be in progress. NULL is allowed.
void NAME_destroy(tapc_instance *instance);

// The program's description as JSON text, as the executable prints it for --describe.
const char *NAME_describe(void);

`, "NAME", name))
	b.WriteString("#ifdef __cplusplus\n}\n#endif\n#endif\n")
	return b.String()
}

// arguments lists inputs or outputs in a comment.
func (p *program) arguments(b *strings.Builder, title string, list []tensorops.Named) {
	fmt.Fprintf(b, "// %s:\n", title)
	for i, x := range list {
		t := tensorops.TensorOf(p.g, x.Tensor)
		size, _ := t.Range.Size()
		shape := strings.Join(strings.Fields(fmt.Sprint(notNil(t.Range.Shape()))), ", ")
		fmt.Fprintf(b, "//   [%d] %s: %s %s, %d bytes\n", i, cnest.Clip(fmt.Sprintf("%q", x.Name)), t.DType, shape, size*int64(t.Type().Size()))
	}
	b.WriteString("//\n")
}
