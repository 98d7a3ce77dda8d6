package access

import (
	"fmt"
	"maps"
	"testing"

	"pgregory.net/rapid"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/zspace"
)

// reshaped is the kernel of a reshape as it is lowered: row-major places worked out with quotients and remainders.
func reshaped(from, to []int64) *schedule.Kernel {
	k := &schedule.Kernel{Name: "reshape"}
	loop := func(name string, n int64) {
		k.Loops = append(k.Loops, schedule.Loop{Name: name, End: n, Levels: []schedule.Level{{Tile: 1}}})
	}
	binary, constant := scalar.Must, scalar.Number
	place := constant(0)
	var over []int64
	for i, n := range to {
		loop(fmt.Sprintf("s%d", i), n)
		over = append(over, int64(i))
		place = binary(scalar.Add, binary(scalar.Mul, place, constant(n)), scalar.NewLoop(i))
	}
	value := scalar.NewLoad(0, scalar.Float32)
	step := int64(1)
	for i := len(from) - 1; i >= 0; i-- {
		value = scalar.NewAt(len(to)+i, binary(scalar.Mod, binary(scalar.Div, place, constant(step)), constant(from[i])), value)
		step *= from[i]
	}
	access := func(first, n int) zspace.AffineMap {
		a := zspace.AffineMap{Offset: make(zspace.Point, n)}
		for i := range n {
			a.Projection = append(a.Projection, make([]int64, len(to)+len(from)))
			a.Projection[i][first+i] = 1
		}
		return a
	}
	for i, n := range from {
		loop(fmt.Sprintf("h%d", i), n)
	}
	k.Operands = []schedule.Operand{{Name: "tensor", DType: "float32", Mode: schedule.Read, Access: access(len(to), len(from))},
		{Name: "result", DType: "float32", Mode: schedule.Write, Access: access(0, len(to))}}
	k.Statements = []schedule.Statement{{Name: "v", Over: over, Store: 1, Value: value}}
	return k
}

// copies lists what a kernel that is cut copies: the cell that is read, by the cell that is written.
func copies(t *rapid.T, k *schedule.Kernel) map[string]string {
	out := map[string]string{}
	for p := range k.Space().Points() {
		read, err := k.Operands[0].Access.Apply(p)
		if err != nil {
			t.Fatal(err)
		}
		write, err := k.Operands[1].Access.Apply(p)
		if err != nil {
			t.Fatal(err)
		}
		if _, twice := out[fmt.Sprint(write)]; twice {
			t.Fatalf("%v is written twice", write)
		}
		out[fmt.Sprint(write)] = fmt.Sprint(read)
	}
	return out
}

// cells lists the cells of a shape in row-major order.
func cells(shape []int64) []string {
	var out []string
	for p := range (zspace.Range{Start: make(zspace.Point, len(shape)), End: shape}).Points() {
		out = append(out, fmt.Sprint(p))
	}
	return out
}

func TestJoinedDimensionsAreSteppedThrough(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		from := rapid.SliceOfN(rapid.Int64Range(1, 5), 1, 5).Draw(t, "from")
		var to []int64
		for i := 0; i < len(from); {
			n := rapid.IntRange(1, len(from)-i).Draw(t, "joined")
			joined := int64(1)
			for _, x := range from[i : i+n] {
				joined *= x
			}
			to, i = append(to, joined), i+n
		}
		k := reshaped(from, to)
		if !Cut(k) {
			t.Fatalf("%v to %v was not cut", from, to)
		}
		want, sources := map[string]string{}, cells(from)
		for i, c := range cells(to) {
			want[c] = sources[i]
		}
		if got := copies(t, k); !maps.Equal(got, want) {
			t.Fatalf("%v to %v copies %v, want %v", from, to, got, want)
		}
	})
}

func TestQuotientsThatNoLoopFollowsStay(t *testing.T) {
	for _, c := range [][2][]int64{{{4, 6}, {3, 8}}, {{2, 3}, {3, 2}}, {{2, 2, 3}, {3, 4}}} {
		k := reshaped(c[0], c[1])
		if Cut(k) {
			t.Errorf("%v to %v was cut: %v", c[0], c[1], k.Operands)
		}
		if len(k.Loops) != len(c[0])+len(c[1]) {
			t.Errorf("%v to %v has changed", c[0], c[1])
		}
	}
}
