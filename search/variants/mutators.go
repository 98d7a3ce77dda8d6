package variants

import (
	"math/rand/v2"

	"tensortapestry.org/tapc/search"
	"tensortapestry.org/tapc/search/layouts"
)

// Mutators are those of the variants, which change a trial as its variant has it, and one that takes another branch.
func (x *Space) Mutators() (list []search.Mutator) {
	if len(x.variants) == 1 {
		return x.mutators[0]
	}
	for i, m := range x.mutators[0] {
		m.Mutate = func(r *rand.Rand, t search.Trial) bool {
			_, own := x.inner(t)
			if !x.mutators[x.variant(t)][i].Mutate(r, own) {
				return false
			}
			x.write(t, own)
			return true
		}
		list = append(list, m)
	}
	return append(list, search.Mutator{Name: "branch", Doc: "take another branch of a choice, and cut what comes with it as costs least", On: "a choice", Mutate: x.branch})
}

// write writes a trial of a variant into a trial that is of it.
func (x *Space) write(t, own search.Trial) {
	for i, g := range x.at[x.variant(t)] {
		t[g] = own[i]
	}
}

// branch takes another branch. Genes that the variant before did not have are set as costs least.
func (x *Space) branch(r *rand.Rand, t search.Trial) bool {
	i := r.IntN(len(x.decisions))
	n := x.genes[i]
	if n < 2 {
		return false
	}
	had := map[int]bool{}
	for _, g := range x.at[x.variant(t)] {
		had[g] = true
	}
	t[i] = uint16((int(t[i]) + 1 + r.IntN(n-1)) % n)
	v, own := x.inner(t)
	at := x.at[x.variant(t)]
	layouts.Fit(v, r, own, func(gene int) bool { return !had[at[gene]] })
	x.write(t, own)
	return true
}
