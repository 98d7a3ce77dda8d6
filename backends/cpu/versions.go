package cpu

import (
	"context"
	"os"
	"runtime"
	"slices"
	"strings"

	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/passes/tile"
)

// The caches that code is written for where nothing else is known.
const usualL2 = 1 << 20

var (
	v3Flags = []string{"-mavx2", "-mfma", "-mbmi", "-mbmi2", "-mf16c", "-mlzcnt", "-mmovbe", "-mpopcnt", "-msse4.2"}
	v4Flags = append(slices.Clone(v3Flags), "-mavx512f", "-mavx512bw", "-mavx512cd", "-mavx512dq", "-mavx512vl", "-mprefer-vector-width=512")
)

// levels are the processors that a portable program carries versions for, the best first. The flags name features, not
// levels, as older compilers know only those.
var levels = []Target{
	{tile.Target{Vector: 64, Registers: 32, L2: usualL2}, "x86-64-v4", v4Flags, []string{"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}},
	{tile.Target{Vector: 32, Registers: 16, L2: usualL2 / 2}, "x86-64-v3", v3Flags, []string{"avx2", "fma", "bmi", "bmi2"}},
	{tile.Target{Vector: 16, Registers: 16, L2: usualL2 / 2}, "x86-64", nil, nil},
}

// neon is the target where there are no versions to choose from.
var neon = Target{Target: tile.Target{Vector: 16, Registers: 32, L2: usualL2 / 2}, Name: "baseline"}

// Portable is the name for all versions of this machine's kind of processor in one program, of which the best that the
// processor can run is chosen when it starts.
const Portable = "portable"

// Targets gives the versions that a program for the named processors has, the best first: "portable" or "" for all levels,
// "baseline" for the least, or names, separated by commas, of levels or of what the compiler's -march takes.
func (c *Compiler) Targets(ctx context.Context, names string) ([]Target, error) {
	amd64 := runtime.GOARCH == "amd64"
	switch {
	case (names == "" || names == Portable) && amd64:
		return levels, nil
	case (names == "" || names == Portable || names == "baseline") && !amd64:
		return []Target{neon}, nil
	case names == "baseline":
		return levels[len(levels)-1:], nil
	}
	var out []Target
	for _, name := range strings.Split(names, ",") {
		t, err := c.target(ctx, strings.TrimSpace(name))
		if err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	if len(out) > 1 {
		for i, t := range out {
			if j := slices.IndexFunc(levels, func(l Target) bool { return l.Name == t.Name }); j < 0 || i > 0 && j <= levelOf(out[i-1]) {
				return nil, diag.Usage("--cpu=%s: expected several of x86-64-v4, x86-64-v3 and x86-64, in this order", names)
			}
		}
	}
	return out, nil
}

func levelOf(t Target) int {
	return slices.IndexFunc(levels, func(l Target) bool { return l.Name == t.Name })
}

// target finds one target by name: a level, or what the compiler says of a value of -march.
func (c *Compiler) target(ctx context.Context, name string) (Target, error) {
	if runtime.GOARCH == "amd64" {
		if i := slices.IndexFunc(levels, func(l Target) bool { return l.Name == name }); i >= 0 {
			return levels[i], nil
		}
	}
	flags := []string{"-march=" + name}
	dir, err := os.MkdirTemp("", "tapc-build-")
	if err != nil {
		return Target{}, diag.Fault("a folder for the compiler: %v", err)
	}
	defer os.RemoveAll(dir)
	text, err := c.output(ctx, dir, append(slices.Clone(flags), "-dM", "-E", "-x", "c", "/dev/null")...)
	switch {
	case err == nil:
		return targetOf(name, flags, text), nil
	case ctx.Err() != nil:
		return Target{}, err
	}
	return Target{}, diag.Usage("--cpu=%s: %s does not know it:\n%s", name, c.Path, firstLines(strings.TrimSpace(text), 3))
}

// targetOf reads what processor a compiler's macros describe.
func targetOf(name string, flags []string, macros string) Target {
	has := func(macro string) bool { return strings.Contains(macros, "#define "+macro+" ") }
	t := Target{Target: tile.Target{Vector: 16, Registers: 16, L2: usualL2}, Name: name, Flags: flags}
	switch {
	case has("__AVX512F__") && has("__AVX512BW__") && has("__AVX512DQ__") && has("__AVX512VL__"):
		t.Vector, t.Registers = 64, 32
		t.Flags = append(flags, "-mprefer-vector-width=512")
	case has("__AVX2__"):
		t.Vector = 32
	case has("__ARM_NEON") || has("__VSX__"):
		t.Registers = 32
	}
	return t
}
