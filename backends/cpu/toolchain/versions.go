package toolchain

import (
	"context"
	"os"
	"slices"
	"strings"

	"tensortapestry.org/tapc/backends/cpu/isa"
	"tensortapestry.org/tapc/internal/hostcaches"
	"tensortapestry.org/tapc/ir/diag"
)

// What --cpu takes besides names of processors.
const (
	Portable = "portable" // versions for several levels of the compiler's machine, of which the best that the processor can run is chosen when the program starts
	Native   = "native"   // this machine's processor, where the compiler is one for it
)

// Targets gives the versions that a program for the named processors has, the best first: Portable, Baseline, or names, separated by
// commas, of levels or of what the compiler knows. "" is Native, or Portable if the compiler writes for other machines.
func (c *Compiler) Targets(ctx context.Context, names string) ([]isa.Target, error) {
	switch names {
	case "":
		if t, _, err := c.described(ctx, Native); err == nil || ctx.Err() != nil {
			return []isa.Target{t}, err
		}
		return c.Machine.Portable, nil
	case Portable:
		return c.Machine.Portable, nil
	case isa.Baseline:
		return c.Machine.Levels[len(c.Machine.Levels)-1:], nil
	}
	var out []isa.Target
	for _, name := range strings.Split(names, ",") {
		t, err := c.target(ctx, strings.TrimSpace(name))
		if err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	if len(out) > 1 {
		for i, t := range out {
			if j := c.Machine.Level(t.Name); j < 0 || i > 0 && j <= c.Machine.Level(out[i-1].Name) {
				return nil, diag.Usage("--cpu=%s: expected several of %s, in this order", names, strings.Join(c.Machine.LevelNames(), ", "))
			}
		}
	}
	return out, nil
}

// target finds one target by name: a level, or what the compiler says of one that it knows.
func (c *Compiler) target(ctx context.Context, name string) (isa.Target, error) {
	if i := c.Machine.Level(name); i >= 0 {
		return c.Machine.Levels[i], nil
	}
	t, says, err := c.described(ctx, name)
	if err == nil || ctx.Err() != nil {
		return t, err
	}
	return t, diag.Usage("--cpu=%s: %s, which compiles for %s, does not know it:\n%s", name, c.Path, c.Machine.Triple, firstLines(strings.TrimSpace(says), 3))
}

// described asks the compiler for a processor; what it says if it does not know it comes with the error.
func (c *Compiler) described(ctx context.Context, name string) (t isa.Target, says string, err error) {
	flags := c.Machine.Flags(name)
	dir, err := os.MkdirTemp("", "tapc-build-")
	if err != nil {
		return t, "", diag.Fault("a folder for the compiler: %v", err)
	}
	defer os.RemoveAll(dir)
	says, err = c.output(ctx, dir, append(slices.Clone(flags), "-dM", "-E", "-x", "c", "/dev/null")...)
	if err != nil {
		return t, says, err
	}
	t = isa.TargetOf(name, flags, says)
	t.Machine = c.Machine.Name
	if name == Native { // which compilers for other processors than this machine's do not know
		t = t.WithL2(hostcaches.Second())
	}
	return t, says, nil
}
