package cpu_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"tensortapestry.org/tapc/backends/conformance"
	"tensortapestry.org/tapc/backends/cpu"
	"tensortapestry.org/tapc/backends/cpu/cputest"
)

func TestMain(m *testing.M) { os.Exit(cputest.Main(m)) }

// formCase is a graph whose code has one text, and has not another, which says what form it has. An empty text says nothing.
type formCase struct{ name, graph, has, hasNot string }

// formOf is a graph whose code has a text or has not.
func formOf(name, graph, text string, has bool) formCase {
	if has {
		return formCase{name, graph, text, ""}
	}
	return formCase{name, graph, "", text}
}

// formsTogether is how many graphs are one program: what is the same in all programs takes as long to compile as some of them.
const formsTogether = 6

// executeForms looks at the code of each graph alone, and executes them as conformance.Graph does, several in a program, with the
// flags of cputest.Strictly: on this processor, and on those of another level if elsewhere says so of a program.
func executeForms(t *testing.T, forms []formCase, elsewhere func() bool) {
	t.Helper()
	cc := cputest.Compiler(t)
	for _, f := range forms {
		src, err := cpu.Emit(cputest.Scheduled(t, f.graph), "test", "test")
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(src.C, f.has) || f.hasNot != "" && strings.Contains(src.C, f.hasNot) {
			t.Errorf("%s: expected %q and no %q in the code", f.name, f.has, f.hasNot)
		}
	}
	for some := range slices.Chunk(forms, formsTogether) {
		ways := []conformance.Execute{cputest.Strictly(cc)(cputest.RandomConstant)}
		if elsewhere() {
			ways = append(ways, cputest.Executes(cc, "x86-64-v3", cputest.Strict)(cputest.RandomConstant))
		}
		t.Run(some[0].name+" and on", func(t *testing.T) {
			t.Parallel()
			var graphs []string
			for i, f := range some {
				t.Logf("c%d is %s", i, f.name)
				graphs = append(graphs, f.graph)
			}
			conformance.Graph(t, cputest.Operations(t, cputest.Together(graphs...)), cputest.Device, cputest.RandomConstant, ways...)
		})
	}
}

// never is for programs that run on this processor alone.
func never() bool { return false }
