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
	group         string   // of groups
	graph         string   // its file
	flags         []string // by which it is built and priced
	predicted     float64
	times         []float64
}

// groups are what sorts of programs there are.
var groups = []string{"small", "cut", "example", "network"}

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
	fmt.Println()
	for _, name := range groups {
		of := slices.DeleteFunc(slices.Clone(list), func(r result) bool { return r.group != name })
		if len(of) > 0 {
			fmt.Printf("%-8s %3d: off by %.3f, at most %.2f; %s\n", name, len(of), mean(of, (*result).factor), off(of[0].factor()), within(of))
		}
	}
	fmt.Println(within(list))
	fmt.Printf("%d programs: off by %.3f (geometric mean), at most %.2f; Kendall's tau %.3f; halves of the rounds are off by %.3f\n",
		len(list), mean(list, (*result).factor), off(list[0].factor()), tau(list), mean(list, (*result).halves))
}

// within says how many prices are near their times.
func within(list []result) string {
	count := func(most float64) (n int) {
		for i := range list {
			if off(list[i].factor()) <= most {
				n++
			}
		}
		return n
	}
	return fmt.Sprintf("%d within 1.1, %d within 1.4", count(1.1), count(1.4))
}
