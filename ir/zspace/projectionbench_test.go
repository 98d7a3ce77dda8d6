package zspace_test

import (
	"testing"

	"tensortapestry.org/tapc/ir/zspace"
)

func BenchmarkApply(b *testing.B) {
	p := proj(b, "(d0, d1, d2) -> [d0 - 40, 2*d1 - d2, 0] + [1, 3, 12]")
	r := rng(b, "[0:100, 5:32, 7:9]")
	for b.Loop() {
		if _, err := p.Apply(r); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkFindCollision(b *testing.B) {
	for _, c := range []struct{ name, m, index string }{
		{"identity", "(d0, d1) -> [d0, d1] + [1, 1]", "[0:100000, 0:100000]"},
		{"radix", "(d0, d1, d2) -> [5000*d0 + 50*d1 + d2] + [1]", "[0:1000, 0:100, 0:50]"},
		{"undecided", "(d0, d1, d2, d3) -> [812739451*d0 + 671928377*d1 + 918273641*d2 + 745102993*d3] + [1]", "[0:40, 0:40, 0:40, 0:40]"},
		{"skew", "(d0, d1) -> [d0 + d1, d0 - d1] + [1, 1]", "[0:100000, 0:100000]"},
	} {
		p, r := proj(b, c.m), rng(b, c.index)
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				_, found, decided, err := p.FindCollision(r, zspace.SearchBudget)
				if found || decided == (c.name == "undecided") || err != nil {
					b.Fatal(found, decided, err)
				}
			}
		})
	}
}
