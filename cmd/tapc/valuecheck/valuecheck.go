// Package valuecheck says whether two graphs compute the same values: --check-values evaluates the graph before and after a pass on random
// inputs. Read next: passes/pipeline, whose runner calls it.
package valuecheck

import (
	"context"
	"errors"
	"maps"
	"slices"

	"tensortapestry.org/tapc/backends/constants"
	"tensortapestry.org/tapc/backends/cpu/runtime"
	"tensortapestry.org/tapc/backends/reference"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/feed"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/tensorfile"
)

// valuesCode is the code of a value that a pass changed.
const valuesCode = "TAP0502"

// Equal evaluates two graphs on the same random inputs with the reference evaluator and gives the outputs that differ.
// What can not be evaluated, and graphs that take different inputs, are warnings. Data files lie in dir, or are allowed.
func Equal(lib *kernels.Library, dir string, allowed []string) func(ctx context.Context, before, after *ir.Graph, seed uint64) diag.List {
	return func(ctx context.Context, before, after *ir.Graph, seed uint64) diag.List {
		loader := &constants.Loader{Dir: dir, Allowed: allowed}
		defer loader.Close()
		want, in, err := evaluateRandom(ctx, lib, before, loader, seed)
		if err != nil {
			return unchecked(before, "the graph before it can not be evaluated: "+err.Error())
		}
		got, now, err := evaluateRandom(ctx, lib, after, loader, seed)
		if err != nil {
			return unchecked(after, "the graph after it can not be evaluated: "+err.Error())
		}
		if !slices.Equal(in, now) {
			return unchecked(after, "the graph takes other inputs than before")
		}
		return differences(after, want, got)
	}
}

func unchecked(g *ir.Graph, why string) diag.List {
	return diag.List{{Code: valuesCode, Constraint: "value", Severity: diag.Warning, Location: diag.Location{File: g.File},
		Message: "values are not checked: " + why}}
}

// evaluateRandom gives the outputs of a graph on random inputs, and the names of the inputs.
func evaluateRandom(ctx context.Context, lib *kernels.Library, g *ir.Graph, loader *constants.Loader, seed uint64) (map[string]tensorfile.Tensor, []string, error) {
	p, err := tensorops.ProgramOf(g)
	if err != nil {
		return nil, nil, err
	}
	if err := reference.CheckMemory(g); err != nil {
		return nil, nil, err
	}
	limits := p.Limits(g)
	in, err := feed.Inputs(g, func(_ int, x tensorops.Named, d scalar.DType, n int64) []byte {
		return rt.RandomBelow(limits[x.Tensor], d, seed, x.Name, n)
	})
	if err != nil {
		return nil, nil, err
	}
	ev := reference.Evaluator{Library: lib, Constants: loader.Load, Unchecked: true} // random indices are seldom in range
	out, err := ev.Evaluate(ctx, g, in)
	return out, slices.Sorted(maps.Keys(in)), err
}

// differences compares outputs by name.
func differences(g *ir.Graph, want, got map[string]tensorfile.Tensor) diag.List {
	var list diag.List
	for _, name := range sortedNames(want, got) {
		d := diag.Errorf(valuesCode, "value", diag.Location{File: g.File}, "output %q differs", name)
		w, before := want[name]
		x, after := got[name]
		var diff *reference.Difference
		switch err := reference.Compare(name, w, x); {
		case !before:
			list = append(list, d.Want("no such output", "one"))
		case !after:
			list = append(list, d.Want("an output of this name", "none"))
		case errors.As(err, &diff):
			list = append(list, d.WithNote(diag.Location{}, "%v", diff))
		}
	}
	return list
}

func sortedNames(maps ...map[string]tensorfile.Tensor) []string {
	var all []string
	for _, m := range maps {
		for name := range m {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}
