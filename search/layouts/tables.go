package layouts

import (
	"math"
	"slices"

	"tensortapestry.org/tapc/cost/collective"
	"tensortapestry.org/tapc/cost/price"
	"tensortapestry.org/tapc/cost/reshard"
	"tensortapestry.org/tapc/cost/work"
	"tensortapestry.org/tapc/dialects/application/planfile"
	"tensortapestry.org/tapc/search/fusion"
	"tensortapestry.org/tapc/search/meshes"
)

// tables are the prices of one mesh: of each way to cut an operation, and of each way to keep a tensor that it reads or writes.
type tables struct {
	space   *Space
	mesh    []int64
	bytes   [][]float64    // of one device, of each tensor by how it is kept; infinite for what does not fit the mesh
	time    [][]float64    // of each operation by how it is cut; the same
	loads   [][]price.Load // the same, without bytes
	saved   [][]float64    // of each edge, by how its operation is cut: what is spared where its tensor is not stored
	moves   [][]move       // of each demand: by what is needed, then by how the tensor is kept
	sends   [][]move       // of each tensor by how it is kept, from one stage to another
	place   *reshard.Place
	between *reshard.Place // stages; nil of one
	devices int64
}

// move is what it takes to bring a tensor from one layout to another: seconds, bytes that a device sends, and bytes that it holds for a while.
type move struct{ time, sent, held float64 }

func (m move) plus(n move) move { return move{m.time + n.time, m.sent + n.sent, m.held + n.held} }

// tabulate makes the tables of a mesh.
func (x *Space) tabulate(mesh []int64) *tables {
	t := &tables{space: x, mesh: mesh}
	var m planfile.Mesh
	for axis, size := range mesh {
		m = append(m, planfile.Axis{Name: string("xyz"[axis]), Size: size})
	}
	t.devices = m.Devices()
	t.place, _ = reshard.On(x.settings.Machine, x.settings.Kind, m) // there are as many devices: New has asked
	t.between = between(x, mesh)
	for _, y := range x.tensors {
		row, sends := make([]float64, len(y.keeps)), make([]move, len(y.keeps))
		for i, a := range y.keeps {
			row[i] = t.local(y, a)
			if y.sends > 0 {
				sends[i] = t.send(row[i])
			}
		}
		t.bytes, t.sends = append(t.bytes, row), append(t.sends, sends)
	}
	for _, o := range x.ops {
		row, loads := make([]float64, len(o.cuts)), make([]price.Load, len(o.cuts))
		for i, a := range o.cuts {
			row[i], loads[i] = t.operation(o, a)
		}
		t.time, t.loads = append(t.time, row), append(t.loads, loads)
	}
	known := map[float64][]move{} // by the bytes of tensors, of each route; those that are not known yet take less than nothing
	for _, d := range x.ways.demands {
		y := x.tensors[d.edge.tensor]
		if known[y.bytes] == nil {
			known[y.bytes] = slices.Repeat([]move{{time: -1}}, len(x.ways.routes))
		}
		t.moves = append(t.moves, t.demand(d, known[y.bytes]))
	}
	t.joins()
	return t
}

// joins fills in what is spared on a mesh.
func (t *tables) joins() {
	j := &t.space.found.joins
	t.saved = make([][]float64, len(j.joints))
	for e, list := range j.joints {
		if list == nil {
			continue
		}
		t.saved[e] = make([]float64, len(list))
		for c := range list {
			if joint := &list[c]; joint.Maker != nil && !math.IsInf(t.time[t.space.edges[e].op][c], 1) {
				t.saved[e][c] = j.groups.Saved(*joint, t.together)
			}
		}
	}
}

// together is what one kernel of some parts takes.
func (t *tables) together(of []fusion.Part) float64 {
	j, sum := &t.space.found.joins, price.Load{}
	for _, p := range of {
		sum = sum.Plus(t.loads[j.classes[p.Step]][p.Cut])
	}
	j.groups.Touches(of, func(p fusion.Part, operand int) {
		o := t.space.ops[j.classes[p.Step]]
		a := &o.operands[operand]
		sum.Bytes += a.bytes * a.share(t.mesh, o, o.cuts[p.Cut])
	})
	return sum.Seconds(t.space.device)
}

// least gives the least that each operation takes with what is spared by what it reads.
func (t *tables) least() []float64 {
	out := make([]float64, len(t.time))
	for i, row := range t.time {
		out[i] = math.Inf(1)
		for c, v := range row {
			for e, d := range t.space.edges {
				if d.op == i && t.saved[e] != nil {
					v -= t.space.times[e] * t.saved[e][c] / t.space.ops[i].count
				}
			}
			out[i] = min(out[i], max(v, 0))
		}
	}
	return out
}

// part is what of extents the largest part of an assignment has, 0 to 1; infinite if it does not fit.
func (t *tables) part(extents []int64, a meshes.Assignment) float64 {
	share := 1.0
	for d, n := range meshes.Cuts(t.mesh, a) {
		e := extents[d]
		if n > e {
			return math.Inf(1)
		}
		share *= float64((e+n-1)/n) / float64(e)
	}
	return share
}

// local is the bytes of a tensor on one device.
func (t *tables) local(y *tensor, a meshes.Assignment) float64 { return y.bytes * t.part(y.extents, a) }

// operation is what the largest part of an operation takes by itself, and its load without bytes.
func (t *tables) operation(o *operation, a meshes.Assignment) (seconds float64, load price.Load) {
	share := t.part(o.extents(), a)
	if math.IsInf(share, 1) {
		return share, load
	}
	w := o.work
	w.Count = t.count(o, a, share)
	load, err := w.Load(t.space.device)
	if err != nil {
		return math.Inf(1), load // New has looked at the whole operation
	}
	all := load
	for i := range o.operands {
		x := &o.operands[i]
		all.Bytes += x.bytes * x.share(t.mesh, o, a) * float64(max(x.needs(o, a).wide, 1))
	}
	return all.Seconds(t.space.device), load
}

// count is what the largest part of an operation counts: its share, or what the graph says of it.
func (t *tables) count(o *operation, a meshes.Assignment, share float64) work.Count {
	c := o.work.Count
	if o.said == nil {
		c.Products, c.Vector, c.Function, c.Division = c.Products*share, c.Vector*share, c.Function*share, c.Division*share
		return c
	}
	box := o.said.Box.Clone()
	for d, n := range meshes.Cuts(t.mesh, a) {
		box.End[d] = box.Start[d] + (box.End[d]-box.Start[d]+n-1)/n
	}
	part, err := o.said.Part(box)
	if err != nil {
		return c // New has looked at the whole operation
	}
	return part.Count
}

// share is what of an operand a part reads or writes.
func (x *operand) share(mesh []int64, o *operation, a meshes.Assignment) float64 {
	share := 1.0
	for d, n := range meshes.Cuts(mesh, a) {
		for _, j := range x.dims {
			if e := o.dims[d].extent; j == d {
				share *= float64((e+n-1)/n) / float64(e)
			}
		}
	}
	return share
}

// demand makes the moves of one. Costs are those of routes that are known for tensors of as many bytes.
func (t *tables) demand(d *demand, known []move) []move {
	y := t.space.tensors[d.edge.tensor]
	x := &t.space.ops[d.edge.op].operands[d.edge.operand]
	out := make([]move, 0, len(d.routes))
	for _, n := range d.needs {
		held := t.local(y, n.layout)
		halo := t.halo(x, y, n.layout)
		for k, kept := range y.keeps {
			var m move
			if math.IsInf(held+t.bytes[d.edge.tensor][k], 1) {
				m.time = math.Inf(1)
			} else {
				route := d.routes[len(out)]
				if known[route].time < 0 {
					known[route] = t.route(t.space.ways.routes[route], y.bytes)
				}
				if m = known[route]; !x.out {
					m = m.plus(halo)
				}
			}
			if n.layout != kept { // partial results are summed in place
				m.held = held
			}
			if n.wide > 1 { // and beside that, where they are wider
				m.held = held * float64(n.wide)
			}
			out = append(out, m)
		}
	}
	return out
}

// halo is what neighbours send each other of cells that both read.
func (t *tables) halo(x *operand, y *tensor, need meshes.Assignment) (sum move) {
	for k, cells := range x.halo {
		axes := need.Along(k)
		if n := t.place.Mesh.Parts(axes); cells > 0 && n > 1 {
			own := float64(y.extents[k]) / float64(n)
			m, err := t.step(reshard.Step{Kind: collective.AllToAll, Axes: axes, Dim: k, Bytes: t.local(y, need) * min(1, float64(cells)/own)})
			if err == nil {
				sum = sum.plus(m)
			}
		}
	}
	return sum
}

// route is the fastest of some routes of a tensor of so many bytes; of some that take as long, one that sends least.
func (t *tables) route(routes [][]reshard.Leg, bytes float64) (best move) {
	for i, legs := range routes {
		var sum move
		for _, l := range legs {
			m, err := t.step(l.Step(t.place.Mesh, bytes))
			if err != nil {
				return move{time: math.Inf(1)} // devices that no link joins evenly
			}
			sum = sum.plus(m)
		}
		if i == 0 || sum.time < best.time || sum.time == best.time && sum.sent < best.sent {
			best = sum
		}
	}
	return best
}

func (t *tables) step(s reshard.Step) (move, error) {
	p, err := t.place.Fastest(s)
	return move{time: p.Seconds.Value, sent: s.Arrives(t.place.Mesh) / float64(t.devices)}, err
}

// between is the mesh of stages and of the devices of each, on the machine.
func between(x *Space, mesh []int64) *reshard.Place {
	if x.line.stages == 1 {
		return nil
	}
	m := planfile.Mesh{{Name: stageAxis, Size: int64(x.line.stages)}, {Name: "d", Size: meshes.Product(mesh)}}
	p, _ := reshard.On(x.settings.Machine, x.settings.Kind, m) // there are as many devices: New has asked
	return p
}

// stageAxis is the name that the mesh of a plan gives to the axis of stages.
const stageAxis = "s"

// send is what it takes to bring a part of a tensor from each device of a stage to one of another, all at the same time. Bytes that are sent are those of all devices, on average.
func (t *tables) send(bytes float64) (m move) {
	if t.between == nil || bytes == 0 || math.IsInf(bytes, 1) {
		return m
	}
	p, err := t.between.Fastest(reshard.Step{Kind: collective.Exchange, Axes: planfile.Axes{0}, Dim: -1, Bytes: bytes})
	if err != nil {
		return move{time: math.Inf(1)}
	}
	return move{time: p.Seconds.Value, sent: bytes / float64(t.space.line.stages)}
}
