package split

import (
	"math"
	"math/rand/v2"
	"testing"
)

// sum adds values as docs/numerics.md says: in blocks of 64, and blocks of blocks.
func (t tree) sum(values []float32) float32 {
	block := len(values)
	if t.product {
		switch {
		case len(values) > 4096:
			block = 4096
		case len(values) > 256:
			block = 64
		}
	} else {
		for block = 1; block*64 < len(values); {
			block *= 64
		}
	}
	total := float32(0)
	if block == len(values) || block == 1 {
		for _, v := range values {
			total += v
		}
		return total
	}
	for len(values) > 0 {
		n := min(block, len(values))
		if t.product && block == 4096 {
			total += blocks(values[:n])
		} else if t.product {
			total += tree{}.sum(values[:n])
		} else {
			total += t.sum(values[:n])
		}
		values = values[n:]
	}
	return total
}

// blocks adds the values of a group of a product: in blocks of 64, however few they are.
func blocks(values []float32) float32 {
	total := float32(0)
	for len(values) > 0 {
		n := min(64, len(values))
		total += tree{}.sum(values[:n])
		values = values[n:]
	}
	return total
}

// of computes a term as operations do: parts by themselves, and terms one by one.
func (t *term) of(tr tree, values []float32) float32 {
	if len(t.Terms) == 0 {
		return tr.sum(values[t.From:t.To])
	}
	total := t.Terms[0].of(tr, values)
	for _, x := range t.Terms[1:] {
		total += x.of(tr, values)
	}
	return total
}

// The terms of a sum that is cut where blocks begin have the bits of the whole, and cuts anywhere else are refused.
func TestTermsKeepBits(t *testing.T) {
	rnd := rand.New(rand.NewPCG(17, 2))
	kept := 0
	for range 400 {
		tr := tree{product: rnd.IntN(2) == 0}
		n := []int64{1, 63, 64, 65, 255, 256, 257, 1000, 4095, 4096, 4097, 4200, 9000, 20000}[rnd.IntN(14)]
		values := make([]float32, n)
		for i := range values {
			values[i] = float32(rnd.NormFloat64() * math.Exp2(float64(rnd.IntN(24))))
		}
		var places []int64
		inside := false
		for at := int64(0); ; {
			if at += 1 + rnd.Int64N(40)*64; rnd.IntN(20) > 0 {
				at -= at % 64
			}
			if at <= 0 || len(places) > 0 && at <= places[len(places)-1] {
				continue
			}
			if at >= n {
				break
			}
			places, inside = append(places, at), inside || at%64 != 0
		}
		all := tr.cut(n, places, 1<<20)
		if leaf := tr.level(n) == 0; (all == nil) != (len(places) > 0 && (inside || leaf)) {
			t.Errorf("%d values, product %v, cut at %v: terms %v", n, tr.product, places, all != nil)
		}
		if all == nil {
			continue
		}
		kept++
		if got, want := all.of(tr, values), tr.sum(values); math.Float32bits(got) != math.Float32bits(want) {
			t.Errorf("%d values, product %v, cut at %v: %v, want %v", n, tr.product, places, got, want)
		}
	}
	if kept < 200 {
		t.Errorf("only %d cuts keep bits", kept)
	}
}

// How many terms there may be is bounded.
func TestTermsAreBounded(t *testing.T) {
	if all := (tree{product: true}).cut(1<<20, []int64{64}, 100); all != nil {
		t.Error("more than 100 terms are given")
	}
	if all := (tree{product: true}).cut(1<<20, []int64{1 << 19}, 200); all == nil {
		t.Error("two hundred groups are refused")
	}
}
