package eliminate

import (
	"math"
	"math/rand/v2"
	"testing"
)

// value is what a factor costs for some values.
func (f *Factor) value(values []int) float64 {
	at := 0
	for _, s := range f.Vars {
		at = at*s.Classes + int(s.Of[values[s.V]])
	}
	return f.Table[at]
}

// The sum that is found is the least of all, and that of the values that are given, also where factors tell only classes of values apart.
func TestAgainstAll(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 7))
		var p Problem
		all := 1
		for range 1 + r.IntN(5) {
			p.Sizes = append(p.Sizes, 1+r.IntN(4))
			all *= p.Sizes[len(p.Sizes)-1]
		}
		for range r.IntN(8) {
			f, size := Factor{}, 1
			for v := range p.Sizes {
				if r.IntN(2) == 0 {
					continue
				}
				s := p.Each(v)
				if r.IntN(2) == 0 {
					s.Classes = 2
					for i := range s.Of {
						s.Of[i] = uint16(r.IntN(2))
					}
				}
				f.Vars, size = append(f.Vars, s), size*s.Classes
			}
			for range size {
				f.Table = append(f.Table, r.Float64())
			}
			p.Factors = append(p.Factors, f)
		}
		total := func(values []int) (sum float64) {
			for i := range p.Factors {
				sum += p.Factors[i].value(values)
			}
			return sum
		}
		q := Problem{Sizes: p.Sizes, Factors: append([]Factor(nil), p.Factors...)}
		values, sum, ok := q.Run()
		best := math.Inf(1)
		for n := range all {
			at := make([]int, len(p.Sizes))
			for v, size := range p.Sizes {
				at[v], n = n%size, n/size
			}
			best = min(best, total(at))
		}
		if !ok || math.Abs(sum-best) > 1e-12 || math.Abs(total(values)-best) > 1e-12 {
			t.Fatalf("seed %d: %v, %v of %v, expected %v", seed, values, sum, total(values), best)
		}
	}
}
