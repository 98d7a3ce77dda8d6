package layouts

import (
	"math"
	"slices"

	"tensortapestry.org/tapc/cost/collective"
	"tensortapestry.org/tapc/cost/reshard"
	"tensortapestry.org/tapc/dialects/application/planfile"
)

// tables are the prices of one mesh: of each way to cut an operation, and of each way to keep a tensor that it reads or writes.
type tables struct {
	space *Space
	mesh  []int64
	bytes [][]float64 // of one device, of each tensor by how it is kept; infinite for what does not fit the mesh
	time  [][]float64 // of each operation by how it is cut; the same
	moves [][]move    // of each edge: by the cut, then by how the tensor is kept
	known map[conversion]move
	place *reshard.Place
}

// move is what it takes to bring a tensor from one layout to another: seconds, bytes that a device sends, and bytes that it holds for a while.
type move struct{ time, sent, held float64 }

func (m move) plus(n move) move { return move{m.time + n.time, m.sent + n.sent, m.held + n.held} }

// conversion is what a move depends on: the bytes and dimensions of a tensor, and the layouts, the first of partial results along axes that are bits.
type conversion struct {
	bytes    float64
	rank     int
	from, to assignment
	partial  int
}

// tabulate makes the tables of a mesh.
func (x *Space) tabulate(mesh []int64) *tables {
	t := &tables{space: x, mesh: mesh, known: map[conversion]move{}}
	var m planfile.Mesh
	for axis, size := range mesh {
		m = append(m, planfile.Axis{Name: string("xyz"[axis]), Size: size})
	}
	t.place, _ = reshard.On(x.settings.Machine, x.settings.Kind, m) // there are as many devices: New has asked
	for _, y := range x.tensors {
		row := make([]float64, len(y.keeps))
		for i, a := range y.keeps {
			row[i] = t.local(y, a)
		}
		t.bytes = append(t.bytes, row)
	}
	for _, o := range x.ops {
		row := make([]float64, len(o.cuts))
		for i, a := range o.cuts {
			row[i] = t.operation(o, a)
		}
		t.time = append(t.time, row)
	}
	for _, e := range x.edges {
		t.moves = append(t.moves, t.edge(e))
	}
	return t
}

// part is what of extents the largest part of an assignment has, 0 to 1; infinite if it does not fit.
func (t *tables) part(extents []int64, a assignment) float64 {
	share := 1.0
	for d, n := range parts(t.mesh, a, len(extents)) {
		e := extents[d]
		if n > 1 && n > e {
			return math.Inf(1)
		}
		if n > 1 {
			share *= float64((e+n-1)/n) / float64(e)
		}
	}
	return share
}

// local is the bytes of a tensor on one device.
func (t *tables) local(y *tensor, a assignment) float64 { return y.bytes * t.part(y.extents, a) }

// operation is what the largest part of an operation takes.
func (t *tables) operation(o *operation, a assignment) float64 {
	extents := make([]int64, len(o.dims))
	for i, d := range o.dims {
		extents[i] = d.extent
	}
	share := t.part(extents, a)
	if math.IsInf(share, 1) {
		return share
	}
	w := o.work
	w.Count.Products, w.Count.Vector, w.Count.Function, w.Count.Division = w.Count.Products*share, w.Count.Vector*share, w.Count.Function*share, w.Count.Division*share
	for i := range o.operands {
		x := &o.operands[i]
		w.Bytes += x.bytes * x.share(t.mesh, o, a)
	}
	price, err := w.Price(t.space.device)
	if err != nil {
		return math.Inf(1) // New has priced the whole operation
	}
	return price.Value
}

// share is what of an operand a part reads or writes.
func (x *operand) share(mesh []int64, o *operation, a assignment) float64 {
	share := 1.0
	p := parts(mesh, a, len(o.dims))
	for _, j := range x.dims {
		if j >= 0 && p[j] > 1 {
			e := o.dims[j].extent
			share *= float64((e+p[j]-1)/p[j]) / float64(e)
		}
	}
	return share
}

// needs gives the layout in which an operand is read or written, and, as bits, the axes along which partial results of it are made.
func (x *operand) needs(o *operation, a assignment) (l assignment, partial int) {
	l = assignment{-1, -1, -1}
	for axis, j := range a {
		if j < 0 {
			continue
		}
		l[axis] = int8(slices.Index(x.dims, int(j)))
		if x.out && o.dims[j].reduced {
			partial |= 1 << axis
		}
	}
	return l, partial
}

// edge makes the moves of an operand.
func (t *tables) edge(e edge) []move {
	o, y := t.space.ops[e.op], t.space.tensors[e.tensor]
	x := &o.operands[e.operand]
	out := make([]move, 0, len(o.cuts)*len(y.keeps))
	done := map[[2]assignment]move{}
	for i, a := range o.cuts {
		need, partial := x.needs(o, a)
		for k, kept := range y.keeps {
			if math.IsInf(t.time[e.op][i]+t.bytes[e.tensor][k]+t.local(y, need), 1) {
				out = append(out, move{time: math.Inf(1)})
				continue
			}
			key := [2]assignment{need, kept}
			m, ok := done[key]
			if !ok || x.out {
				if x.out {
					m = t.convert(y, need, partial, kept)
				} else {
					m = t.convert(y, kept, 0, need).plus(t.halo(x, y, need))
					done[key] = m
				}
			}
			if need != kept { // partial results are summed in place
				m.held = t.local(y, need)
			}
			out = append(out, m)
		}
	}
	return out
}

// halo is what neighbours send each other of cells that both read.
func (t *tables) halo(x *operand, y *tensor, need assignment) (sum move) {
	for k, cells := range x.halo {
		axes := along(t.mesh, need, k)
		if n := t.place.Mesh.Parts(axes); cells > 0 && n > 1 {
			own := float64(y.extents[k]) / float64(n)
			step := reshard.Step{Kind: collective.AllToAll, Axes: axes, Dim: k, Bytes: t.local(y, need) * min(1, float64(cells)/own)}
			if p, err := t.place.Of([]reshard.Step{step}); err == nil {
				sum = sum.plus(t.price(p))
			}
		}
	}
	return sum
}

// convert brings a tensor from one layout, of partial results along some axes, to another, in the fastest way.
func (t *tables) convert(y *tensor, from assignment, partial int, to assignment) move {
	key := conversion{y.bytes, len(y.extents), from, to, partial}
	m, ok := t.known[key]
	if !ok {
		a, b := t.lies(y, from), t.lies(y, to)
		for axis := range t.mesh {
			if partial>>axis&1 != 0 && t.mesh[axis] > 1 {
				a.Partial = append(a.Partial, axis)
			}
		}
		if list, err := t.place.Cheapest(y.bytes, a, b); err != nil {
			m = move{time: math.Inf(1)} // devices that no link joins evenly
		} else if len(list) > 0 {
			m = t.price(list[0])
		}
		t.known[key] = m
	}
	return m
}

func (t *tables) price(p reshard.Price) move {
	return move{time: p.Seconds.Value, sent: p.Arrives / float64(t.place.Mesh.Devices())}
}

// lies says along which axes a tensor's dimensions are cut.
func (t *tables) lies(y *tensor, a assignment) (l reshard.Layout) {
	for k := range y.extents {
		l.Dims = append(l.Dims, along(t.mesh, a, k))
	}
	return l
}

// along gives the axes that cut a dimension.
func along(mesh []int64, a assignment, k int) (axes planfile.Axes) {
	for axis, size := range mesh {
		if a[axis] == int8(k) && size > 1 {
			axes = append(axes, axis)
		}
	}
	return axes
}
