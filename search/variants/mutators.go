package variants

import (
	"math/rand/v2"
	"slices"

	"tensortapestry.org/tapc/search"
	"tensortapestry.org/tapc/search/layouts"
)

// Mutators are those of the variants, which change a trial as its variant has it, and one that takes another branch.
func (x *Space) Mutators() (list []search.Mutator) {
	if len(x.variants) == 1 {
		return x.mutators[0]
	}
	seen := map[string]bool{}
	for _, own := range x.mutators {
		for _, m := range own {
			if !seen[m.Name] {
				seen[m.Name] = true
				list = append(list, x.shared(m))
			}
		}
	}
	for i, k := range x.kinds {
		if of := x.decisionsOf(i); len(of) > 0 {
			list = append(list, search.Mutator{Name: k.Fuel, Doc: "take another alternative (" + k.Doc + "), and cut what comes with it as costs least", On: k.On,
				Mutate: func(r *rand.Rand, t search.Trial) bool { return x.decideAnew(r, t, of[r.IntN(len(of))]) }})
		}
	}
	return list
}

// shared is a mutator that changes a trial as its variant does, where that has a mutator of the name.
func (x *Space) shared(m search.Mutator) search.Mutator {
	of := make([]func(r *rand.Rand, t search.Trial) bool, len(x.variants))
	for v, own := range x.mutators {
		if i := slices.IndexFunc(own, func(o search.Mutator) bool { return o.Name == m.Name }); i >= 0 {
			of[v] = own[i].Mutate
		}
	}
	m.Mutate = func(r *rand.Rand, t search.Trial) bool {
		mutate := of[x.variant(t)]
		_, own := x.inner(t)
		if mutate == nil || !mutate(r, own) {
			return false
		}
		x.write(t, own)
		return true
	}
	return m
}

// decisionsOf gives the numbers of the decisions of a kind that can be taken otherwise.
func (x *Space) decisionsOf(kind int) (list []int) {
	for i, d := range x.decisions {
		if d.kind == kind && len(d.Values) > 1 {
			list = append(list, i)
		}
	}
	return list
}

// write writes a trial of a variant into a trial that is of it.
func (x *Space) write(t, own search.Trial) {
	for i, g := range x.at[x.variant(t)] {
		t[g] = own[i]
	}
}

// decideAnew takes another alternative of a decision. Genes that the variant before did not have are set as costs least.
func (x *Space) decideAnew(r *rand.Rand, t search.Trial, i int) bool {
	had := map[int]bool{}
	for _, g := range x.at[x.variant(t)] {
		had[g] = true
	}
	n := x.genes[i]
	t[i] = uint16((int(t[i]) + 1 + r.IntN(n-1)) % n)
	v, own := x.inner(t)
	at := x.at[x.variant(t)]
	layouts.Fit(v, r, own, func(gene int) bool { return !had[at[gene]] })
	x.write(t, own)
	return true
}
