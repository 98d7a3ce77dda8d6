package variants

import (
	"context"
	"fmt"
	"slices"

	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/search/layouts"
)

// New makes the space of a graph. Parts are the rows of the table that are searched.
func New(ctx context.Context, g *ir.Graph, lib *kernels.Library, s layouts.Settings) (*Space, error) {
	x := &Space{kinds: Table()}
	x.left = make([]int, len(x.kinds))
	for i, k := range x.kinds {
		if k.Open == nil {
			continue
		}
		all, err := k.Open(g, lib, &s)
		if err != nil {
			return nil, err
		}
		if x.left[i] = len(all); slices.Contains(s.Parts, k.Name) {
			x.left[i] = x.decide(i, all)
		}
	}
	for n := range x.combinations() {
		v, err := x.make(ctx, n, g, lib, s)
		if err != nil {
			return nil, err
		}
		x.variants = append(x.variants, v)
	}
	x.number()
	for _, v := range x.variants {
		x.mutators = append(x.mutators, v.Mutators())
	}
	return x, nil
}

// make makes a variant by its number.
func (x *Space) make(ctx context.Context, n int, g *ir.Graph, lib *kernels.Library, s layouts.Settings) (v variant, err error) {
	m := &Variant{Graph: g.Clone(), Library: lib, Settings: s}
	for i, k := range x.kinds {
		if k.Make == nil {
			continue
		}
		m.Left = x.left[i] > 0
		if err := k.Make(ctx, m, x.taken(i, n)); err != nil {
			return v, err
		}
	}
	v.plan = m.Plan
	v.Space, err = layouts.New(m.Graph, lib, m.Settings)
	return v, err
}

// number gives genes of variants their numbers: those of one name with as many values are one.
func (x *Space) number() {
	for _, d := range x.decisions {
		x.genes = append(x.genes, len(d.Values))
	}
	numbers := map[string]int{}
	for _, v := range x.variants {
		var at []int
		taken := map[int]bool{}
		for i, values := range v.Genes() {
			name, _ := layouts.Gene(v.Space, i)
			key := fmt.Sprint(name, " ", values)
			n, ok := numbers[key]
			if !ok || taken[n] {
				n = len(x.genes)
				numbers[key] = n
				x.genes = append(x.genes, values)
			}
			taken[n] = true
			at = append(at, n)
		}
		x.at = append(x.at, at)
	}
}
