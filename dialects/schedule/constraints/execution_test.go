package constraints

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/zspace"
)

// machine carries out a schedule in some order that After allows, with the points of every statement in some order, on
// memory that holds rubbish at first. A schedule that is accepted gives the same outputs whatever is chosen.
type machine struct {
	t      *rapid.T
	g      *ir.Graph
	rng    *rand.Rand
	memory map[ir.NodeID][]byte
	k      *schedule.Kernel
	point  zspace.Point
	locals []map[string]scalar.Value
}

// maxVolume bounds how much a schedule may compute or hold to be carried out.
const maxVolume = 1 << 14

// small says whether a schedule can be carried out in reasonable time.
func small(g *ir.Graph) bool {
	total := int64(0)
	for n := range g.Nodes() {
		switch b := n.Body.(type) {
		case *schedule.Buffer:
			if b.Bytes > maxVolume || b.Offset > maxVolume {
				return false
			}
		case *schedule.Kernel:
			v, err := k64(b.Space())
			if err != nil || v > maxVolume {
				return false
			}
			total += v
		}
	}
	return total <= maxVolume
}

// k64 is the number of points of a box, of which empty dimensions count as one.
func k64(r zspace.Range) (int64, error) {
	r = r.Clone()
	for i := range r.Start {
		if r.End[i] == r.Start[i] {
			r.Start[i], r.End[i] = 0, 1
		}
	}
	return r.Size()
}

// run gives the bytes of the output buffers.
func (m *machine) run() []byte {
	m.memory = map[ir.NodeID][]byte{}
	arenas := map[ir.NodeID][]byte{}
	for n := range m.g.Nodes() {
		b, ok := n.Body.(*schedule.Buffer)
		if !ok {
			continue
		}
		data := make([]byte, b.Bytes)
		switch b.Space {
		case schedule.Arena:
			if arenas[b.Device] == nil {
				arenas[b.Device] = m.rubbish(make([]byte, 2*maxVolume))
			}
			data = arenas[b.Device][b.Offset : b.Offset+b.Bytes]
		case schedule.Output:
			m.rubbish(data)
		default: // the same in every run
			for i := range data {
				data[i] = byte(i*7) + byte(n.ID)
			}
		}
		m.memory[n.ID] = data
	}
	for _, id := range m.order() {
		switch b := m.g.Node(id).Body.(type) {
		case *schedule.Kernel:
			m.kernel(b)
		case *schedule.Transfer:
			m.transfer(b)
		}
	}
	return m.outputs()
}

func (m *machine) rubbish(data []byte) []byte {
	for i := range data {
		data[i] = byte(m.rng.Uint32())
	}
	return data
}

// order is a random order that After allows: of steps that need not wait any more, or of devices that carry their steps out in the order of the schedule.
func (m *machine) order() []ir.NodeID {
	steps, err := schedule.Order(m.g)
	if err != nil {
		m.t.Fatal(err)
	}
	var out []ir.NodeID
	inOrder := m.rng.IntN(2) == 0
	for len(steps) > 0 {
		var ready []int
		for i, id := range steps {
			after, _ := schedule.After(m.g.Node(id))
			if inOrder && slices.ContainsFunc(steps[:i], func(s ir.NodeID) bool { return m.carrier(s) == m.carrier(id) }) {
				continue
			}
			if !slices.ContainsFunc(after, func(a ir.NodeID) bool { return slices.Contains(steps, a) }) {
				ready = append(ready, i)
			}
		}
		if len(ready) == 0 {
			m.t.Fatalf("deadlock before %v", steps)
		}
		i := ready[m.rng.IntN(len(ready))]
		out = append(out, steps[i])
		steps = slices.Delete(steps, i, i+1)
	}
	return out
}

// carrier is the device that carries a step out: of a transfer, the one that it brings something to.
func (m *machine) carrier(step ir.NodeID) ir.NodeID {
	switch b := m.g.Node(step).Body.(type) {
	case *schedule.Kernel:
		return b.Device
	case *schedule.Transfer:
		return m.g.Node(b.To).Body.(*schedule.Buffer).Device
	}
	return ir.NoNode
}

// outputs gives the cells of all output buffers, in order.
func (m *machine) outputs() []byte {
	var out []byte
	for n := range m.g.Nodes() {
		if b, ok := n.Body.(*schedule.Buffer); ok && b.Space == schedule.Output {
			for p := range b.Range.Points() {
				out = append(out, m.element(n.ID, p)...)
			}
		}
	}
	return out
}

// element gives the bytes of a cell of a buffer.
func (m *machine) element(id ir.NodeID, cell zspace.Point) []byte {
	b := m.g.Node(id).Body.(*schedule.Buffer)
	at, size := int64(0), int64(b.Type().Size())
	if !b.Range.ContainsPoint(cell) {
		m.t.Fatalf("cell %v of %s, which has %v", cell, m.g.Name(id), b.Range)
	}
	for d, c := range cell {
		at += (c - b.Range.Start[d]) * b.Strides[d]
	}
	if at *= size; at < 0 || at+size > b.Bytes {
		m.t.Fatalf("cell %v of %s is at byte %d of %d", cell, m.g.Name(id), at, b.Bytes)
	}
	return m.memory[id][at : at+size]
}

func (m *machine) transfer(t *schedule.Transfer) {
	for p := range t.Box(m.g.Node(t.From).Body.(*schedule.Buffer)).Points() {
		copy(m.element(t.To, p), m.element(t.From, p))
	}
}

func (m *machine) kernel(k *schedule.Kernel) {
	m.k, m.point = k, k.Space().Start
	m.locals = make([]map[string]scalar.Value, len(k.Statements))
	for i, s := range k.Statements {
		m.locals[i] = map[string]scalar.Value{}
		var points []zspace.Point
		over := make([]int, len(s.Over))
		for j, l := range s.Over {
			over[j] = int(l)
		}
		m.Over(over, func() { points = append(points, m.point.Clone()) })
		m.rng.Shuffle(len(points), func(a, b int) { points[a], points[b] = points[b], points[a] })
		for _, p := range points {
			m.point = p
			v := s.Value.Eval(m)
			if s.Store < 0 {
				m.locals[i][m.at(s.Over)] = v
			} else {
				v.Encode(m.operand(int(s.Store)))
			}
		}
		m.point = k.Space().Start
	}
}

// at names the present point of some loops.
func (m *machine) at(over []int64) string {
	p := make(zspace.Point, len(over))
	for i, l := range over {
		p[i] = m.point[l]
	}
	return p.String()
}

func (m *machine) operand(ref int) []byte {
	cell, err := m.k.Operands[ref].Access.Apply(m.point)
	if err != nil {
		m.t.Fatal(err)
	}
	return m.element(m.k.Operands[ref].Buffer, cell)
}

func (m *machine) Load(ref int) scalar.Value {
	return scalar.Decode(m.k.Operands[ref].Type(), m.operand(ref))
}

func (m *machine) Local(ref int) scalar.Value {
	v, ok := m.locals[ref][m.at(m.k.Statements[ref].Over)]
	if !ok {
		m.t.Fatalf("statement %d has no value at %v", ref, m.point)
	}
	return v
}

func (m *machine) Loop(ref int) int64 { return m.point[ref] }

func (m *machine) Over(loops []int, f func()) {
	if len(loops) == 0 {
		f()
		return
	}
	before := m.point[loops[0]]
	for x := m.k.Loops[loops[0]].Start; x < m.k.Loops[loops[0]].End; x++ {
		m.point[loops[0]] = x
		m.Over(loops[1:], f)
	}
	m.point[loops[0]] = before
}

// sample is one of several schedules, slightly damaged.
func sample(seed, n uint64) *ir.Graph {
	rng := rand.New(rand.NewPCG(seed, n))
	var p *program
	switch rng.IntN(5) {
	case 0:
		p = newProgram()
	case 1:
		p = chain(2+rng.IntN(4), 2)
	case 2:
		p = &program{Graph: onGPU(func(*program, *schedule.Transfer, *schedule.Transfer) {})}
	case 3:
		p = &program{Graph: onPair(func(*halved) {})}
	default:
		p = layers(4, 1+rng.Int64N(3), 1+rng.Int64N(3))
	}
	d := &damage{rng: rng, bound: p.Bound(), odds: p.Bound() * 8}
	for n := range p.Nodes() {
		if n.Body.Kind() == schedule.KernelKind || n.Body.Kind() == schedule.BufferKind || n.Body.Kind() == schedule.TransferKind {
			n.Body.Fields(d)
		}
	}
	return p.Graph
}

func TestAcceptedSchedulesAreDeterminate(t *testing.T) {
	accepted := 0
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Uint64().Draw(t, "seed")
		for n := range uint64(8) {
			g := sample(seed, n)
			if !Environment().Verify(t.Context(), g).HasErrors() && small(g) {
				accepted++
				determinate(t, g)
			}
		}
	})
	if accepted == 0 {
		t.Error("no schedule was accepted")
	}
	t.Logf("%d schedules accepted and carried out", accepted)
}

// determinate carries out a schedule several times and compares the outputs.
func determinate(t *rapid.T, g *ir.Graph) {
	first := (&machine{t: t, g: g, rng: rand.New(rand.NewPCG(1, 1))}).run()
	for seed := range uint64(4) {
		again := (&machine{t: t, g: g, rng: rand.New(rand.NewPCG(2, seed))}).run()
		if !bytes.Equal(first, again) {
			t.Fatalf("outputs differ between runs:\n%v\n%v", first, again)
		}
	}
}
