package cpu

import (
	"fmt"
	"strings"

	"tensortapestry.org/tapc/backends/cpu/isa"
)

const runParameters = "const tapc_program *program, const void *const *in, void *const *out, void *arena, tapc_pool *pool"

// choice writes what dispatch needs.
func choice(out *strings.Builder, targets []isa.Target) {
	if len(targets) > 1 {
		out.WriteString("\nextern char *getenv(const char *name);\n\n" +
			"// Whether the version is the one that TAPC_CPU names, or none is named.\n" +
			"static int wanted(const char *version) {\n  const char *name = getenv(\"TAPC_CPU\");\n" +
			"  return !name || !__builtin_strcmp(name, version);\n}\n")
	}
}

// dispatch writes the function run, its name behind a prefix, which chooses among the functions for targets: the first that the processor can
// run, or the one that the environment variable TAPC_CPU names, if the processor can run it.
func dispatch(out *strings.Builder, names []string, targets []isa.Target, prefix string) {
	for i, t := range targets {
		fmt.Fprintf(out, "__attribute__((visibility(\"hidden\"))) int %s(%s); // %s\n", names[i], runParameters, t.Name)
	}
	fmt.Fprintf(out, "\nstatic int %srun(%s) {\n", prefix, runParameters)
	for i, t := range targets {
		call := fmt.Sprintf("return %s(program, in, out, arena, pool);", names[i])
		if i+1 == len(targets) {
			fmt.Fprintf(out, "  %s\n", call)
		} else {
			fmt.Fprintf(out, "  if ((%s) && wanted(%q))\n    %s\n", t.Has, t.Name, call)
		}
	}
	out.WriteString("}\n\n")
}
