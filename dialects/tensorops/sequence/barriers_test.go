package sequence

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"tensortapestry.org/tapc/ir"
)

// thing is a node that sequence points name, in the place of an operation.
type thing struct{}

var thingKind = &ir.Kind{Keyword: "thing", New: func() ir.Body { return new(thing) }}

func (*thing) Kind() *ir.Kind   { return thingKind }
func (*thing) Fields(ir.Fields) {}

// ordering gives which things happen before which, by points alone (or also by way of some things, where through says so).
func ordering(next map[ir.NodeID][]ir.NodeID, from ir.NodeID, through func(ir.NodeID) bool) (out ir.NodeSet) {
	var seen ir.NodeSet
	var visit func(id ir.NodeID)
	visit = func(id ir.NodeID) {
		for _, x := range next[id] {
			if seen.Has(x) {
				continue
			}
			seen.Add(x)
			out.Add(x)
			if through(x) {
				visit(x)
			}
		}
	}
	visit(from)
	return out
}

// What barriers order, one after the other and through those that carry it, is what sequence points order.
func TestBarriersOrderAsPointsDo(t *testing.T) {
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 3))
		g := ir.New()
		for range 2 + r.IntN(7) {
			g.Add(&thing{}, "")
		}
		things, carried := g.Bound(), map[ir.NodeID]bool{}
		for id := range things {
			carried[ir.NodeID(id)] = r.IntN(4) > 0
		}
		// every point names what comes before it and after it in a line that is drawn
		line := []ir.NodeID{}
		for range 1 + r.IntN(7) {
			g.Add(&Point{}, "")
		}
		for id := range g.Bound() {
			line = append(line, ir.NodeID(id))
		}
		r.Shuffle(len(line), func(i, k int) { line[i], line[k] = line[k], line[i] })
		for i, id := range line {
			if p, ok := g.Node(id).Body.(*Point); ok {
				for k, x := range line {
					if k < i && r.IntN(4) == 0 {
						p.After = append(p.After, x)
					} else if k > i && r.IntN(4) == 0 {
						p.Before = append(p.Before, x)
					}
				}
			}
		}
		_, later := Edges(g)
		isPoint := func(id ir.NodeID) bool { return int(id) >= things }
		carries := func(id ir.NodeID) bool { return carried[id] }
		next := map[ir.NodeID][]ir.NodeID{}
		for _, b := range Barriers(g, carries) {
			for _, x := range b.Before {
				next[x] = append(next[x], b.After...)
			}
		}
		for id := range things {
			want := ordering(later, ir.NodeID(id), func(x ir.NodeID) bool { return isPoint(x) || carries(x) })
			got := ordering(next, ir.NodeID(id), carries)
			for x := range things {
				if want.Has(ir.NodeID(x)) != got.Has(ir.NodeID(x)) {
					t.Fatalf("seed %d: %d before %d: points %v, barriers %v", seed, id, x, want.Has(ir.NodeID(x)), got.Has(ir.NodeID(x)))
				}
			}
		}
	}
}

// Barriers of a chain of points, each with operations before and after it that the next one is behind, hold each once; where operations are before the points alone, they share what comes at the end.
func TestBarriersOfChains(t *testing.T) {
	const n = 10_000
	g := ir.New()
	last := g.Add(&thing{}, "").ID
	for range n {
		x := g.Add(&thing{}, "").ID
		p := g.Add(&Point{After: []ir.NodeID{last}, Before: []ir.NodeID{x}}, "")
		if n := g.Node(p.ID - 2); n != nil && n.Body.Kind() == Kind {
			n.Body.(*Point).Before = append(n.Body.(*Point).Before, p.ID)
		}
		last = x
	}
	total := 0
	for _, b := range Barriers(g, func(ir.NodeID) bool { return true }) {
		total += len(b.Before) + len(b.After)
	}
	if total != 2*n {
		t.Errorf("%d ends of barriers, expected %d", total, 2*n)
	}

	g = ir.New()
	end := g.Add(&thing{}, "").ID
	before := []ir.NodeID{end}
	for range n {
		p := g.Add(&Point{After: []ir.NodeID{g.Add(&thing{}, "").ID}, Before: before}, "")
		before = []ir.NodeID{p.ID}
	}
	list := Barriers(g, func(ir.NodeID) bool { return true })
	for _, b := range list {
		if !slices.Equal(b.After, []ir.NodeID{end}) || &b.After[0] != &list[0].After[0] {
			t.Fatalf("%v after %d: expected what all share", b.After, b.Point)
		}
	}
}

// BenchmarkBarriers takes as long for each point of a chain of any length, where each orders an operation before it and one after it, or many operations before a common one.
func BenchmarkBarriers(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		links, shared := ir.New(), ir.New()
		last := links.Add(&thing{}, "").ID
		before := []ir.NodeID{shared.Add(&thing{}, "").ID}
		for range n {
			next := links.Add(&thing{}, "").ID
			links.Add(&Point{After: []ir.NodeID{last}, Before: []ir.NodeID{next}}, "")
			before = []ir.NodeID{shared.Add(&Point{After: []ir.NodeID{shared.Add(&thing{}, "").ID}, Before: before}, "").ID}
			last = next
		}
		for i, g := range []*ir.Graph{links, shared} {
			b.Run(fmt.Sprintf("%s/%d", []string{"links", "shared"}[i], n), func(b *testing.B) {
				for b.Loop() {
					Barriers(g, func(ir.NodeID) bool { return true })
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/point")
			})
		}
	}
}
