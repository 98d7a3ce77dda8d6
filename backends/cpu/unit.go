package cpu

import (
	"fmt"
	"slices"

	"tensortapestry.org/tapc/backends/cexpr"
	"tensortapestry.org/tapc/backends/cnest"
	"tensortapestry.org/tapc/backends/cpu/isa"
	"tensortapestry.org/tapc/backends/cpu/panels"
	"tensortapestry.org/tapc/backends/cpu/vector"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir"
)

// memory is what versions of a program have together in memory: buffers, the block of constants, and what kernels need, in bytes.
type memory struct {
	buffers map[ir.NodeID]*schedule.Buffer
	slots   map[ir.NodeID]int // of buffers
	order   []ir.NodeID       // buffers, by slot
	block   *panels.Block
	arena   int64 // that the plan places
	scratch int64 // behind the arena, while a kernel runs
	thread  int64 // behind that for each thread, while a kernel runs
	onStack int64 // of the largest array that a kernel has on its stack
}

// newMemory finds the buffers of a graph.
func newMemory(g *ir.Graph, constants []tensorops.Const) *memory {
	m := &memory{buffers: nest.Buffers(g), slots: map[ir.NodeID]int{}, block: panels.NewBlock(constants)}
	for n := range g.Nodes() {
		if b, ok := n.Body.(*schedule.Buffer); ok {
			m.slots[n.ID] = len(m.order)
			m.order = append(m.order, n.ID)
			if b.Space == schedule.Arena {
				m.arena = max(m.arena, b.Offset+b.Bytes)
			}
		}
	}
	return m
}

// scratchAt is where kernels have their scratch memory in the arena.
func (m *memory) scratchAt() int64 { return isa.Align(m.arena, 4096) }

// threadAt is where the threads have what they need for themselves, one behind the other.
func (m *memory) threadAt() int64 { return isa.Align(m.scratchAt()+m.scratch, 4096) }

// arenaBytes is what the arena takes with one thread.
func (m *memory) arenaBytes() int64 {
	switch {
	case m.thread > 0:
		return m.threadAt() + m.thread
	case m.scratch > 0:
		return m.scratchAt() + m.scratch
	}
	return m.arena
}

// unit is what the kernels of a program's version for one target are written into, apart from their code: the table of addresses that they use, and the
// memory that they need.
type unit struct {
	*memory
	target  isa.Target
	w       *cexpr.Writer
	v       *vector.Printer
	linkage string // of the functions that carry out kernels
	prefix  string // of their names
	table   table
}

// table is the table of addresses of a version.
type table struct {
	places []string          // what it holds, by slot: of constants as they are, and behind the buffers' slots panels and scratch
	used   []int             // slots that the kernel which is being written uses, in the order of its own table b
	held   map[ir.NodeID]int // indices in the kernel's table of what it holds in scratch memory for itself

	scratchSlot, threadSlot int // slots of memory behind the arena, 0 for none: for one kernel at a time, and for its threads
}

// newUnit begins a version. Functions are static and called k and a number without a prefix.
func newUnit(m *memory, t isa.Target, prefix string) *unit {
	u := &unit{memory: m, target: t, linkage: "static ", prefix: prefix, table: table{places: make([]string, len(m.order))}, w: cexpr.NewWriter()}
	if prefix != "" {
		u.linkage = ""
	}
	u.v = vector.New(u.w)
	return u
}

// raw says that a buffer is read as it is, which places constants in the program.
func (u *unit) raw(buffer ir.NodeID) {
	b := u.buffers[buffer]
	if c, ok := u.block.Of[b.Tensor]; ok && b.Space == schedule.Constant {
		u.table.places[u.slots[buffer]] = constantPlace(u.block.Add(c, b.Bytes, panels.InOrder(b)))
	}
}

// slot gives the place of a buffer's address in the table b of the kernel that is being written.
func (u *unit) slot(buffer ir.NodeID) int {
	if at, ok := u.table.held[buffer]; ok {
		return at
	}
	return u.use(u.slots[buffer])
}

// holds says whether the kernel that is being written has a buffer in scratch memory for itself.
func (u *unit) holds(buffer ir.NodeID) bool {
	_, ok := u.table.held[buffer]
	return ok
}

// use gives the place in the kernel's table of what has a slot in the program's.
func (u *unit) use(slot int) int {
	if i := slices.Index(u.table.used, slot); i >= 0 {
		return i
	}
	u.table.used = append(u.table.used, slot)
	return len(u.table.used) - 1
}

// panels places a constant in panels and gives the place of its address in b.
func (u *unit) panels(buffer ir.NodeID, layout panels.Layout) int {
	place := constantPlace(u.block.Add(u.block.Of[u.buffers[buffer].Tensor], layout.Bytes(), &layout))
	for i := len(u.order); i < len(u.table.places); i++ {
		if u.table.places[i] == place {
			return u.use(i)
		}
	}
	u.table.places = append(u.table.places, place)
	return u.use(len(u.table.places) - 1)
}

func constantPlace(offset int64) string {
	return fmt.Sprintf("(void *)(tapc_constants + %d)", offset)
}

// needScratch makes sure of some bytes that one kernel at a time can use, and gives the place of their address in b.
func (u *unit) needScratch(bytes int64) int {
	if u.table.scratchSlot == 0 {
		u.table.scratchSlot = len(u.table.places)
		u.table.places = append(u.table.places, fmt.Sprintf("(char *)arena + %d", u.scratchAt()))
	}
	u.scratch = max(u.scratch, bytes)
	return u.use(u.table.scratchSlot)
}

// needThread makes sure of some bytes that each thread can use while a kernel runs, and gives the place in b of the address of the
// first thread's; those of others follow it.
func (u *unit) needThread(bytes int64) int {
	if u.table.threadSlot == 0 {
		u.table.threadSlot = len(u.table.places)
		u.table.places = append(u.table.places, "")
	}
	u.thread = max(u.thread, bytes)
	return u.use(u.table.threadSlot)
}

// stack says that a kernel has an array of so many bytes on the stack of each thread.
func (u *unit) stack(bytes int64) { u.onStack = max(u.onStack, bytes) }

// open writes the first line of the function that carries out a kernel.
func (u *unit) open(t *cnest.Text, number int) {
	t.Open("%svoid %sk%d(void *const *b, tapc_pool *pool) {", u.linkage, u.prefix, number)
	t.Line("(void)b, (void)pool;")
}
