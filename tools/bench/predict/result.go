package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"tensortapestry.org/tapc/cost/calibrate"
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
	states        [][2]calibrate.State // of the cores before and behind each
}

// groups are what sorts of programs there are.
var groups = []string{"small", "cut", "example", "network", "mesh", "spread"}

// seconds is the time that a program is taken to take.
func (r *result) seconds() float64 { return calibrate.Usual(r.times) }

// keep leaves the times before and behind which the cores were as they usually are.
func (r *result) keep(unusual func(calibrate.State) bool) {
	var kept []float64
	for i, t := range r.times {
		if !unusual(r.states[i][0]) && !unusual(r.states[i][1]) {
			kept = append(kept, t)
		}
	}
	r.times = kept
}

// factor is how many times larger the price is than the time.
func (r *result) factor() float64 { return r.predicted / r.seconds() }

// off is by which factor the two are apart, at least 1.
func off(factor float64) float64 { return math.Exp(math.Abs(math.Log(factor))) }

// halves is by which factor the usual times of the even rounds and of the odd ones are apart.
func (r *result) halves() float64 {
	f, _ := calibrate.Halves(r.times)
	return f
}

// half is the usual time of the even rounds or of the odd ones; of one round, that.
func (r *result) half(odd int) float64 {
	var times []float64
	for i := odd % len(r.times); i < len(r.times); i += 2 {
		times = append(times, r.times[i])
	}
	return calibrate.Usual(times)
}

// mean is the geometric mean of factors that are off.
func mean(list []result, factor func(*result) float64) float64 {
	sum := 0.0
	for i := range list {
		sum += math.Log(off(factor(&list[i])))
	}
	return math.Exp(sum / float64(len(list)))
}

// order is how prices order programs: of so many pairs, by how many more as the times do than the other way, and how many are not as the times are: the price may be the same for both.
type order struct{ pairs, agree, wrong int }

func (o *order) add(a, b int) {
	o.pairs, o.agree = o.pairs+1, o.agree+a*b
	if a != b {
		o.wrong++
	}
}

// tau is Kendall's.
func (o order) tau() float64 { return float64(o.agree) / float64(max(o.pairs, 1)) }

// orders are those of all pairs; of those whose times are more than 5 % apart; of those that are farther apart than the halves of the rounds are, of both together: of others nobody knows
// which is the faster; and how the times of half of the rounds, as if they were prices, order the pairs that those of the other half have more than 5 % apart, for both halves.
type orders struct{ all, apart, sure, itself order }

func ordersOf(list []result) (o orders) {
	for i := range list {
		for j := range i {
			x, y := &list[i], &list[j]
			a, b, factor := cmp.Compare(x.predicted, y.predicted), cmp.Compare(x.seconds(), y.seconds()), off(x.seconds()/y.seconds())
			o.all.add(a, b)
			if factor > 1.05 {
				o.apart.add(a, b)
			}
			if factor > off(x.halves())*off(y.halves()) {
				o.sure.add(a, b)
			}
			for _, half := range []int{0, 1} {
				if off(x.half(half)/y.half(half)) > 1.05 {
					o.itself.add(cmp.Compare(x.half(1-half), y.half(1-half)), cmp.Compare(x.half(half), y.half(half)))
				}
			}
		}
	}
	return o
}

// plus adds the pairs of other programs.
func (o orders) plus(p orders) orders {
	sum := func(a, b order) order { return order{a.pairs + b.pairs, a.agree + b.agree, a.wrong + b.wrong} }
	return orders{sum(o.all, p.all), sum(o.apart, p.apart), sum(o.sure, p.sure), sum(o.itself, p.itself)}
}

func (o orders) String() string {
	return fmt.Sprintf("Kendall's tau %.3f of %d pairs, %.3f of the %d that are farther apart than the halves of their rounds; of %d more than 5 %% apart %d not in order, and by the times of half of the rounds %d of %d",
		o.all.tau(), o.all.pairs, o.sure.tau(), o.sure.pairs, o.apart.pairs, o.apart.wrong, (o.itself.wrong+1)/2, (o.itself.pairs+1)/2)
}

// printPlans writes a table for each graph, the fastest plan first, with what is to be said of the order.
func printPlans(list []result) {
	var graphs []string
	for _, r := range list {
		if !slices.Contains(graphs, r.graph) {
			graphs = append(graphs, r.graph)
		}
	}
	sum, lost := orders{}, 1.0
	for _, g := range graphs {
		of := slices.DeleteFunc(slices.Clone(list), func(r result) bool { return r.graph != g })
		slices.SortFunc(of, func(a, b result) int { return cmp.Compare(a.seconds(), b.seconds()) })
		first := slices.MinFunc(of, func(a, b result) int { return cmp.Compare(a.predicted, b.predicted) })
		fmt.Printf("%-34s %12s %12s %10s %8s\n", "plan", "measured", "predicted", "factor", "halves")
		for i := range of {
			r := &of[i]
			fmt.Printf("%-34s %9.2f µs %9.2f µs %10.2f %8.2f\n", r.name, 1e6*r.seconds(), 1e6*r.predicted, r.factor(), off(r.halves()))
		}
		o := ordersOf(of)
		loss := first.seconds() / of[0].seconds()
		fmt.Printf("%d plans: %v; the plan that the price puts first takes %.2f of the fastest's time\n\n", len(of), o, loss)
		sum, lost = sum.plus(o), max(lost, loss)
	}
	fmt.Printf("%d graphs, %d plans, pairs of one graph: %v; the first by price at most %.2f of the fastest\n", len(graphs), len(list), sum, lost)
	slices.SortFunc(list, func(a, b result) int { return cmp.Compare(off(b.factor()), off(a.factor())) })
	fmt.Printf("off by %.3f (geometric mean), at most %.2f; %s; halves of the rounds are off by %.3f, at most %.2f\n",
		mean(list, (*result).factor), off(list[0].factor()), within(list), mean(list, (*result).halves), most(list))
}

// most is how far the halves of the rounds of a program are off at most.
func most(list []result) (n float64) {
	for i := range list {
		n = max(n, off(list[i].halves()))
	}
	return n
}

// print writes a table, the programs whose prices are farthest off first, and what is to be said of all.
func print(list []result) {
	slices.SortFunc(list, func(a, b result) int { return cmp.Compare(off(b.factor()), off(a.factor())) })
	fmt.Printf("%-26s %12s %12s %10s %8s\n", "program", "measured", "predicted", "factor", "halves")
	for i := range list {
		r := &list[i]
		fmt.Printf("%-26s %9.2f µs %9.2f µs %10.2f %8.2f\n", r.name, 1e6*r.seconds(), 1e6*r.predicted, r.factor(), off(r.halves()))
	}
	fmt.Println()
	for _, name := range groups {
		of := slices.DeleteFunc(slices.Clone(list), func(r result) bool { return r.group != name })
		if len(of) > 0 {
			fmt.Printf("%-8s %3d: off by %.3f, at most %.2f; %s\n", name, len(of), mean(of, (*result).factor), off(of[0].factor()), within(of))
		}
	}
	fmt.Println(within(list))
	fmt.Printf("%d programs: off by %.3f (geometric mean), at most %.2f; %v; halves of the rounds are off by %.3f, at most %.2f\n",
		len(list), mean(list, (*result).factor), off(list[0].factor()), ordersOf(list), mean(list, (*result).halves), most(list))
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
