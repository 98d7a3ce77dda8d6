package cpu

import (
	"context"
	"os"
	"slices"
	"strings"

	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/passes/tile"
)

// The second cache that code is written for where nothing else is known.
const usualL2 = 1 << 20

// What --cpu takes besides names of processors.
const (
	Portable = "portable" // versions for several levels of the compiler's machine, of which the best that the processor can run is chosen when the program starts
	Baseline = "baseline" // the least of the levels
	Native   = "native"   // this machine's processor, where the compiler is one for it
)

// Targets gives the versions that a program for the named processors has, the best first: Portable, Baseline, or names, separated by
// commas, of levels or of what the compiler knows. "" is Native, or Portable if the compiler writes for other machines.
func (c *Compiler) Targets(ctx context.Context, names string) ([]Target, error) {
	switch names {
	case "":
		if t, _, err := c.described(ctx, Native); err == nil || ctx.Err() != nil {
			return []Target{t}, err
		}
		return c.machine.portable, nil
	case Portable:
		return c.machine.portable, nil
	case Baseline:
		return c.machine.levels[len(c.machine.levels)-1:], nil
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
			if j := c.machine.level(t.Name); j < 0 || i > 0 && j <= c.machine.level(out[i-1].Name) {
				return nil, diag.Usage("--cpu=%s: expected several of %s, in this order", names, strings.Join(c.machine.levelNames(), ", "))
			}
		}
	}
	return out, nil
}

// target finds one target by name: a level, or what the compiler says of one that it knows.
func (c *Compiler) target(ctx context.Context, name string) (Target, error) {
	if i := c.machine.level(name); i >= 0 {
		return c.machine.levels[i], nil
	}
	t, says, err := c.described(ctx, name)
	if err == nil || ctx.Err() != nil {
		return t, err
	}
	return t, diag.Usage("--cpu=%s: %s, which compiles for %s, does not know it:\n%s", name, c.Path, c.machine.triple, firstLines(strings.TrimSpace(says), 3))
}

// described asks the compiler for a processor; what it says if it does not know it comes with the error.
func (c *Compiler) described(ctx context.Context, name string) (t Target, says string, err error) {
	flags := c.machine.flags(name)
	dir, err := os.MkdirTemp("", "tapc-build-")
	if err != nil {
		return t, "", diag.Fault("a folder for the compiler: %v", err)
	}
	defer os.RemoveAll(dir)
	says, err = c.output(ctx, dir, append(slices.Clone(flags), "-dM", "-E", "-x", "c", "/dev/null")...)
	if err != nil {
		return t, says, err
	}
	t = targetOf(name, flags, says)
	t.machine = c.machine.name
	return t, says, nil
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
