package variants_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"tensortapestry.org/tapc/backends/reference"
	"tensortapestry.org/tapc/dialects/application/planfile"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/internal/testkit"
	"tensortapestry.org/tapc/ir/permission"
	"tensortapestry.org/tapc/search"
	"tensortapestry.org/tapc/search/layouts"
	"tensortapestry.org/tapc/search/variants"
)

// uses says which rows of the table a plan is of, by what it says.
func uses(p *planfile.Plan, inputs []string) (rows []string) {
	cut := func(leaf bool) bool {
		return slices.ContainsFunc(p.Tensors, func(a planfile.Annotation) bool {
			return slices.Contains(inputs, a.Tensor) == leaf && slices.ContainsFunc(a.Layout.Dims, func(d planfile.Axes) bool { return len(d) > 0 })
		})
	}
	summed := slices.ContainsFunc(p.Cuts, func(c planfile.Cut) bool { return len(c.Cut.Levels) > 0 && len(c.Cut.Levels[0].Names) > 0 })
	for row, used := range map[string]bool{layouts.Tensors: cut(false), layouts.Leaves: cut(true), layouts.Reduced: summed, variants.Choices: len(p.Choices) > 0 && p.Choices[0].Branch != "long0",
		variants.Stages: len(p.Place) > 0, variants.Recompute: len(p.Recompute) > 0} {
		if used {
			rows = append(rows, row)
		}
	}
	return rows
}

// Every row of the table is carried out: drawn plans of each verify after every pass and give the values of the graph that is not cut, up to the order of sums where these are cut.
func TestEveryRowIsCarriedOut(t *testing.T) {
	turn, count := testkit.Turns(t, 3), map[string]int{}
	for _, c := range []struct {
		source string
		inputs []string
	}{{layers(3, 8, 8), []string{"x0", "w0", "w1", "w2"}}, {mask(16), []string{"a", "b", "x", "w", "v", "u"}}, {chain(8, 1), []string{"x0"}}} {
		x := spaceOn(t, c.source, "8xh100", 4, nil, variants.Words...)
		whole, r := evaluate(t, first(t, c.source)), rand.New(rand.NewPCG(19, 6))
		for i := range 60 {
			trial := make(search.Trial, len(x.Genes()))
			for k, n := range x.Genes() {
				trial[k] = uint16(r.IntN(n))
			}
			if x.Price(trial).Beyond > 0 || !turn() {
				continue
			}
			plan, err := x.Plan(trial, kernels.Builtin())
			if err != nil {
				t.Fatal(err)
			}
			result := evaluate(t, carried(t, c.source, plan, 4, permission.Reassociate))
			for name, want := range whole {
				if err := reference.CompareSums(name, want, result[name], 64, 8); err != nil {
					t.Errorf("plan %d: %v", i, err)
				}
			}
			for _, row := range uses(plan, c.inputs) {
				count[row]++
			}
		}
	}
	t.Log(count)
	for _, k := range variants.Table() {
		if count[k.Name] == 0 {
			t.Errorf("no plan says anything of %s: %v", k.Name, count)
		}
	}
}
