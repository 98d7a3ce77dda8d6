package main

import (
	"fmt"
	"math"
	"math/rand/v2"

	"tensortapestry.org/tapc/cost/sample"
)

// seeds are those of the random graphs: the even ones have matrices, the odd ones images.
const seeds = 10

// randomName is what the random graph of a seed is called.
func randomName(seed uint64) string { return fmt.Sprintf("random-%d", seed) }

// random writes the graph of a seed: some operations, each on one of the last results or on an input of its own, of sizes that are drawn.
func random(seed uint64) func(g *sample.Graph) {
	return func(g *sample.Graph) {
		r := drawing{rand.New(rand.NewPCG(seed, 0x9d)), g}
		next, shape := r.ofMatrices, []int64{r.among(16, 400), r.among(24, 700)}
		if seed%2 == 1 {
			side := r.among(12, 70)
			next, shape = r.ofImages, []int64{1, r.among(3, 48), side, side}
		}
		values := []sample.Value{g.Float(shape...)}
		for range 4 + r.IntN(5) {
			values = append(values, next(values[max(0, len(values)-1-r.IntN(3))]))
		}
	}
}

// drawing draws operations.
type drawing struct {
	*rand.Rand
	g *sample.Graph
}

// among draws a number of least to most: one that is twice as large as another as often wherever they are.
func (r drawing) among(least, most float64) int64 {
	return int64(math.Round(least * math.Pow(most/least, r.Float64())))
}

// ofEither draws what matrices and images have in common.
func (r drawing) ofEither(x sample.Value) sample.Value {
	if r.IntN(2) == 0 {
		return r.g.Each([]string{"relu", "gelu", "tanh", "abs", "neg"}[r.IntN(5)], x)
	}
	return r.g.Both([]string{"add", "mul"}[r.IntN(2)], x, r.g.Float(x.Shape...))
}

// ofMatrices draws an operation on a matrix. Softmaxes are of rows that are normalized, and nothing is a sigmoid: exp of greater differences gives denormal numbers, for which some processors take far longer.
func (r drawing) ofMatrices(x sample.Value) sample.Value {
	switch r.IntN(7) {
	case 0, 1:
		return r.g.Linear(x, r.among(16, 900))
	case 2:
		return r.g.Product(x, r.g.Float(x.Shape[1], r.among(16, 900)))
	case 3:
		return r.g.Norm(x)
	case 4:
		return r.g.Each("softmax", r.g.Norm(x))
	case 5:
		return r.g.Apply("permute", "result", r.g.Float(x.Shape[1], x.Shape[0]), "{perm: [1, 0]}", "tensor: %s", x)
	}
	return r.ofEither(x)
}

// ofImages draws an operation on an image.
func (r drawing) ofImages(x sample.Value) sample.Value {
	switch channels, side := x.Shape[1], x.Shape[2]; r.IntN(6) {
	case 0, 1:
		return r.g.Conv(x, r.among(8, 96), []int64{1, 3, 5}[r.IntN(3)], 1+r.Int64N(2), 1)
	case 2:
		return r.g.Conv(x, channels, 3, 1, channels)
	case 3:
		if side >= 8 {
			return r.g.Pool([]string{"max_pool", "average_pool"}[r.IntN(2)], x, 2)
		}
	}
	return r.ofEither(x)
}
