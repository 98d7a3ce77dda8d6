// Package configs says what a kernel of a CPU can be carried out as, and what writes it by a config: it knows every algorithm, and reads the config of
// each. It must not import backends/cpu. Read next: passes/tile, which lists the candidates.
package configs

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tensortapestry.org/tapc/backends/cpu/backtoback"
	"tensortapestry.org/tapc/backends/cpu/blocking"
	"tensortapestry.org/tapc/backends/cpu/isa"
	"tensortapestry.org/tapc/backends/cpu/lowprecision"
	"tensortapestry.org/tapc/backends/cpu/micro"
	"tensortapestry.org/tapc/backends/cpu/product"
	"tensortapestry.org/tapc/backends/cpu/rows"
	"tensortapestry.org/tapc/backends/cpu/trees"
	"tensortapestry.org/tapc/backends/cpu/unit"
	"tensortapestry.org/tapc/backends/cpu/vector"
	"tensortapestry.org/tapc/backends/cpu/winograd"
	"tensortapestry.org/tapc/backends/tree"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/cost"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/dialects/schedule/nest/scan"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/passes/tile"
)

// Chooser offers the configs of kernels for a kind of processor.
type Chooser struct{ For isa.Target }

// Target is a CPU, and what passes/tile knows of it.
func (c Chooser) Target() (schedule.DeviceType, string) { return schedule.CPU, c.For.Target.Name() }

// Named gives the chooser for processors of which as much is known as a name says.
func (c Chooser) Named(target string) tile.Chooser {
	t, ok := tile.TargetNamed(target)
	if !ok {
		return nil
	}
	return Chooser{isa.Target{Target: t, Machine: c.For.Machine}}
}

// Pairs asks the table of micro-kernels, whose last row is for every processor.
func (c Chooser) Pairs() bool { return len(micro.For(c.For, 2)) > 1 }

// Candidates are those of passes/tile, each with the choices that pay beside its tiles and placements. Behind the first of an algorithm that is
// not refused come those that differ from it in one of these.
func (c Chooser) Candidates(a *nest.Analysis) []tile.Candidate {
	var out []tile.Candidate
	seen := map[schedule.Algorithm]bool{}
	for _, x := range c.For.Candidates(a, func(config *schedule.Config) error { c.complete(a, config.Stages); return c.State(a, config) }) {
		out = append(out, x)
		algorithm := x.Config.Stages[0].Algorithm
		if x.Refused != nil || seen[algorithm] {
			continue
		}
		seen[algorithm] = true
		for _, other := range c.others(a, x.Config.Stages) {
			y := x
			y.Config = &schedule.Config{Target: x.Config.Target, Stages: []schedule.Stage{other.Stage}}
			y.Refused = cmp.Or(c.State(a, y.Config), other.Why)
			out = append(out, y)
		}
	}
	return out
}

// State writes into a config what workspaces the kernel needs by it, or says why there is no such kernel.
func (c Chooser) State(a *nest.Analysis, config *schedule.Config) (err error) {
	config.Workspaces, err = c.Check(a, config)
	return err
}

// complete makes the choices of stages whose tiles and placements are given.
func (c Chooser) complete(a *nest.Analysis, stages []schedule.Stage) {
	s := &stages[0]
	switch s.Algorithm {
	case schedule.Contraction:
		if f, ok := nest.Of[*nest.BackToBack](a.Forms); ok && len(stages) > 1 {
			backtoback.Complete(c.For, a.Buffers, f, stages)
		} else if f, ok := nest.Of[*nest.Contraction](a.Forms); ok && len(stages) == 1 {
			blocking.Complete(c.For, a.Kernel, a.Buffers, f, s)
		}
	case schedule.LowPrecision:
		if f, ok := nest.Of[*nest.LowPrecision](a.Forms); ok && lowprecision.Fits(a.Kernel, a.Buffers, f) {
			lowprecision.Complete(c.For, a.Kernel, a.Buffers, f, s)
		}
	case schedule.Rows:
		if f, ok := nest.Of[*nest.Rows](a.Forms); ok && nest.VectorsOnly(a.Kernel) {
			if cut, err := blocking.Rows(a.Kernel, f, s); err == nil {
				rows.Complete(c.For, cut, a.Buffers, f, s)
			}
		}
	}
}

// others gives the stages that differ from a complete one in one choice.
func (c Chooser) others(a *nest.Analysis, stages []schedule.Stage) (out []blocking.Other) {
	s := stages[0]
	switch {
	case s.Algorithm == schedule.Contraction && len(stages) == 1:
		f, _ := nest.Of[*nest.Contraction](a.Forms)
		return blocking.Others(c.For, a.Kernel, a.Buffers, f, &s)
	case s.Algorithm == schedule.LowPrecision:
		f, _ := nest.Of[*nest.LowPrecision](a.Forms)
		return lowprecision.Others(f, s)
	case s.Algorithm == schedule.Rows:
		f, _ := nest.Of[*nest.Rows](a.Forms)
		if cut, err := blocking.Rows(a.Kernel, f, &s); err == nil {
			stages, why := rows.Others(c.For, cut, a.Buffers, f, &s)
			for i := range stages {
				out = append(out, blocking.Other{Stage: stages[i], Why: why[i]})
			}
		}
	}
	return out
}

// Price is the time on one thread.
func (c Chooser) Price(a *nest.Analysis, x *tile.Candidate) (cost.Estimate, error) {
	return c.For.Price(a, x)
}

// Check says what workspaces a kernel needs by a config, or why it cannot be carried out by that.
func (c Chooser) Check(a *nest.Analysis, config *schedule.Config) ([]schedule.Workspace, error) {
	x, err := c.Read(a, config)
	if err != nil {
		return nil, err
	}
	return x.Workspaces, nil
}

// Form is a kernel by a config that has been read: what it needs while it runs, what writes it, and what makes its tree, nil if it is written without one.
type Form struct {
	Workspaces []schedule.Workspace
	Write      Writer
	Tree       func() (*tree.Func, error)
}

// made gives a tree that was made before.
func made(f *tree.Func) func() (*tree.Func, error) {
	return func() (*tree.Func, error) { return f, nil }
}

// Stated gives the config of a kernel that is for the processor, nil if there is none. open says that passes/tile decides one then, as it did for other
// processors alone.
func (c Chooser) Stated(k *schedule.Kernel) (x *schedule.Config, open bool) {
	_, target := c.Target()
	if x = k.For(target); x != nil {
		return x, false
	}
	return nil, slices.ContainsFunc(k.Configs, func(x schedule.Config) bool { return tile.Named(x.Target) })
}

// Decided gives what was decided of a kernel for the processor, nil if nothing was. What passes/tile decided for other processors alone, it decides for this one.
func (c Chooser) Decided(a *nest.Analysis) (*schedule.Config, error) {
	x, open := c.Stated(a.Kernel)
	if !open {
		return x, nil
	}
	best, err := tile.Choose(a, c, nil)
	if err != nil {
		return nil, err
	}
	return best.Config, nil
}

// Writer writes a kernel. Written is C that is written out for vectors and registers, which compilers need not do more than translate.
type Writer func(u *unit.Unit, name string) (text string, written bool)

// Read reads a config of a kernel; without one, its loops are cut as they say. The error says why the kernel cannot be carried out by it.
func (c Chooser) Read(a *nest.Analysis, config *schedule.Config) (Form, error) {
	if config == nil {
		return loopsOf(a.Kernel, a.Buffers)
	}
	for _, s := range config.Stages {
		if s.Algorithm != schedule.Rows && (s.Lanes != 0 || len(s.Stream) > 0) {
			return Form{}, fmt.Errorf("the lanes of the algorithm %s are those of its tiles, and its results go through the caches: expected nothing about either", s.Algorithm)
		}
		if a := s.Algorithm; a != schedule.Contraction && (len(s.Order) > 0 && a != schedule.LowPrecision || s.Prefetch != schedule.PrefetchNothing || s.Ahead > 0) {
			return Form{}, fmt.Errorf("the algorithm %s has one order of loops, and prefetches nothing: expected neither", s.Algorithm)
		}
		if a := s.Algorithm; len(s.Placements) > 0 && (a == schedule.Loops || a == schedule.Rows || a == schedule.Scan) {
			return Form{}, fmt.Errorf("the algorithm %s reads its operands where they are: expected no placements", a)
		}
	}
	switch n := len(config.Stages); {
	case n == 0:
		return Form{}, errors.New("it has no stage")
	case n > 1:
		return c.readBackToBack(a, config.Stages)
	}
	k, s, buffers := a.Kernel, &config.Stages[0], a.Buffers
	if f, ok := nest.Of[*nest.Contraction](a.Forms); ok && k.Sums > 0 && (s.Algorithm == schedule.Rows || s.Algorithm == schedule.Loops) && product.Fits(k, buffers, f) {
		return Form{}, fmt.Errorf("the algorithm %s adds products in another order than the kernel's partial sums of %d: expected %s, or a kernel without sums", s.Algorithm, k.Sums, schedule.Contraction)
	}
	switch s.Algorithm {
	case schedule.Contraction:
		return read(a, func(f *nest.Contraction) bool { return product.Fits(k, buffers, f) },
			func(f *nest.Contraction) (blocking.Decided, error) { return blocking.Read(c.For, k, f, s) },
			func(f *nest.Contraction, d blocking.Decided) Form {
				return leaves(k, product.Tree(k.Name, blocking.New(c.For, k, f, d)), func(u *unit.Unit, name string) trees.Templates { return product.New(u, name, k, f, d) })
			})
	case schedule.LowPrecision:
		return read(a, func(f *nest.LowPrecision) bool { return lowprecision.Fits(k, buffers, f) },
			func(f *nest.LowPrecision) (blocking.Decided, error) { return blocking.ReadLowPrecision(c.For, k, f, s) },
			func(f *nest.LowPrecision, d blocking.Decided) Form {
				n := lowprecision.New(c.For, k, buffers, f, d)
				return leaves(k, n.Tree(), func(u *unit.Unit, name string) trees.Templates { return n.In(u, name) })
			})
	case schedule.Transformed:
		return read(a, func(f *nest.Winograd) bool { return vector.VectorKernel(k, buffers, f.Image) },
			func(f *nest.Winograd) (winograd.Decided, error) { return winograd.Read(c.For, f, s) },
			func(_ *nest.Winograd, d winograd.Decided) Form {
				w := winograd.Of(c.For, k, d)
				return leaves(k, w.Tree(k.Name), w.Templates)
			})
	case schedule.Scan:
		return readScan(a, s)
	case schedule.Rows:
		return c.readRows(a, s)
	case schedule.Loops:
		cut, err := blocking.Loops(a, s)
		if err != nil {
			return Form{}, err
		}
		return loopsOf(cut, buffers)
	}
	return Form{}, fmt.Errorf("kernels of a CPU are not carried out by the algorithm %s", s.Algorithm)
}

// leaves is a kernel whose tree has leaves of some templates.
func leaves(k *schedule.Kernel, f *tree.Func, templates func(u *unit.Unit, name string) trees.Templates) Form {
	return Form{trees.Workspaces(f), func(u *unit.Unit, name string) (string, bool) {
		return trees.WriteLeaves(u, name, f, k, templates(u, name)), true
	},
		func() (*tree.Func, error) { return trees.Verified(f) }}
}

// read reads a config of a kernel that has a form which is allowed, and that there is what writes.
func read[F nest.Form, D any](a *nest.Analysis, fits func(F) bool, decided func(F) (D, error), form func(F, D) Form) (Form, error) {
	f, err := needed(a, fits)
	if err != nil {
		return Form{}, err
	}
	d, err := decided(f)
	if err != nil {
		return Form{}, err
	}
	return form(f, d), nil
}

// readRows reads a stage of rows.
func (c Chooser) readRows(a *nest.Analysis, s *schedule.Stage) (Form, error) {
	found, err := needed(a, func(*nest.Rows) bool { return nest.VectorsOnly(a.Kernel) })
	if err != nil {
		return Form{}, err
	}
	cut, err := blocking.Rows(a.Kernel, found, s)
	if err != nil {
		return Form{}, err
	}
	d, err := rows.Read(c.For, cut, a.Buffers, found, s)
	if err != nil {
		return Form{}, err
	}
	r := rows.New(c.For, cut, a.Buffers, found, d)
	f, err := trees.Verified(r.Tree(cut.Name))
	return Form{trees.Workspaces(f), func(u *unit.Unit, name string) (string, bool) {
		return trees.WriteRows(u, name, f, cut, r.Lanes()), false
	}, made(f)}, err
}

// loopsOf is a kernel whose loops are cut as they say.
func loopsOf(k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer) (Form, error) {
	f, err := trees.Loops(k, buffers)
	return Form{nil, func(u *unit.Unit, name string) (string, bool) { return trees.Write(u, name, f, k), false }, made(f)}, err
}

// needed finds the form of a kernel that an algorithm is for.
func needed[F nest.Form](a *nest.Analysis, fits func(F) bool) (F, error) {
	f, ok := nest.Of[F](a.Forms)
	if !ok {
		return f, fmt.Errorf("the kernel does not have the form %q", f.Name())
	}
	if missing := f.Needs() &^ a.Kernel.Allow; missing != 0 {
		return f, fmt.Errorf("the permission %s is not given", strings.Join(missing.Words(), ", "))
	}
	if !fits(f) {
		return f, fmt.Errorf("it has values of a type that there are no vectors of, or may read outside of an operand")
	}
	return f, nil
}

func (c Chooser) readBackToBack(a *nest.Analysis, stages []schedule.Stage) (Form, error) {
	return read(a, func(*nest.BackToBack) bool { return true },
		func(f *nest.BackToBack) (backtoback.Decided, error) { return backtoback.Read(c.For, a, f, stages) },
		func(_ *nest.BackToBack, d backtoback.Decided) Form {
			return leaves(a.Kernel, d.Tree(a.Kernel), func(u *unit.Unit, name string) trees.Templates { return backtoback.New(u, name, a.Kernel, &d) })
		})
}

func readScan(a *nest.Analysis, s *schedule.Stage) (Form, error) {
	_, err := needed(a, func(*scan.Scans) bool { return true })
	switch {
	case err != nil:
		return Form{}, err
	case s.Threads:
		return Form{}, fmt.Errorf("threads always take the points of scans between them: expected nothing about them")
	}
	f, err := trees.Scan(a)
	if err != nil {
		return Form{}, err
	}
	return Form{trees.Workspaces(f), func(u *unit.Unit, name string) (string, bool) { return trees.WriteScan(u, name, f, a.Kernel), false }, made(f)}, nil
}
