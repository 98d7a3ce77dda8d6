// Package unit is what kernels are written into: a version of a program for one target, with its printers, the table of addresses that kernels read,
// and the memory that they need. It knows no form of kernels; it must not import backends/cpu. Read next: unit.go, cost.go.
package unit

import (
	"cmp"
	"fmt"
	"slices"

	"tensortapestry.org/tapc/backends/cexpr"
	"tensortapestry.org/tapc/backends/cnest"
	"tensortapestry.org/tapc/backends/cpu/cabi"
	"tensortapestry.org/tapc/backends/cpu/isa"
	"tensortapestry.org/tapc/backends/cpu/panels"
	"tensortapestry.org/tapc/backends/cpu/vector"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/copies"
	"tensortapestry.org/tapc/dialects/schedule/whole"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/zspace"
)

// Memory is what versions of a program have together in memory: buffers, the block of constants, and what kernels need, in bytes.
type Memory struct {
	Buffers map[ir.NodeID]*schedule.Buffer
	Slots   map[ir.NodeID]int // of buffers
	Order   []ir.NodeID       // buffers, by slot
	Block   *panels.Block
	wholes  map[ir.NodeID]zspace.Range // of constants
	arena   arenas
	scratch int64 // behind the arena, while a kernel runs: the largest workspace of all threads
	Thread  int64 // behind that for each thread, while a kernel runs: the largest workspace of one
	Process Process
}

// Process is what kernels need of the process that carries them out: bytes of its stack for the largest array that one has there, bytes of their instructions, of the target that has most,
// whether they call functions of the C library, and what they have for each thread.
type Process struct {
	Stack, Code int64
	Library     bool
	Fused       bool // they call its products and additions in one, as their processors have none
	Workspaces  cabi.Workspaces
}

// Room makes sure of the workspaces of a kernel. Kernels have them one after the other.
func (m *Memory) Room(list []schedule.Workspace) {
	m.scratch = max(m.scratch, schedule.BytesOf(list, schedule.DeviceScope))
	m.Thread = max(m.Thread, schedule.BytesOf(list, schedule.PrivateScope))
}

// arenas are the memory that the schedule plans, of one device behind the other.
type arenas struct {
	bytes int64
	bases map[ir.NodeID]int64 // where each device has its own
}

// NewMemory finds the buffers of a graph.
func NewMemory(g *ir.Graph, constants []tensorops.Const) *Memory {
	m := &Memory{Buffers: whole.Buffers(g), Slots: map[ir.NodeID]int{}, Block: panels.NewBlock(constants), arena: arenas{bases: map[ir.NodeID]int64{}}}
	bytes, devices := map[ir.NodeID]int64{}, []ir.NodeID(nil)
	m.wholes = map[ir.NodeID]zspace.Range{}
	for _, c := range constants {
		m.wholes[c.Tensor] = tensorops.TensorOf(g, c.Tensor).Range
	}
	for n := range g.Nodes() {
		if b, ok := n.Body.(*schedule.Buffer); ok {
			m.Slots[n.ID] = len(m.Order)
			m.Order = append(m.Order, n.ID)
			if _, known := bytes[b.Device]; b.InArena() {
				if !known {
					devices = append(devices, b.Device)
				}
				bytes[b.Device] = max(bytes[b.Device], b.Offset+b.Bytes)
			}
		}
	}
	for i, d := range devices {
		if i > 0 { // none shares a page with another
			m.arena.bytes = isa.Align(m.arena.bytes, 4096)
		}
		m.arena.bases[d] = m.arena.bytes
		m.arena.bytes += bytes[d]
	}
	return m
}

// Base is where a device has its arena in that of the program.
func (m *Memory) Base(device ir.NodeID) int64 { return m.arena.bases[device] }

// part gives the box that a constant's buffer has of the constant, nil for all of it.
func (m *Memory) part(b *schedule.Buffer) *panels.Part {
	whole, ok := m.wholes[b.Tensor]
	if !ok || whole.Equal(b.Range) {
		return nil
	}
	return &panels.Part{DType: b.DType, Whole: whole, Box: b.Range}
}

// scratchAt is where kernels have their scratch memory in the arena.
func (m *Memory) scratchAt() int64 { return isa.Align(m.arena.bytes, 4096) }

// threadAt is where the threads have what they need for themselves, one behind the other.
func (m *Memory) threadAt() int64 { return m.scratchAt() + m.Group() }

// Group is what each group of threads has for the kernel that it carries out.
func (m *Memory) Group() int64 { return isa.Align(m.scratch, 4096) }

// ArenaBytes is what the arena takes with one thread.
func (m *Memory) ArenaBytes() int64 {
	switch {
	case m.Thread > 0:
		return m.threadAt() + m.Thread
	case m.scratch > 0:
		return m.scratchAt() + m.scratch
	}
	return m.arena.bytes
}

// Unit is what the kernels of a program's version for one target are written into, apart from their code: the table of addresses that they use, and the
// memory that they need.
type Unit struct {
	*Memory
	Target  isa.Target
	W       *cexpr.Writer
	V       *vector.Printer
	linkage string // of the functions that carry out kernels
	Prefix  string // of their names
	Table   table
}

// table is the table of addresses of a version.
type table struct {
	Places []string             // what it holds, by slot: of constants as they are, and behind the buffers' slots panels and scratch
	Used   []int                // slots that the kernel which is being written uses, in the order of its own table b
	Asked  []Ask                // what it asked for
	Own    map[ir.NodeID]int    // indices in the kernel's table of what each thread holds for itself
	First  int                  // of these
	stated []schedule.Workspace // of the kernel that is being written
	beyond error                // what a kernel uses that was not stated

	scratchSlot, ThreadSlot int // slots of memory behind the arena, 0 for none: for one kernel at a time, and for its threads
}

// Ask asks for an address, or for a constant's elements, as a kernel did, for another that has other buffers in the place of those of the first.
type Ask func(other func(buffer ir.NodeID) ir.NodeID)

// asks takes down what the kernel that is being written asks for.
func (u *Unit) asks(x Ask) { u.Table.Asked = append(u.Table.Asked, x) }

// New begins a version. Functions are static and called k and a number without a prefix.
func New(m *Memory, t isa.Target, prefix string) *Unit {
	u := &Unit{Memory: m, Target: t, linkage: "static ", Prefix: prefix, Table: table{Places: make([]string, len(m.Order))}, W: cexpr.NewWriter()}
	if prefix != "" {
		u.linkage = ""
	}
	u.W.Fuse = true
	u.V = vector.New(u.W)
	return u
}

// Raw says that a buffer is read as it is, which places constants in the program.
func (u *Unit) Raw(buffer ir.NodeID) {
	b := u.Buffers[buffer]
	if c, ok := u.Block.Of[b.Tensor]; ok && b.Space == schedule.Constant {
		u.asks(func(other func(ir.NodeID) ir.NodeID) { u.Raw(other(buffer)) })
		u.Table.Places[u.Slots[buffer]] = constantPlace(u.Block.Add(c, b.Bytes, panels.InOrder(b), u.part(b)))
	}
}

// Slot gives the place of a buffer's address in the table b of the kernel that is being written.
func (u *Unit) Slot(buffer ir.NodeID) int {
	if at, ok := u.Table.Own[buffer]; ok {
		return at
	}
	u.asks(func(other func(ir.NodeID) ir.NodeID) { u.Slot(other(buffer)) })
	return u.use(u.Slots[buffer])
}

// Hold gives buffers that each thread has for itself places in the kernel's table, which is complete: behind all others.
func (u *Unit) Hold(buffers ...ir.NodeID) {
	u.Table.Own, u.Table.First = map[ir.NodeID]int{}, len(u.Table.Used)
	for i, b := range buffers {
		u.Table.Own[b] = u.Table.First + i
	}
}

// Holds says whether the kernel that is being written has a buffer that each thread holds for itself.
func (u *Unit) Holds(buffer ir.NodeID) bool {
	_, ok := u.Table.Own[buffer]
	return ok
}

// use gives the place in the kernel's table of what has a slot in the program's.
func (u *Unit) use(slot int) int {
	if i := slices.Index(u.Table.Used, slot); i >= 0 {
		return i
	}
	u.Table.Used = append(u.Table.Used, slot)
	return len(u.Table.Used) - 1
}

// Panels places a constant in panels and gives the place of its address in b.
func (u *Unit) Panels(buffer ir.NodeID, layout panels.Layout) int {
	u.asks(func(other func(ir.NodeID) ir.NodeID) { u.Panels(other(buffer), layout) })
	place := constantPlace(u.Block.Add(u.Block.Of[u.Buffers[buffer].Tensor], layout.Bytes(), &layout, u.part(u.Buffers[buffer])))
	for i := len(u.Order); i < len(u.Table.Places); i++ {
		if u.Table.Places[i] == place {
			return u.use(i)
		}
	}
	u.Table.Places = append(u.Table.Places, place)
	return u.use(len(u.Table.Places) - 1)
}

func constantPlace(offset int64) string {
	return fmt.Sprintf("(void *)(tapc_constants + %d)", offset)
}

// Begin begins a kernel, for which there are workspaces.
func (u *Unit) Begin(list []schedule.Workspace) {
	u.Table.Used, u.Table.Asked, u.Table.stated = nil, nil, list
}

// Scratch gives the place in b of the address of the workspace of all threads, in which the kernel that is being written uses some bytes.
func (u *Unit) Scratch(bytes int64) int {
	u.asks(func(func(ir.NodeID) ir.NodeID) { u.Scratch(bytes) })
	u.within(schedule.DeviceScope, bytes)
	if u.Table.scratchSlot == 0 {
		u.Table.scratchSlot = len(u.Table.Places)
		u.Table.Places = append(u.Table.Places, fmt.Sprintf("(char *)arena + %d", u.scratchAt()))
	}
	return u.use(u.Table.scratchSlot)
}

// Private is Scratch for the workspace of each thread that has one of so many tasks, 0 if that is not known: the address is that of the first, and those of others follow it.
func (u *Unit) Private(bytes, tasks int64) int {
	u.asks(func(func(ir.NodeID) ir.NodeID) { u.Private(bytes, tasks) })
	u.within(schedule.PrivateScope, bytes)
	u.Process.Workspaces = u.Process.Workspaces.With(cabi.Workspace{Tasks: cmp.Or(tasks, cabi.AnyTasks), Bytes: schedule.BytesOf(u.Table.stated, schedule.PrivateScope)})
	if u.Table.ThreadSlot == 0 {
		u.Table.ThreadSlot = len(u.Table.Places)
		u.Table.Places = append(u.Table.Places, "")
	}
	return u.use(u.Table.ThreadSlot)
}

// within holds what is written to what was said before.
func (u *Unit) within(s schedule.Scope, bytes int64) {
	if stated := schedule.BytesOf(u.Table.stated, s); bytes > stated {
		u.Refuse(fmt.Errorf("it uses %d bytes of a %s workspace of %d", bytes, s, stated))
	}
}

// Refuse notes why what is written is not to be used, if that is an error.
func (u *Unit) Refuse(err error) { u.Table.beyond = cmp.Or(u.Table.beyond, err) }

// Err says why what was written is not to be used.
func (u *Unit) Err() error { return cmp.Or(u.W.Err(), u.Table.beyond) }

// Stack says that a kernel has an array of so many bytes on the stack of each thread.
func (u *Unit) Stack(bytes int64) { u.Process.Stack = max(u.Process.Stack, bytes) }

// Address gives what the table of addresses has in a slot that is none of a buffer. groups: several groups of threads carry out kernels at once, and
// each has memory of its own.
func (u *Unit) Address(slot int, groups bool) string {
	switch thread := u.Table.ThreadSlot > 0 && slot == u.Table.ThreadSlot; {
	case thread && groups:
		return fmt.Sprintf("(char *)arena + %d + tapc_all_groups(pool) * %d + tapc_first_thread(pool) * %d", u.scratchAt(), u.Group(), u.Thread)
	case thread:
		return fmt.Sprintf("(char *)arena + %d", u.threadAt())
	case groups && u.Table.scratchSlot > 0 && slot == u.Table.scratchSlot:
		return fmt.Sprintf("(char *)arena + %d + tapc_group(pool) * %d", u.scratchAt(), u.Group())
	}
	return u.Table.Places[slot]
}

// Transfer gives the statements that copy what a transfer copies, run by run.
func (u *Unit) Transfer(t *schedule.Transfer) string {
	c := copies.Of(t, u.Buffers[t.From], u.Buffers[t.To])
	if c.Bytes == 0 {
		return ""
	}
	address := func(slot int, bytes int64) string {
		if bytes == 0 && len(c.Steps) == 0 {
			return fmt.Sprintf("b[%d]", slot)
		}
		return fmt.Sprintf("(char *)b[%d] + %d", slot, bytes)
	}
	to, from, loops := address(u.Slots[t.To], c.To), address(u.Slots[t.From], c.From), ""
	for i, s := range c.Steps {
		loops += fmt.Sprintf("for (int64_t i%d = 0; i%d < %d; i%d++) ", i, i, s.Count, i)
		to += fmt.Sprintf(" + i%d * %d", i, s.To)
		from += fmt.Sprintf(" + i%d * %d", i, s.From)
	}
	text := fmt.Sprintf("__builtin_memcpy(%s, %s, %d);", to, from, c.Bytes)
	if loops != "" {
		text = loops + "{\n    " + text + "\n  }\n "
	}
	return "  " + text
}

// Task opens the function with which a thread computes some indices of a region: its context is the table b of the kernel's addresses, or a part, of a type,
// that has it.
func Task(t *cnest.Text, name, part string) {
	t.Line("")
	t.Open("static void %s(void *ctx, int64_t begin, int64_t end, int worker) {", name)
	if part == "" {
		t.Line("void *const *b = ctx;")
	} else {
		t.Line("const %s *part = ctx;", part)
		t.Line("void *const *b = part->b;")
	}
	t.Line("(void)worker;")
}

// Region writes the computing of n indices by a task, shared between threads or not: each takes so many picoseconds.
func Region(t *cnest.Text, threads bool, n, each, task, ctx string) {
	if threads {
		t.Line("tapc_parallel(pool, %s, %s, %s, %s);", n, each, task, ctx)
	} else {
		t.Line("%s(%s, 0, %s, 0);", task, ctx, n)
	}
}

// Open writes the first line of the function that carries out a kernel.
func (u *Unit) Open(t *cnest.Text, name string) {
	t.Open("%svoid %s%s(void *const *b, tapc_pool *pool) {", u.linkage, u.Prefix, name)
	t.Line("(void)b, (void)pool;")
}
