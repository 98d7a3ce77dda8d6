package search

import (
	"cmp"
	"math"
	"slices"
)

// Point is a trial with its price, and the mutators that led to it.
type Point struct {
	Trial Trial
	Price Price
	From  string // the mutator that made it
	Round int    // in which it was found
}

// dominates says whether a is nowhere worse than b and somewhere better.
func dominates(a, b []float64) bool {
	better := false
	for i := range a {
		if a[i] > b[i] {
			return false
		}
		better = better || a[i] < b[i]
	}
	return better
}

// Frontier holds the points inside hard limits that no other one dominates, by rising first cost. Of points of equal costs it has the first that came.
// Near is a part of costs: what is better than a point by less than that does not come beside it, unless it is the best of all in some objective, and stays no longer than it is.
type Frontier struct {
	Points []Point
	Near   float64
}

// Add adds a point, and says whether it is on the frontier now. Those that it dominates go.
func (f *Frontier) Add(p Point) bool {
	if p.Price.Beyond > 0 {
		return false
	}
	near, best := false, slices.Repeat([]bool{true}, len(p.Price.Costs))
	for _, q := range f.Points {
		if dominates(q.Price.Costs, p.Price.Costs) || slices.Equal(q.Price.Costs, p.Price.Costs) {
			return false
		}
		near = near || f.Near > 0 && !dominates(p.Price.Costs, q.Price.Costs) && nearly(q.Price.Costs, p.Price.Costs, 1+f.Near)
		for k, c := range p.Price.Costs {
			best[k] = best[k] && c < q.Price.Costs[k]
		}
	}
	if near && !slices.Contains(best, true) {
		return false
	}
	f.Points = slices.DeleteFunc(f.Points, func(q Point) bool { return dominates(p.Price.Costs, q.Price.Costs) })
	at, _ := slices.BinarySearchFunc(f.Points, p, func(a, b Point) int { return slices.Compare(a.Price.Costs, b.Price.Costs) })
	f.Points = slices.Insert(f.Points, at, p)
	for k, first := range best {
		if first && f.Near > 0 {
			f.second(k)
		}
	}
	return true
}

// second drops the point that was the best in an objective before the one that is now, if another one is as good but for Near, and it is the best in nothing else.
func (f *Frontier) second(objective int) {
	n, cost := -1, func(i int) float64 { return f.Points[i].Price.Costs[objective] }
	for i := range f.Points {
		if i != f.Best(objective) && (n < 0 || cost(i) < cost(n)) {
			n = i
		}
	}
	for k := range f.Points[0].Price.Costs {
		if n < 0 || f.Best(k) == n {
			return
		}
	}
	for i, q := range f.Points {
		if i != n && nearly(q.Price.Costs, f.Points[n].Price.Costs, 1+f.Near) {
			f.Points = slices.Delete(f.Points, n, n+1)
			return
		}
	}
}

// nearly says whether a is no worse than b in any objective, up to a factor.
func nearly(a, b []float64, factor float64) bool {
	for i := range a {
		if a[i] > b[i]*factor {
			return false
		}
	}
	return true
}

// Best gives the number of the point that is best in one objective; -1 if there is none.
func (f *Frontier) Best(objective int) int {
	best := -1
	for i, p := range f.Points {
		if best < 0 || p.Price.Costs[objective] < f.Points[best].Price.Costs[objective] {
			best = i
		}
	}
	return best
}

// Knee gives the number of the point that is nearest to the best of all objectives at once, on logarithmic scales from the best to the worst of
// the frontier; -1 if there is none.
func (f *Frontier) Knee() int {
	if len(f.Points) == 0 {
		return -1
	}
	low, high := f.bounds()
	knee, least := 0, math.Inf(1)
	for i, p := range f.Points {
		far := 0.0
		for k, c := range p.Price.Costs {
			if high[k] > low[k] {
				far += math.Pow((scale(c)-low[k])/(high[k]-low[k]), 2)
			}
		}
		if far < least {
			knee, least = i, far
		}
	}
	return knee
}

// bounds gives the least and the greatest of each cost, on logarithmic scales.
func (f *Frontier) bounds() (low, high []float64) {
	for i, p := range f.Points {
		for k, c := range p.Price.Costs {
			if i == 0 {
				low, high = append(low, scale(c)), append(high, scale(c))
			}
			low[k], high[k] = min(low[k], scale(c)), max(high[k], scale(c))
		}
	}
	return low, high
}

// scale is the logarithmic scale of costs. A cost of nothing, as of a plan that moves no byte, counts as the least that there is.
func scale(c float64) float64 { return math.Log(max(c, leastCost)) }

const leastCost = 1e-12

// Volume is the hypervolume on logarithmic scales between the frontier and a reference: the size of what the frontier dominates of the box that
// ends there.
func (f *Frontier) Volume(reference []float64) float64 {
	corner := make([]float64, len(reference))
	for k, c := range reference {
		corner[k] = scale(c)
	}
	var points [][]float64
	for _, p := range f.Points {
		at := make([]float64, len(corner))
		for k, c := range p.Price.Costs {
			at[k] = scale(c)
		}
		if inside(at, corner) {
			points = append(points, at)
		}
	}
	return volume(points, corner)
}

func inside(at, corner []float64) bool {
	for k := range at {
		if at[k] >= corner[k] {
			return false
		}
	}
	return true
}

// volume slices what points dominate along the last dimension, as M. Fleischer and E. Zitzler's "hypervolume by slicing objectives" does: between
// two neighbouring points it is that of those before in one dimension less.
func volume(points [][]float64, corner []float64) float64 {
	last := len(corner) - 1
	if len(points) == 0 || last < 0 {
		return 0
	}
	slices.SortFunc(points, func(a, b []float64) int { return cmp.Compare(a[last], b[last]) })
	if last == 0 {
		return corner[0] - points[0][0]
	}
	sum := 0.0
	for i, p := range points {
		end := corner[last]
		if i+1 < len(points) {
			end = points[i+1][last]
		}
		if end > p[last] {
			sum += (end - p[last]) * volume(leading(points[:i+1], last), corner[:last])
		}
	}
	return sum
}

// leading gives the first coordinates of points, of those that no other one dominates in these.
func leading(points [][]float64, n int) (out [][]float64) {
	for i, p := range points {
		kept := true
		for j, q := range points {
			if dominates(q[:n], p[:n]) || j < i && slices.Equal(q[:n], p[:n]) {
				kept = false
				break
			}
		}
		if kept {
			out = append(out, p[:n])
		}
	}
	return out
}
