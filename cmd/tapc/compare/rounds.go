package compare

import (
	"context"
	"slices"
)

// Contest is two sides that were timed in turns. A round times ours, the other, ours again and the other again.
type Contest struct {
	Rounds  int      `json:"rounds"`
	Ours    Interval `json:"ours"`
	Against Interval `json:"against"`
	// Ratio is of the times of a round: ours divided by the other's. Below 1, ours is faster.
	Ratio Interval `json:"ratio"`
	// Same are the ratios of a side to itself, ours and the other's, which are 1 but for what disturbs a measurement.
	Same [2]Interval `json:"same"`
}

// Interval is a median and what it lies between with a confidence of at least 95 %, or as much as there are rounds for.
type Interval struct {
	Median float64 `json:"median"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
}

// timed gives the milliseconds of one side.
type timed = func(context.Context) (float64, error)

// race times two sides in turns. Begin is told of each round.
func race(ctx context.Context, rounds int, ours, against timed, begin func(round int)) (*Contest, error) {
	var times [4][]float64
	for r := range rounds {
		begin(r)
		for i, run := range []timed{ours, against, ours, against} {
			t, err := run(ctx)
			if err != nil {
				return nil, err
			}
			times[i] = append(times[i], t)
		}
	}
	return contest(times), nil
}

// contest makes figures of the times of rounds: ours, the other's, and both again.
func contest(times [4][]float64) *Contest {
	n := len(times[0])
	a, b, ratio, sameA, sameB := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
	for i := range n {
		a[i], b[i] = (times[0][i]+times[2][i])/2, (times[1][i]+times[3][i])/2
		ratio[i], sameA[i], sameB[i] = a[i]/b[i], times[0][i]/times[2][i], times[1][i]/times[3][i]
	}
	return &Contest{Rounds: n, Ours: intervalOf(a), Against: intervalOf(b), Ratio: intervalOf(ratio), Same: [2]Interval{intervalOf(sameA), intervalOf(sameB)}}
}

// intervalOf finds the median and the ranks around it: the number of values below the true median is binomial with a half, so that the interval
// from the k-th least to the k-th greatest misses it with twice the probability of less than k.
func intervalOf(values []float64) Interval {
	v := slices.Sorted(slices.Values(values))
	n := len(v)
	if n == 0 {
		return Interval{}
	}
	out := Interval{Median: (v[(n-1)/2] + v[n/2]) / 2}
	k := rank(n)
	out.Low, out.High = v[k], v[n-1-k]
	return out
}

// rank gives the greatest k for which less than k+1 of n values are below the median with a probability of at most 2.5 %, at least 0.
func rank(n int) int {
	const miss = 0.025
	p := 1.0
	for range n {
		p /= 2
	}
	k, below := 0, 0.0
	for ; k < n/2; k++ {
		if below += p; below > miss {
			break
		}
		p = p * float64(n-k) / float64(k+1)
	}
	return max(0, k-1)
}
