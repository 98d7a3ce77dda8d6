package tune

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestEvidence holds the closed form to the integral that it is of, and the test to its promise: of claims that are wrong, looked at after every round, at most
// one in 1/α is ever thought right.
func TestEvidence(t *testing.T) {
	for n := 1; n <= 24; n++ {
		for k := 0; k <= n; k++ {
			sum, const_ := 0.0, 20000
			for i := range const_ {
				p := 0.5 + 0.5*(float64(i)+0.5)/float64(const_)
				sum += math.Exp(float64(k)*math.Log(2*p) + float64(n-k)*math.Log(2*(1-p)))
			}
			if want := sum / float64(const_); math.Abs(evidence(k, n)/want-1) > 1e-6 {
				t.Errorf("%d of %d: %v, expected %v", k, n, evidence(k, n), want)
			}
		}
	}
	r := rand.New(rand.NewPCG(7, 8))
	const times = 20000
	wrong := 0
	for range times {
		k := 0
		for n := 1; n <= 200; n++ {
			if r.IntN(2) == 0 {
				k++
			}
			if evidence(k, n) >= 20 {
				wrong++
				break
			}
		}
	}
	if part := float64(wrong) / times; part > 1.0/20 || part < 1.0/200 {
		t.Errorf("%v of the claims are thought right wrongly, expected at most %v, and not nearly none", part, 1.0/20)
	}
}

// racing gives times around 1 and around a ratio, with noise.
func racing(ratio, noise float64, seed uint64) Verdict {
	r := rand.New(rand.NewPCG(seed, 1))
	var ratios []float64
	for {
		ratios = append(ratios, ratio*math.Exp(noise*(r.NormFloat64()-r.NormFloat64())))
		if v := judge(ratios); v.Outcome != Undecided || len(ratios) == most {
			return v
		}
	}
}

// TestJudge: what is faster by more than the noise is found, with few rounds; what is no faster hardly ever is.
func TestJudge(t *testing.T) {
	for _, c := range []struct {
		ratio, noise float64
		want         Outcome
		least        float64 // part of the races that end so
		most         float64
	}{
		{0.9, 0.01, Faster, 0.99, 1},
		{0.97, 0.01, Faster, 0.75, 1},
		{1, 0.05, Faster, 0, 0.01},
		{1.02, 0.02, Faster, 0, 0.002},
		{1, 0.02, NoGain, 0.7, 1},
		{1.5, 0.02, NoGain, 1, 1},
	} {
		got, rounds := 0, 0
		const races = 2000
		for seed := range uint64(races) {
			v := racing(c.ratio, c.noise, seed)
			rounds += v.Rounds
			if v.Outcome == c.want {
				got++
			}
		}
		if part := float64(got) / races; part < c.least || part > c.most {
			t.Errorf("ratio %v, noise %v: %v are %q, expected %v to %v", c.ratio, c.noise, part, c.want, c.least, c.most)
		}
		if c.ratio > 1.3 && rounds != 2*races {
			t.Errorf("what is far behind takes %v rounds", float64(rounds)/races)
		}
	}
}
