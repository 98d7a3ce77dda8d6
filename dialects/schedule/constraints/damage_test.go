package constraints

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/zspace"
)

// damage is a reader that changes some of the fields it visits.
type damage struct {
	rng   *rand.Rand
	odds  int // one value in so many
	bound int // of node ids
}

func (d *damage) hit() bool { return d.rng.IntN(d.odds) == 0 }

// number changes a number a little, or altogether.
func (d *damage) number(old int64) int64 {
	far := [...]int64{math.MinInt64, -1, 0, 1, 2, 3, 7, 64, 1 << 31, 1 << 62, math.MaxInt64}
	switch d.rng.IntN(4) {
	case 0:
		return far[d.rng.IntN(len(far))]
	case 1:
		return old - 1
	}
	return old + 1
}

func (d *damage) node() ir.NodeID { return ir.NodeID(d.rng.IntN(d.bound+3) - 2) }

func (d *damage) numbers(old []int64) []int64 {
	out := append([]int64(nil), old...)
	for i := range out {
		if d.hit() {
			out[i] = d.number(out[i])
		}
	}
	if first := d.hit(); d.hit() && first {
		out = append(out, 1)
	}
	return out
}

func (d *damage) Bool(ir.Field, *bool) {}
func (d *damage) Int(_ ir.Field, v *int64) {
	if d.hit() {
		*v = d.number(*v)
	}
}
func (d *damage) Ints(_ ir.Field, v *[]int64) { *v = d.numbers(*v) }
func (d *damage) String(f ir.Field, v *string) {
	if d.hit() {
		words := [...]string{"", "x", "cuda", "int8", "write", "arena", "output", "thread", "X + X + X", "sum(j) X", "sum(i) Y", "float32(i)", "where(i < 2, X, 0)"}
		*v = words[d.rng.IntN(len(words))]
	}
}
func (d *damage) Ref(_ ir.Field, v *ir.NodeID) {
	if d.hit() {
		*v = d.node()
	}
}
func (d *damage) Refs(f ir.Field, v *[]ir.NodeID) {
	*v = append([]ir.NodeID(nil), *v...)
	for i := range *v {
		d.Ref(f, &(*v)[i])
	}
	if d.hit() {
		*v = append(*v, d.node())
	}
}
func (d *damage) Range(_ ir.Field, v *zspace.Range) {
	*v = zspace.Range{Start: d.numbers(v.Start), End: d.numbers(v.End)}
}
func (d *damage) Affine(_ ir.Field, v *zspace.AffineMap) {
	m := make(zspace.Matrix, len(v.Projection))
	for i := range m {
		m[i] = d.numbers(v.Projection[i])
	}
	*v = zspace.AffineMap{Projection: m, Offset: d.numbers(v.Offset)}
}
func (d *damage) Attrs(ir.Field, *ir.Attrs) {}
func (d *damage) Ports(f ir.Field, v *ir.Ports) {
	*v = v.Clone()
	for i := range v.Len() {
		for j := range v.At(i).Sel {
			s := &v.At(i).Sel[j]
			d.Ref(f, &s.Tensor)
			box := s.Range()
			d.Range(f, &box)
			s.SetRange(box)
		}
	}
}
func (d *damage) PortMaps(f ir.Field, v *ir.PortMaps) {
	for i := range *v {
		for j := range (*v)[i].Maps {
			d.Affine(f, &(*v)[i].Maps[j].AffineMap)
		}
	}
}
func (d *damage) List(_ ir.Field, n int, _ func(int), each func(int, ir.Fields)) {
	for i := range n {
		each(i, d)
	}
}
func (d *damage) Fail(ir.Field, string, string) {}

// TestDamagedSchedulesAreReported changes fields at random: whatever comes of it, verification ends, without a panic, and
// says the same each time.
func TestDamagedSchedulesAreReported(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := newProgram()
		if rapid.Bool().Draw(t, "layers") {
			p = layers(4, 2, 3)
		}
		d := &damage{rng: rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0)), bound: p.Bound()}
		d.odds = 40 + d.rng.IntN(p.Bound()*20)
		for n := range p.Nodes() {
			n.Body.Fields(d)
			for _, tag := range n.Tags() {
				tag.Fields(d)
			}
		}
		found := Environment().Verify(context.Background(), p.Graph)
		if again := Environment().Verify(context.Background(), p.Graph); again.Error() != found.Error() {
			t.Fatalf("once\n%v\nand once\n%v", found, again)
		}
	})
}
