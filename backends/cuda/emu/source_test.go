package emu

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// body is the part of a unit that stands for the text.
func body(t *testing.T, unit string) string {
	t.Helper()
	_, rest, ok := strings.Cut(unit, "#line 1 \"kernel.cu\"\n")
	text, _, ok2 := strings.Cut(rest, "\n}  // namespace\n")
	if !ok || !ok2 {
		t.Fatalf("unit without a body:\n%s", unit)
	}
	return text
}

func TestTranslate(t *testing.T) {
	cases := []struct{ source, want string }{
		{"#include <x.h>\nint a;", "\nint a;"},
		{"extern __shared__ float s[];", "float (*const s) = reinterpret_cast<float (*)>(::tapc_emu::dynamic_shared());"},
		{"extern __shared__ __align__(16) unsigned char s[];", "unsigned char (*const s) = reinterpret_cast<unsigned char (*)>(::tapc_emu::dynamic_shared());"},
		{"extern __shared__ alignas(16)\nconst int s[][4];", "const int (*const s)[4] = reinterpret_cast<const int (*)[4]>(::tapc_emu::dynamic_shared())\n;"},
		{"static __shared__ int a;", " __shared__ int a; const ::tapc_emu::Held tapc_emu_held1(&a, sizeof a);"},
		{"__shared__ float a[N][N + 1], *b;", "__shared__ float a[N][N + 1], *b; const ::tapc_emu::Held tapc_emu_held1(&a, sizeof a); const ::tapc_emu::Held tapc_emu_held2(&b, sizeof b);"},
		{"__shared__ Pair<int, 3> __align__(8) p[2];", "__shared__ Pair<int, 3> __align__(8) p[2]; const ::tapc_emu::Held tapc_emu_held1(&p, sizeof p);"},
		{"// __shared__\nchar c = '\"'; /* __global__ */ auto r = R\"x(__shared__ )\" )x\";", "// __shared__\nchar c = '\"'; /* __global__ */ auto r = R\"x(__shared__ )\" )x\";"},
		{"#define K __global__ \\\n  __shared__\nint a;", "#define K __global__ \\\n  __shared__\nint a;"},
	}
	for _, c := range cases {
		unit, _, err := translate(c.source)
		if err != nil {
			t.Errorf("%q: %v", c.source, err)
			continue
		}
		if diff := cmp.Diff(c.want, body(t, unit)); diff != "" {
			t.Errorf("%q (-want +got)\n%s", c.source, diff)
		}
	}
}

func TestTranslateFindsKernels(t *testing.T) {
	const source = `
extern "C" __global__ void a(int x);
extern "C" __global__ void __launch_bounds__(2 * (64), 1) a(int x) {}
template <int N = (3)> __global__ void not_by_name(float* y) { __shared__ float s[N]; }
struct S { int x; };
static __global__ __attribute__((unused)) __launch_bounds__(32) void b() {}
__device__ void c(void (*f)(int)) {}
`
	_, kernels, err := translate(source)
	if err != nil {
		t.Fatal(err)
	}
	want := []kernel{{name: "a", bounds: "2 * (64), 1"}, {name: "b", bounds: "32"}}
	if diff := cmp.Diff(want, kernels, cmp.AllowUnexported(kernel{})); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestTranslateErrors(t *testing.T) {
	cases := []struct {
		source string
		line   int
	}{
		{"int a;\nk<<<1, 2>>>();", 2},
		{"extern __shared__ float s;", 1},
		{"extern __shared__ float s[", 1},
		{"\n\n__shared__ ;", 3},
		{"__shared__ float s", 1},
		{"__shared__ float s[", 1},
		{"__global__ void", 1},
		{"__global__ void k(", 1},
		{"extern __shared__ __align__(4", 1},
	}
	for _, c := range cases {
		_, _, err := translate(c.source)
		var wrong *SourceError
		if !errors.As(err, &wrong) || wrong.Line != c.line {
			t.Errorf("%q: error %v, expected one in line %d", c.source, err, c.line)
		}
	}
}

// Whatever the text, translating neither fails badly nor moves a line.
func TestTranslateKeepsLines(t *testing.T) {
	pieces := []string{"__shared__ ", "extern ", "static ", "__global__ ", "float ", "a", "[", "]", "(", ")", "{", "}", ";", ",", "<", ">",
		"\n", "#include <x>\n", "\"", "'", "//", "/*", "*/", "\\\n", "R\"(", "template ", "__launch_bounds__", "__align__", "1'0", "#"}
	rapid.Check(t, func(t *rapid.T) {
		source := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 40).Draw(t, "pieces"), "")
		unit, _, err := translate(source)
		if err != nil {
			return
		}
		_, rest, _ := strings.Cut(unit, "#line 1 \"kernel.cu\"\n")
		end := strings.LastIndex(rest, "\n}  // namespace\n")
		if got, want := strings.Count(rest[:end], "\n"), strings.Count(source, "\n"); got != want {
			t.Fatalf("%q has %d lines, its translation %d", source, want, got)
		}
	})
}
