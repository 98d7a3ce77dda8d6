package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// result is a program with its price and its times, in seconds.
type result struct {
	name, program string
	graph         string   // its file
	flags         []string // by which it is built and priced
	predicted     float64
	times         []float64
}

func (r *result) best() float64 { return slices.Min(r.times) }

// factor is how many times larger the price is than the time.
func (r *result) factor() float64 { return r.predicted / r.best() }

// off is by which factor the two are apart, at least 1.
func off(factor float64) float64 { return math.Exp(math.Abs(math.Log(factor))) }

// halves is by which factor the best of the even rounds and that of the odd ones are apart.
func (r *result) halves() float64 {
	half := [2]float64{math.Inf(1), math.Inf(1)}
	for i, t := range r.times {
		half[i%2] = min(half[i%2], t)
	}
	return half[0] / half[1]
}

// mean is the geometric mean of factors that are off.
func mean(list []result, factor func(*result) float64) float64 {
	sum := 0.0
	for i := range list {
		sum += math.Log(off(factor(&list[i])))
	}
	return math.Exp(sum / float64(len(list)))
}

// tau is Kendall's: of all pairs, by how many more the price orders as the time does than the other way.
func tau(list []result) float64 {
	agree, pairs := 0, 0
	for i := range list {
		for j := range i {
			a, b := cmp.Compare(list[i].predicted, list[j].predicted), cmp.Compare(list[i].best(), list[j].best())
			agree, pairs = agree+a*b, pairs+1
		}
	}
	return float64(agree) / float64(max(pairs, 1))
}

// print writes a table, the programs whose prices are farthest off first, and what is to be said of all.
func print(list []result) {
	slices.SortFunc(list, func(a, b result) int { return cmp.Compare(off(b.factor()), off(a.factor())) })
	fmt.Printf("%-26s %12s %12s %10s %8s\n", "program", "measured", "predicted", "factor", "halves")
	for i := range list {
		r := &list[i]
		fmt.Printf("%-26s %9.2f µs %9.2f µs %10.2f %8.2f\n", r.name, 1e6*r.best(), 1e6*r.predicted, r.factor(), off(r.halves()))
	}
	fmt.Printf("\n%d programs: off by %.3f (geometric mean), at most %.2f; Kendall's tau %.3f; halves of the rounds are off by %.3f\n",
		len(list), mean(list, (*result).factor), off(list[0].factor()), tau(list), mean(list, (*result).halves))
}
