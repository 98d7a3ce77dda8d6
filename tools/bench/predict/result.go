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
	devices       int      // 2, or 0 of a program on one
	predicted     float64
	times         []float64
}

// groups are what sorts of programs there are.
var groups = []string{"small", "cut", "example", "network", "mesh", "spread"}

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

// tau is Kendall's: of all pairs, by how many more the price orders as the time does than the other way. Apart are pairs whose times are more than 5 % apart, and wrong those of them
// that the price orders the other way.
func tau(list []result) (tau float64, apart, wrong int) {
	agree, pairs := 0, 0
	for i := range list {
		for j := range i {
			a, b := cmp.Compare(list[i].predicted, list[j].predicted), cmp.Compare(list[i].best(), list[j].best())
			agree, pairs = agree+a*b, pairs+1
			if off(list[i].best()/list[j].best()) > 1.05 {
				if apart++; a != b {
					wrong++
				}
			}
		}
	}
	return float64(agree) / float64(max(pairs, 1)), apart, wrong
}

// printPlans writes a table for each graph, the fastest plan first, with what is to be said of the order.
func printPlans(list []result) {
	var graphs []string
	for _, r := range list {
		if !slices.Contains(graphs, r.graph) {
			graphs = append(graphs, r.graph)
		}
	}
	sum, apart, wrong, lost := 0.0, 0, 0, 1.0
	for _, g := range graphs {
		of := slices.DeleteFunc(slices.Clone(list), func(r result) bool { return r.graph != g })
		slices.SortFunc(of, func(a, b result) int { return cmp.Compare(a.best(), b.best()) })
		first := slices.MinFunc(of, func(a, b result) int { return cmp.Compare(a.predicted, b.predicted) })
		fmt.Printf("%-34s %12s %12s %10s %8s\n", "plan", "measured", "predicted", "factor", "halves")
		for i := range of {
			r := &of[i]
			fmt.Printf("%-34s %9.2f µs %9.2f µs %10.2f %8.2f\n", r.name, 1e6*r.best(), 1e6*r.predicted, r.factor(), off(r.halves()))
		}
		t, a, w := tau(of)
		loss := first.best() / of[0].best()
		fmt.Printf("%d plans: Kendall's tau %.3f; of %d pairs more than 5 %% apart %d the other way; the plan that the price puts first takes %.2f of the fastest's time\n\n", len(of), t, a, w, loss)
		sum, apart, wrong, lost = sum+t, apart+a, wrong+w, max(lost, loss)
	}
	t, _, _ := tau(list)
	fmt.Printf("%d graphs, %d plans: Kendall's tau %.3f in the mean, %.3f of all; of %d pairs of one graph more than 5 %% apart %d the other way; the first by price at most %.2f of the fastest\n",
		len(graphs), len(list), sum/float64(len(graphs)), t, apart, wrong, lost)
	fmt.Printf("off by %.3f (geometric mean); %s; halves of the rounds are off by %.3f\n", mean(list, (*result).factor), within(list), mean(list, (*result).halves))
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
	t, _, _ := tau(list)
	fmt.Printf("%d programs: off by %.3f (geometric mean), at most %.2f; Kendall's tau %.3f; halves of the rounds are off by %.3f\n",
		len(list), mean(list, (*result).factor), off(list[0].factor()), t, mean(list, (*result).halves))
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
