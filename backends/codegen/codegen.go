// Package codegen makes tile trees: of a kernel and its config, the tree that carries the kernel out on a GPU (Blocks); of a kernel of any kind, loops that are cut as
// they say (Loops), and of one with scans, those (Scan).
//
// It decides nothing. What a config does not say follows from the kernel (the order of its dimensions, which operands are reduced along) or
// is a fact of the target (how many lanes a warp has). What it cannot make a tree of it refuses, with the reason. It must not import passes
// or back ends that print text. Read next: builder, contraction.go, then backends/tree.
package codegen

import (
	"fmt"
	"slices"

	"tensortapestry.org/tapc/backends/tree"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/dialects/schedule/nest/scan"
)

// Scan makes the tree of a kernel that has scans, of the tasks of threads of a CPU.
func Scan(name string, a *nest.Analysis) (*tree.Func, error) {
	found, ok := nest.Of[*scan.Scans](a.Forms)
	if !ok {
		return nil, fmt.Errorf("the kernel has no scans")
	}
	f := &tree.Func{Name: name}
	return f, scanTasks(f, a, found)
}

// Blocks makes the tree of a kernel on a GPU, of blocks and their lanes. Without a config, it is loops that are cut as they say. The error says what in the config
// does not fit the kernel.
func Blocks(name string, a *nest.Analysis, c *schedule.Config) (*tree.Func, error) {
	if c == nil {
		return Loops(name, a, tree.Block), nil
	}
	f := &tree.Func{Name: name}
	algorithms := make([]schedule.Algorithm, len(c.Stages))
	for i, s := range c.Stages {
		if len(s.Order) > 0 || s.Prefetch != schedule.PrefetchNothing || s.Ahead > 0 {
			return nil, fmt.Errorf("its loops have one order, and nothing is prefetched: expected neither")
		}
		if slices.ContainsFunc(s.Placements, func(p schedule.Placement) bool { return p.Panels > 0 }) {
			return nil, fmt.Errorf("what is packed is packed at once: expected nothing about panels")
		}
		algorithms[i] = s.Algorithm
	}
	switch {
	case slices.Equal(algorithms, []schedule.Algorithm{schedule.Contraction}):
		found, ok := nest.Of[*nest.Contraction](a.Forms)
		if !ok {
			return nil, fmt.Errorf("the kernel is no contraction")
		}
		return f, contractionBlocks(f, a, found, &c.Stages[0])
	case slices.Equal(algorithms, []schedule.Algorithm{schedule.Scan}):
		return nil, fmt.Errorf("blocks of a GPU have no workspaces")
	case slices.Equal(algorithms, []schedule.Algorithm{schedule.Reduction}):
		found, ok := nest.Of[*nest.Rows](a.Forms)
		if !ok {
			return nil, fmt.Errorf("the kernel has no lines that are reduced")
		}
		return f, reductionBlocks(f, a.Kernel, found, &c.Stages[0])
	case slices.Equal(algorithms, []schedule.Algorithm{schedule.Contraction, schedule.Reduction, schedule.Contraction}):
		found, ok := nest.Of[*nest.BackToBack](a.Forms)
		switch {
		case !ok:
			return nil, fmt.Errorf("the kernel is no product of a product")
		case found.Middle == nil:
			return nil, fmt.Errorf("nothing is done with the lines")
		}
		return f, backToBackBlocks(f, a, found, c.Stages)
	}
	return nil, fmt.Errorf("no algorithm has the stages %v", algorithms)
}
