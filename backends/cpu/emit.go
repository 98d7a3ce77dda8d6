package cpu

import (
	"fmt"
	"slices"
	"strings"

	"tensortapestry.org/tapc/backends"
	"tensortapestry.org/tapc/backends/cexpr"
	"tensortapestry.org/tapc/backends/cnest"
	"tensortapestry.org/tapc/backends/cpu/isa"
	"tensortapestry.org/tapc/backends/cpu/vector"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/dialects/schedule/nest/scan"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/passes/tile"
)

// Source is an emitted program.
type Source struct {
	C         string            // the program in one file, for one target, complete but for tapc_rt.h
	Constants []tensorops.Const // whose values Build asks for
	Pieces    []Piece           // what the block of constants is made of
	Bytes     int64             // size of the block of constants, which the program knows as tapc_constants
	Arena     int64             // bytes of scratch memory
	program   *program
}

const header = `// %s
// Written by tapc %s. It needs tapc_rt.h and the run-time library, and nothing else.%s
#include <math.h>
#include <stdint.h>

#include "tapc_rt.h"

#define TAPC_FN static inline __attribute__((always_inline, unused))
// Asks for the memory that is some elements from a pointer, within what it points into or not.
#define TAPC_FETCH(p, n, write, near) __builtin_prefetch((const void *)((uintptr_t)(p) + (uintptr_t)(n) * sizeof *(p)), write, near)
#define TAPC_INF __builtin_inf()
#define TAPC_INFF __builtin_inff()
#define TAPC_NAN __builtin_nan("")
#define TAPC_NANF __builtin_nanf("")

`

// Emit writes the program of a scheduled graph as C11, for the processors that passes/tile cuts loops for if it is told nothing
// else. It is a pure function of the graph, the name and the version.
func Emit(g *ir.Graph, name, version string) (*Source, error) {
	return EmitFor(g, name, version, isa.Scheduled)
}

// EmitFor is Emit for a target. Kernels that are cut as passes/tile cuts them by default are cut for the target; others stay
// as they are.
func EmitFor(g *ir.Graph, name, version string, t isa.Target) (*Source, error) {
	p, err := newProgram(g, name, version)
	if err != nil {
		return nil, err
	}
	c, err := p.single(t)
	if err != nil {
		return nil, err
	}
	return &Source{C: c, Constants: p.Constants, Pieces: p.block.pieces, Bytes: p.block.bytes, Arena: p.arenaBytes(), program: p}, nil
}

// program is what all versions of a program share.
type program struct {
	*tensorops.Program
	g       *ir.Graph
	name    string
	version string
	steps   []ir.NodeID
	order   []ir.NodeID // buffers, by slot
	buffers map[ir.NodeID]*schedule.Buffer
	slots   map[ir.NodeID]int
	forms   map[ir.NodeID]nest.Forms // what kernels are
	block   *block
	needs
}

// needs is the memory that a program's kernels need, in bytes.
type needs struct {
	arena   int64 // that the plan places
	scratch int64 // behind the arena, while a kernel runs
	thread  int64 // behind that for each thread, while a kernel runs
	onStack int64 // of the largest array that a kernel has on its stack
}

func newProgram(g *ir.Graph, name, version string) (*program, error) {
	if err := backends.Scheduled(g, device.String(), device); err != nil {
		return nil, err
	}
	p := &program{g: g, name: name, version: version, buffers: nest.Buffers(g), slots: map[ir.NodeID]int{}, forms: map[ir.NodeID]nest.Forms{}}
	var err error
	if p.Program, err = tensorops.ProgramOf(g); err != nil {
		return nil, err
	}
	if p.steps, err = schedule.Order(g); err != nil {
		return nil, err
	}
	p.block = newBlock(p.Constants)
	for n := range g.Nodes() {
		switch b := n.Body.(type) {
		case *schedule.Buffer:
			p.slots[n.ID] = len(p.order)
			p.order = append(p.order, n.ID)
			if b.Space == schedule.Arena {
				p.arena = max(p.arena, b.Offset+b.Bytes)
			}
		case *schedule.Kernel:
			p.forms[n.ID] = nest.Classify(b, p.buffers)
			if err := backends.Ordered(g, "cpu", n, &nest.Analysis{Kernel: b, Buffers: p.buffers, Forms: p.forms[n.ID]}); err != nil {
				return nil, err
			}
		}
	}
	return p, nil
}

// scratchAt is where kernels have their scratch memory in the arena.
func (p *program) scratchAt() int64 { return roundUp(p.arena, 4096) }

// threadAt is where the threads have what they need for themselves, one behind the other.
func (p *program) threadAt() int64 { return roundUp(p.scratchAt()+p.scratch, 4096) }

// arenaBytes is what the arena takes with one thread.
func (p *program) arenaBytes() int64 {
	switch {
	case p.thread > 0:
		return p.threadAt() + p.thread
	case p.scratch > 0:
		return p.scratchAt() + p.scratch
	}
	return p.arena
}

// emitter writes the kernels for one target.
type emitter struct {
	*program
	target  isa.Target
	linkage string   // of the functions that carry out kernels
	prefix  string   // of their names
	places  []string // what the table of addresses holds, by slot: of constants as they are, and behind the buffers' slots panels and scratch
	scratchSlots
	w     *cexpr.Writer
	v     *vector.Printer
	used  []int          // slots that the kernel which is being written uses, in the order of its own table b
	codes []*code        // of the kernels
	known map[string]int // codes by their text
	calls map[int]call   // by step
}

// scratchSlots are the slots of memory behind the arena, 0 for none: for one kernel at a time, and for its threads. What a kernel
// holds there for itself has a place in the kernel's own table.
type scratchSlots struct {
	scratchSlot, threadSlot int
	held                    map[ir.NodeID]int
}

// code is a function that carries out kernels which differ only in their buffers.
type code struct {
	about   []string // what the kernels are, and where they stand in the user's file
	text    string
	written bool // out for vectors and registers, so that compilers need not do more than translate it
}

// call is how a step calls a code: with a table of addresses from these slots.
type call struct {
	code  int
	slots []int
}

// emit writes all kernels for a target. Functions are static and called k and a number without a prefix.
func (p *program) emit(t isa.Target, prefix string) (*emitter, error) {
	e := &emitter{program: p, target: t, linkage: "static ", prefix: prefix, places: make([]string, len(p.order)), w: cexpr.NewWriter(),
		known: map[string]int{}, calls: map[int]call{}}
	if prefix != "" {
		e.linkage = ""
	}
	e.v = vector.New(e.w)
	for i, id := range p.steps {
		switch b := p.g.Node(id).Body.(type) {
		case *schedule.Kernel:
			if err := e.kernel(i, p.g.Node(id), e.cut(b, p.forms[id]), p.forms[id]); err != nil {
				return nil, err
			}
		case *schedule.Transfer:
			e.raw(b.From)
		}
	}
	return e, nil
}

// cut gives a kernel with its loops cut for the target, if they are cut as they are by default.
func (e *emitter) cut(k *schedule.Kernel, forms nest.Forms) *schedule.Kernel {
	if e.target.Target == tile.Default {
		return k
	}
	other := *k
	other.Loops = slices.Clone(k.Loops)
	tile.Default.Bind(&other, forms)
	for i := range k.Loops {
		if !slices.Equal(k.Loops[i].Levels, other.Loops[i].Levels) {
			return k
		}
	}
	e.target.Bind(&other, forms)
	return &other
}

// raw says that a buffer is read as it is, which places constants in the program.
func (e *emitter) raw(buffer ir.NodeID) {
	b := e.buffers[buffer]
	if c, ok := e.block.of[b.Tensor]; ok && b.Space == schedule.Constant {
		e.places[e.slots[buffer]] = constantPlace(e.block.place(c, b.Bytes, inOrder(b)))
	}
}

// slot gives the place of a buffer's address in the table b of the kernel that is being written.
func (e *emitter) slot(buffer ir.NodeID) int {
	if at, ok := e.held[buffer]; ok {
		return at
	}
	return e.use(e.slots[buffer])
}

// use gives the place in the kernel's table of what has a slot in the program's.
func (e *emitter) use(slot int) int {
	if i := slices.Index(e.used, slot); i >= 0 {
		return i
	}
	e.used = append(e.used, slot)
	return len(e.used) - 1
}

// panels places a constant in panels and gives the place of its address in b.
func (e *emitter) panels(buffer ir.NodeID, layout panelLayout) int {
	place := constantPlace(e.block.place(e.block.of[e.buffers[buffer].Tensor], layout.bytes(), &layout))
	for i := len(e.order); i < len(e.places); i++ {
		if e.places[i] == place {
			return e.use(i)
		}
	}
	e.places = append(e.places, place)
	return e.use(len(e.places) - 1)
}

func constantPlace(offset int64) string {
	return fmt.Sprintf("(void *)(tapc_constants + %d)", offset)
}

// needScratch makes sure of some bytes that one kernel at a time can use, and gives the place of their address in b.
func (e *emitter) needScratch(bytes int64) int {
	if e.scratchSlot == 0 {
		e.scratchSlot = len(e.places)
		e.places = append(e.places, fmt.Sprintf("(char *)arena + %d", e.scratchAt()))
	}
	e.scratch = max(e.scratch, bytes)
	return e.use(e.scratchSlot)
}

// needThread makes sure of some bytes that each thread can use while a kernel runs, and gives the place in b of the address of the
// first thread's; those of others follow it.
func (e *emitter) needThread(bytes int64) int {
	if e.threadSlot == 0 {
		e.threadSlot = len(e.places)
		e.places = append(e.places, "")
	}
	e.thread = max(e.thread, bytes)
	return e.use(e.threadSlot)
}

// kernel writes what one step carries out. Its code is one that is there already if only the buffers are others.
func (e *emitter) kernel(step int, node *ir.Node, k *schedule.Kernel, forms nest.Forms) error {
	number := len(e.codes)
	e.used = nil
	e.v.Allow = k.Allow
	text, written := "", true
	if c := k.For(ConfigTarget); c != nil {
		f, err := treeOf(e.g, node.ID, fmt.Sprintf("k%d", number), &nest.Analysis{Kernel: k, Buffers: e.buffers, Forms: forms}, c)
		if err != nil {
			return err
		}
		if text, err = e.tree(number, f, k); err != nil {
			return diag.Errorf("TAP0903", "cpu", e.g.At(node, "/body/configs"), "%s: %v", e.g.Name(node.ID), err)
		}
	} else {
		text, written = e.form(number, k, forms)
	}
	if err := e.w.Err(); err != nil {
		return diag.Errorf("TAP0901", "cpu", e.g.At(node, ""), "%s: %v", e.g.Name(node.ID), err)
	}
	key := nameless(text, e.prefix, number)
	at, ok := e.known[key]
	if !ok {
		at = number
		e.known[key] = at
		e.codes = append(e.codes, &code{cnest.About(e.g, k), text, written})
	} else {
		e.codes[at].about = append(e.codes[at].about, cnest.Origin(e.g, k)...)
	}
	e.calls[step] = call{at, e.used}
	return nil
}

// form writes a kernel as the first of its forms that it is scheduled as, else as loops over its statements. What is written out for
// vectors and registers is written.
func (e *emitter) form(number int, k *schedule.Kernel, forms nest.Forms) (text string, written bool) {
	for _, form := range forms.Allowed(k.Allow) {
		switch f := form.(type) {
		case *nest.LowPrecision:
			if n := newNarrow(e, number, k, f); n != nil {
				return n.write(), true
			}
		case *nest.Winograd:
			if w := newWinograd(e, number, k, f); w != nil {
				return w.write(), true
			}
		case *nest.Contraction:
			if p := newProduct(e, number, k, f); p != nil {
				return p.write(), true
			}
		case *nest.BackToBack:
			if c := newChain(e, number, k, f); c != nil {
				return c.write(), true
			}
		case *scan.Scans:
			if s := newStaged(k, number, e, f); s != nil {
				return s.write(), false
			}
		case *nest.Rows:
			if r := newRows(e, number, k, f); r != nil {
				return r.write(), false
			}
		}
	}
	return newKernel(k, number, e).write(), false
}

// nameless gives a kernel's text without comments, and without the number that its functions' names have.
func nameless(text, prefix string, number int) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "//")
		out.WriteString(strings.TrimSpace(line) + "\n")
	}
	return strings.NewReplacer(fmt.Sprintf(" %sk%d(", prefix, number), " k(", fmt.Sprintf("k%d_", number), "k_").Replace(out.String())
}

// String gives the text with the comment before it.
func (c *code) String() string {
	var out strings.Builder
	for _, line := range c.about {
		out.WriteString("// " + line + "\n")
	}
	return out.String() + c.text + "\n"
}

// prelude gives the definitions that kernels use.
func (e *emitter) prelude() string {
	var out strings.Builder
	out.WriteString(partType)
	for _, text := range []string{e.w.Prelude(), e.v.Prelude()} {
		if text != "" {
			out.WriteString(text + "\n")
		}
	}
	return out.String()
}

const partType = `// A part of a contraction: its right operand from a group of panels and a column on.
typedef struct tapc_part {
  void *const *b;
  int64_t group, column, columns;
} tapc_part;

`

// open writes the first line of the function that carries out a kernel.
func (e *emitter) open(t *cnest.Text, number int) {
	t.Open("%svoid %sk%d(void *const *b, tapc_pool *pool) {", e.linkage, e.prefix, number)
	t.Line("(void)b, (void)pool;")
}

// run writes the function that runs the steps in order.
func (e *emitter) run(out *strings.Builder, linkage, name string) error {
	if e.block.bytes > 0 {
		out.WriteString("extern const unsigned char tapc_constants[];\n\n")
	}
	fmt.Fprintf(out, "%sint %s(const tapc_program *program, const void *const *in, void *const *out, void *arena, tapc_pool *pool) {\n"+
		"  (void)program, (void)in, (void)out, (void)arena, (void)pool;\n", linkage, name)
	if len(e.places) > 0 {
		fmt.Fprintf(out, "  void *b[%d];\n", len(e.places))
	}
	var inputs []ir.NodeID
	for _, x := range e.Inputs {
		inputs = append(inputs, x.Tensor)
	}
	given, taken := entriesOf(inputs), entriesOf(e.Held())
	if len(e.Checks) > 0 {
		fmt.Fprintf(out, "  int64_t checked[%d] = {0};\n", 2*len(e.Checks))
	}
	for slot, place := range e.places {
		what := "panels, or scratch memory"
		if e.threadSlot > 0 && slot == e.threadSlot {
			place = fmt.Sprintf("(char *)arena + %d", e.threadAt())
		}
		if slot < len(e.order) {
			id := e.order[slot]
			what = cnest.Clip(e.g.Name(id))
			var err error
			if place, err = e.place(slot, e.buffers[id], given, taken); err != nil {
				return err
			}
		}
		fmt.Fprintf(out, "  b[%d] = %s; // %s\n", slot, place, what)
	}
	for i, id := range e.steps {
		switch b := e.g.Node(id).Body.(type) {
		case *schedule.Kernel:
			fmt.Fprintf(out, "  %s", e.call(i))
		case *schedule.Transfer:
			fmt.Fprintf(out, "  __builtin_memcpy(b[%d], b[%d], %d);", e.slots[b.To], e.slots[b.From], e.buffers[b.To].Bytes)
		}
		fmt.Fprintf(out, " tapc_done(%d);\n", i)
	}
	for i, c := range e.Checks {
		shape := "0"
		if len(c.Shape) > 0 {
			shape = fmt.Sprintf("(const int64_t[]){%s}", numbers(c.Shape))
		}
		fmt.Fprintf(out, "  if (checked[%d] < %d)\n    return tapc_reject_index(%s, checked[%d], checked[%d] * %d + %d, %d, %s, %d, %d);\n", 2*i, c.Count(), cString(c.Name), 2*i+1,
			2*i, c.Stride, c.Offset, len(c.Shape), shape, c.Low, c.High)
	}
	out.WriteString("  return 0;\n}\n\n")
	return nil
}

// call gives the statement that carries out a step.
func (e *emitter) call(step int) string {
	c := e.calls[step]
	if len(c.slots) == 0 {
		return fmt.Sprintf("%sk%d(0, pool);", e.prefix, c.code)
	}
	var table []string
	for _, slot := range c.slots {
		table = append(table, fmt.Sprintf("b[%d]", slot))
	}
	return fmt.Sprintf("%sk%d((void *const[]){%s}, pool);", e.prefix, c.code, strings.Join(table, ", "))
}

// entries gives, for each tensor, which of the inputs or of the outputs it is.
type entries map[ir.NodeID][]int

func entriesOf(tensors []ir.NodeID) entries {
	of := entries{}
	for i, t := range tensors {
		of[t] = append(of[t], i)
	}
	return of
}

// take gives the next entry of a tensor: one that is given twice has two buffers.
func (e entries) take(tensor ir.NodeID) (int, bool) {
	list := e[tensor]
	if len(list) == 0 {
		return 0, false
	}
	e[tensor] = list[1:]
	return list[0], true
}

// place gives the C expression of the address of a buffer, which comes once.
func (e *emitter) place(slot int, b *schedule.Buffer, in, out entries) (string, error) {
	i, found := 0, true
	switch b.Space {
	case schedule.Input:
		i, found = in.take(b.Tensor)
	case schedule.Output:
		i, found = out.take(b.Tensor)
	case schedule.Constant:
		_, found = e.block.of[b.Tensor]
	}
	switch {
	case !found:
		return "", fmt.Errorf("cpu: %s is in the %s space and not among the program's", e.g.Name(b.Tensor), b.Space)
	case b.Space == schedule.Input:
		return fmt.Sprintf("(void *)in[%d]", i), nil
	case b.Space == schedule.Output && i >= len(e.Outputs):
		return fmt.Sprintf("checked + %d", i-len(e.Outputs)), nil
	case b.Space == schedule.Output:
		return fmt.Sprintf("out[%d]", i), nil
	case b.Space == schedule.Arena:
		return fmt.Sprintf("(char *)arena + %d", b.Offset), nil
	case e.places[slot] == "":
		return "0", nil // a constant that nothing reads as it is
	}
	return e.places[slot], nil
}
