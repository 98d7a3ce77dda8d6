// Package search looks for the trials of a space that make the best trade-offs between several costs.
//
// A trial is a choice for each of a fixed list of genes, and has a price: a cost for each objective, the less the better, and how far it is beyond hard
// limits. What the genes mean the space knows; this package knows no graphs. Trials run in synchronous rounds: what comes out is a function of
// the space, the seed and the number of rounds, whatever the number of cores. Read next: frontier.go, then engine.go.
package search

import (
	"encoding/binary"
	"math/rand/v2"
)

// Trial is a choice for each gene, below the number of its values.
type Trial []uint16

// key is what tells trials apart.
func (t Trial) key() string {
	b := make([]byte, 0, 2*len(t))
	for _, v := range t {
		b = binary.LittleEndian.AppendUint16(b, v)
	}
	return string(b)
}

// Price is what a trial costs: positive numbers, one for each objective. Beyond is 0 inside hard limits and greater the farther it is outside;
// it is infinite for what is no plan at all.
type Price struct {
	Costs  []float64
	Beyond float64
}

// Space is what is searched. Price is called on many cores at a time and must be a function of the trial.
type Space interface {
	Genes() []int // how many values each gene has
	Price(t Trial) Price
}

// Mutator is a row of the table of mutators: it changes a trial in place, and says whether it applied.
type Mutator struct {
	Name, Doc string
	On        string // what it applies to, in words
	Mutate    func(r *rand.Rand, t Trial) bool

	// Batch, in place of Mutate, changes all trials of a round that it was drawn for, each with a seed of random choices, and says of which it applied. What it does must be a
	// function of these. An error ends the search.
	Batch func(trials []Trial, seeds []uint64) ([]bool, error)
}

// Mutating is a space with mutators of its own.
type Mutating interface{ Mutators() []Mutator }

// Shared is a space in which some genes have no effect, by what others are: Used gives a key of what has. Trials of one key are priced once.
type Shared interface{ Used(t Trial) Trial }

// Seeded is a space that knows trials to begin with.
type Seeded interface{ Seeds() []Trial }

// Size gives how many trials a space has, at most limit + 1.
func Size(s Space, limit int) int {
	n := 1
	for _, v := range s.Genes() {
		if n *= max(v, 1); n > limit {
			return limit + 1
		}
	}
	return n
}

// random gives a trial whose choices are drawn evenly.
func random(r *rand.Rand, genes []int) Trial {
	t := make(Trial, len(genes))
	for i, n := range genes {
		t[i] = uint16(r.IntN(n))
	}
	return t
}
