package layered_test

import (
	"fmt"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"tensortapestry.org/tapc/view/layered"
)

func random(t *rapid.T) *layered.Graph {
	g := &layered.Graph{}
	n := rapid.IntRange(0, 150).Draw(t, "boxes")
	for range n {
		g.Boxes = append(g.Boxes, layered.Box{Width: rapid.IntRange(1, 200).Draw(t, "width"), Height: rapid.IntRange(1, 90).Draw(t, "height"), Brief: 30,
			Class: uint64(rapid.IntRange(0, 3).Draw(t, "class")), Apart: rapid.IntRange(0, 3).Draw(t, "apart"), Late: rapid.Bool().Draw(t, "late")})
	}
	for range rapid.IntRange(0, 3*n).Draw(t, "edges") {
		g.Edges = append(g.Edges, layered.Edge{From: rapid.IntRange(-1, n).Draw(t, "from"), To: rapid.IntRange(-1, n).Draw(t, "to")})
	}
	return g
}

// Of any graph, with cycles, edges to nothing and edges twice: each box is drawn once, each edge ends at its box and begins at the other one
// or at a reference to it, nothing overlaps, and all is inside of the size that is stated.
func TestAnyGraph(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := random(t)
		l := layered.Of(g)
		if again := layered.Of(g); !reflect.DeepEqual(l, again) {
			t.Fatal("the second layout differs")
		}
		drawn, edges := map[int]int{}, map[layered.Edge]bool{}
		at, size := l.Rows(l.Width())
		for i, s := range l.Segments {
			shape := l.Shapes[s.Shape]
			if p := at[i]; p.X < 0 || p.Y < 0 || p.X+shape.Width > size.X || p.Y+shape.Height > size.Y {
				t.Fatalf("segment %d at %v is outside of %v", i, p, size)
			}
			boxes := append(append([]int{}, s.Boxes...), s.Refs...)
			if len(boxes) != len(shape.At) {
				t.Fatalf("segment %d has %d boxes and references, its shape %d", i, len(boxes), len(shape.At))
			}
			for k, b := range s.Boxes {
				drawn[b]++
				if shape.Size[k].X < g.Boxes[b].Width || shape.Size[k].Y < g.Boxes[b].Height {
					t.Fatalf("box %d has %v in its shape", b, shape.Size[k])
				}
			}
			apart(t, shape)
			for _, e := range shape.Lines {
				edges[layered.Edge{From: boxes[e.From], To: boxes[e.To]}] = true
				first, last := e.Points[0], e.Points[len(e.Points)-1]
				if first.X != shape.At[e.From].X+shape.Size[e.From].X || last.X != shape.At[e.To].X || first.X >= last.X {
					t.Fatalf("a line from %v to %v does not join its boxes", first, last)
				}
			}
		}
		for b := range g.Boxes {
			if drawn[b] != 1 {
				t.Fatalf("box %d is drawn %d times", b, drawn[b])
			}
		}
		for _, e := range g.Edges {
			inside := e.From >= 0 && e.To >= 0 && e.From < len(g.Boxes) && e.To < len(g.Boxes) && e.From != e.To
			if inside != edges[e] {
				t.Fatalf("edge %v: drawn is %v", e, edges[e])
			}
		}
	})
}

// apart fails if boxes of a shape overlap or are outside of it.
func apart(t *rapid.T, s *layered.Shape) {
	for i, p := range s.At {
		if p.X < 0 || p.Y < 0 || p.X+s.Size[i].X > s.Width || p.Y+s.Size[i].Y > s.Height {
			t.Fatalf("%v of size %v is outside of %d by %d", p, s.Size[i], s.Width, s.Height)
		}
		for j, q := range s.At[:i] {
			if p.X < q.X+s.Size[j].X && q.X < p.X+s.Size[i].X && p.Y < q.Y+s.Size[j].Y && q.Y < p.Y+s.Size[i].Y {
				t.Fatalf("%d and %d overlap: %v of %v, %v of %v", j, i, q, s.Size[j], p, s.Size[i])
			}
		}
	}
}

// network is a chain of layers, each of operations with a constant and a tensor, whose input is added to its result; one of them is odd.
func network(layers, operations, odd int) *layered.Graph {
	g := &layered.Graph{}
	add := func(class uint64, from ...int) int {
		n := len(g.Boxes)
		g.Boxes = append(g.Boxes, layered.Box{Width: 100, Height: 40, Brief: 60, Class: class, Apart: int(class % 2 * 3), Late: class == 4})
		for _, f := range from {
			g.Edges = append(g.Edges, layered.Edge{From: f, To: n})
		}
		return n
	}
	x := add(2, add(1))
	for l := range layers {
		begin := x
		for o := range operations {
			class := uint64(11 + 2*o)
			if l == odd && o == 1 {
				class = 99
			}
			x = add(2, add(class, x, add(4)))
		}
		x = add(2, add(5, x, begin))
	}
	return g
}

func TestRepeatedBlocksHaveOneShape(t *testing.T) {
	for _, c := range []struct{ layers, operations, odd, shapes int }{{12, 4, -1, 4}, {40, 4, -1, 4}, {12, 12, -1, 8}} {
		l := layered.Of(network(c.layers, c.operations, c.odd))
		instances := 0
		for _, s := range l.Segments {
			if s.Block.Instances > 0 && s.Block.Piece == 0 {
				instances++
			}
		}
		if len(l.Shapes) > c.shapes || instances < c.layers-2 {
			t.Errorf("%d layers of %d: %d shapes, %d instances of blocks", c.layers, c.operations, len(l.Shapes), instances)
		}
	}
}

// A layer that differs is none of the block, which begins anew behind it.
func TestOddLayer(t *testing.T) {
	l := layered.Of(network(20, 4, 9))
	var blocks []string
	for _, s := range l.Segments {
		if b := s.Block; b.Instances > 0 && b.Instance == 0 && b.Piece == 0 {
			blocks = append(blocks, fmt.Sprint(b.Instances))
		}
	}
	if len(blocks) != 2 {
		t.Errorf("blocks of %v instances, expected two of them", blocks)
	}
	for _, s := range l.Segments {
		for _, b := range s.Boxes {
			if s.Block.Instances > 0 && network(20, 4, 9).Boxes[b].Class == 99 {
				t.Error("the odd operation is in a block")
			}
		}
	}
}

// BenchmarkLayout lays out 10,000 operations with as many constants and tensors: of repeated layers, and without any repetition.
func BenchmarkLayout(b *testing.B) {
	same := network(1000, 9, -1)
	differ := network(1000, 9, -1)
	for i := range differ.Boxes {
		differ.Boxes[i].Class = uint64(i)
	}
	for name, g := range map[string]*layered.Graph{"repeated": same, "different": differ} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				l := layered.Of(g)
				l.Rows(l.Width())
			}
		})
	}
}
