package tune

import (
	"context"
	"math"
	"slices"
)

// A race times two programs one after the other, round by round, until one of two things is sure or there were enough rounds: that the candidate is faster,
// or that it does not gain what is worth having.
//
// Both are tested on the signs of rounds alone, so nothing is assumed of how times are distributed but that rounds are alike: that a candidate is no faster means
// that its time is the lesser in at most half of them. The test may be looked at after every round: with k of n rounds for the claim, evidence is the likelihood of
// that for a part of the rounds drawn evenly from 1/2 to 1, divided by the likelihood for 1/2,
//
//	e = 2^(n+1) · P(Binomial(n+1, 1/2) ≤ k) / ((n+1) · C(n, k)),
//
// and it reaches 1/α at any time with a probability of at most α if the claim is wrong (J. Ville, Étude critique de la notion de collectif, 1939; the mixture is that of
// H. Robbins, Statistical methods related to the law of the iterated logarithm, Annals of Mathematical Statistics 41, 1970).
const (
	faster    = 100  // evidence for being faster: wrong in one race of a hundred
	hopeless  = 5    // evidence for no gain: what is given up wrongly is a gain, never a loss
	worth     = 0.01 // the part of the time that is worth having
	most      = 24   // rounds
	enough    = 8    // rounds after which a candidate whose median is not below 1 is given up
	farBehind = 1.25 // times the time of the present choice: in two rounds, it is given up
)

// Outcome is how a race ended.
type Outcome string

// The outcomes.
const (
	Faster    Outcome = "faster"
	NoGain    Outcome = "no gain"
	Undecided Outcome = "undecided"
	Refused   Outcome = "refused" // it does not build, or has other values
)

// Verdict is what a race found.
type Verdict struct {
	Outcome Outcome `json:"outcome"`
	Ratio   float64 `json:"ratio,omitempty"` // of the candidate's time to that of the present choice: the median of the rounds
	Rounds  int     `json:"rounds,omitempty"`
	Sure    float64 `json:"sure,omitempty"` // with which probability at least it is faster, of 1
	Seconds float64 `json:"seconds,omitempty"`
	Reason  string  `json:"reason,omitempty"` // why it is refused
}

// evidence is that of k of n rounds for a claim.
func evidence(k, n int) float64 {
	tail, term := 0.0, math.Exp2(-float64(n+1)) // of the binomial distribution of n+1
	for i := 0; i <= k; i++ {
		tail += term
		term *= float64(n+1-i) / float64(i+1)
	}
	choose := 1.0
	for i := range k {
		choose *= float64(n-i) / float64(i+1)
	}
	return math.Exp2(float64(n+1)) * tail / (float64(n+1) * choose)
}

// Subject is a program of a kernel that can be timed.
type Subject interface {
	// Time gives the seconds of one run of the kernel.
	Time(ctx context.Context) (float64, error)
}

// race times a candidate beside the present choice.
func race(ctx context.Context, present, candidate Subject) (Verdict, error) {
	var ratios, times []float64
	for len(ratios) < most {
		a, b, err := round(ctx, present, candidate, len(ratios)%2 == 1)
		if err != nil {
			return Verdict{}, err
		}
		ratios, times = append(ratios, b/a), append(times, b)
		if v := judge(ratios); v.Outcome != Undecided || len(ratios) == most {
			v.Seconds = median(times)
			return v, nil
		}
	}
	return Verdict{Outcome: Undecided}, nil
}

// round times both, the present choice first or last.
func round(ctx context.Context, present, candidate Subject, last bool) (a, b float64, err error) {
	if last {
		if b, err = candidate.Time(ctx); err == nil {
			a, err = present.Time(ctx)
		}
		return a, b, err
	}
	if a, err = present.Time(ctx); err == nil {
		b, err = candidate.Time(ctx)
	}
	return a, b, err
}

// judge says what the ratios of rounds show.
func judge(ratios []float64) Verdict {
	n, less, noGain, behind := len(ratios), 0, 0, 0
	for _, r := range ratios {
		if r < 1 {
			less++
		}
		if r > 1-worth {
			noGain++
		}
		if r > farBehind {
			behind++
		}
	}
	e := evidence(less, n)
	v := Verdict{Outcome: Undecided, Ratio: median(ratios), Rounds: n, Sure: max(0, 1-1/e)}
	switch {
	case e >= faster && v.Ratio <= 1-worth:
		v.Outcome = Faster
	case evidence(noGain, n) >= hopeless, n == 2 && behind == 2, n >= enough && v.Ratio >= 1:
		v.Outcome = NoGain
	}
	return v
}

func median(values []float64) float64 {
	v := slices.Sorted(slices.Values(values))
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}
