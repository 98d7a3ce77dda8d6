package cpu

import (
	"fmt"
	"slices"
	"strings"

	"tensortapestry.org/tapc/backends"
	"tensortapestry.org/tapc/backends/cexpr"
	"tensortapestry.org/tapc/backends/cnest"
	"tensortapestry.org/tapc/backends/cpu/cabi"
	"tensortapestry.org/tapc/backends/cpu/configs"
	"tensortapestry.org/tapc/backends/cpu/devices"
	"tensortapestry.org/tapc/backends/cpu/isa"
	"tensortapestry.org/tapc/backends/cpu/panels"
	"tensortapestry.org/tapc/backends/cpu/unit"
	"tensortapestry.org/tapc/backends/tree"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/alike"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/passes/tile"
)

// device is what graphs are scheduled for.
const device = schedule.CPU

// Choosers gives that of the processors that kernels are decided for if nothing else is told.
func Choosers() []tile.Chooser { return []tile.Chooser{configs.Chooser{For: isa.Scheduled}} }

// Source is a program to be built, for processors that are named then. Nothing of it is written yet.
type Source struct {
	Constants []tensorops.Const // whose values Build asks for
	program   *program
	form      form // the program or, of one for several sizes, all of them: then the program is the greatest
	loaded    bool // the constants were loaded
}

// Text is a program in one file, for one target.
type Text struct {
	C         string            // complete but for tapc_rt.h
	Constants []tensorops.Const // that the program reads
	Pieces    []panels.Piece    // what the block of constants is made of
	Bytes     int64             // size of the block of constants, which the program knows as tapc_constants
	Arena     int64             // bytes of scratch memory
}

// form is what a program is made of.
type form interface {
	// code writes the kernels for targets, whose names have numbers from the first on.
	code(first int, targets []isa.Target) (written, error)
	// main writes the tables and the program; separate: constants are in a file beside it.
	main(out *strings.Builder, separate bool) error
	description() *cabi.Description
	madeBy() *cabi.Made // to be completed
}

// written is the kernels of a program for some targets.
type written struct {
	parts []part
	calls string // C that chooses among the targets
	next  int    // the first number that no name has
}

// part is a file of C.
type part struct {
	name     string
	text     string
	flags    []string
	target   string     // what --cpu calls the processors that it is for
	programs []*program // whose kernels it has
}

const header = `// %s
// Written by tapc %s. It needs tapc_rt.h and the run-time library, and nothing else.%s
#if defined(__AVX512FP16__) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC target("no-avx512fp16") // with which GCC 12 leaves out that a float becomes a float16 and a float again, in vectors
#endif
#include <math.h>
#include <stdint.h>

#include "tapc_rt.h"

#define TAPC_FN static inline __attribute__((always_inline, unused))
// Before a loop whose steps are all written out, so that arrays that it goes through stay in registers. With checks for undefined behavior in each step Clang would take minutes.
#if !defined(__clang__)
#define TAPC_UNROLL _Pragma("GCC unroll 1024")
#elif __has_feature(undefined_behavior_sanitizer)
#define TAPC_UNROLL
#else
#define TAPC_UNROLL _Pragma("clang loop unroll(full)")
#endif
// Asks for the memory that is some elements from a pointer, within what it points into or not.
#define TAPC_FETCH(p, n, write, near) __builtin_prefetch((const void *)((uintptr_t)(p) + (uintptr_t)(n) * sizeof *(p)), write, near)
// Where compilers have to have written an array, and read anew what they read behind it.
#define TAPC_BARRIER(array) __asm__("" : "+m"(array))
#define TAPC_INF __builtin_inf()
#define TAPC_INFF __builtin_inff()
#define TAPC_NAN __builtin_nan("")
#define TAPC_NANF __builtin_nanf("")

`

// Emit writes the program of a scheduled graph as C11, for the processors that passes/tile cuts loops for if it is told nothing
// else. It is a pure function of the graph, the name and the version.
func Emit(g *ir.Graph, name, version string) (*Text, error) {
	return EmitFor(g, name, version, isa.Scheduled)
}

// EmitFor is Emit for a target. What passes/tile decided for other processors alone, it decides for the target; the rest is as the schedule says.
func EmitFor(g *ir.Graph, name, version string, t isa.Target) (*Text, error) {
	src, err := Prepare(g, name, version)
	if err != nil {
		return nil, err
	}
	return src.Text(t)
}

// Prepare reads the program of a scheduled graph, to be built or written.
func Prepare(g *ir.Graph, name, version string) (*Source, error) {
	return prepareMade(g, name, version, nil)
}

// prepareMade is Prepare for a program that says what made it.
func prepareMade(g *ir.Graph, name, version string, made *cabi.Made) (*Source, error) {
	p, err := newProgram(g, name, version)
	if err != nil {
		return nil, err
	}
	p.made = made
	return &Source{Constants: p.Constants, program: p, form: p}, nil
}

// Text writes the program in one file, for one target. What is built of the source does not depend on it.
func (s *Source) Text(t isa.Target) (*Text, error) {
	p := *s.program
	p.Memory, p.sizes = unit.NewMemory(p.g, p.Constants), nil
	c, err := p.single(t)
	if err == nil {
		err = p.checkConfigs([]isa.Target{t})
	}
	if err != nil {
		return nil, err
	}
	return &Text{C: c, Constants: p.Constants, Pieces: p.Block.Pieces, Bytes: p.Block.Bytes, Arena: p.ArenaBytes()}, nil
}

// program is what all versions of a program share.
type program struct {
	*tensorops.Program
	g       *ir.Graph
	name    string
	version string
	steps   []ir.NodeID
	forms   map[ir.NodeID]nest.Forms // what kernels are
	made    *cabi.Made               // nil if that is not said
	sizes   []cabi.Code              // what was compiled for each target; nil before
	devices *devices.Plan            // nil for one
	*unit.Memory
}

func newProgram(g *ir.Graph, name, version string) (*program, error) {
	if err := backends.ScheduledOnMany(g, device.String(), device); err != nil {
		return nil, err
	}
	p := &program{g: g, name: name, version: version, forms: map[ir.NodeID]nest.Forms{}}
	var err error
	if p.Program, err = tensorops.ProgramOf(g); err != nil {
		return nil, err
	}
	if p.steps, err = schedule.Order(g); err != nil {
		return nil, err
	}
	p.Memory, p.devices = unit.NewMemory(g, p.Constants), devices.Of(g, p.steps, p.Held()[len(p.Outputs):])
	for n := range g.Nodes() {
		if k, ok := n.Body.(*schedule.Kernel); ok {
			p.forms[n.ID] = nest.Classify(k, p.Buffers)
			if err := backends.Ordered(g, "cpu", n, &nest.Analysis{Kernel: k, Buffers: p.Buffers, Forms: p.forms[n.ID]}); err != nil {
				return nil, err
			}
		}
	}
	return p, nil
}

// checkConfigs refuses configs that would be ignored by a program for some targets.
func (p *program) checkConfigs(targets []isa.Target) error {
	for _, id := range p.steps {
		if k, ok := p.g.Node(id).Body.(*schedule.Kernel); ok {
			if err := configs.Lost(p.g, id, &nest.Analysis{Kernel: k, Buffers: p.Buffers, Forms: p.forms[id]}, targets); err != nil {
				return err
			}
		}
	}
	return nil
}

// emitter writes the kernels for one target.
type emitter struct {
	*program
	unit  *unit.Unit
	codes []*code        // of the kernels
	known map[string]int // codes by the keys of their kernels
	calls map[int]call   // by step
	// numbered: kernels are called by names that say their step, and find numbers first in their tables.
	numbered bool
}

const (
	numbersSlot    = -1       // of a kernel's numbers, in its table of addresses
	numberedKernel = "kernel" // what the names of every kernel's functions begin with
)

// stepOf gives the name that a numbered step calls its kernel by, rowOf that of its numbers.
func stepOf(step int) string { return fmt.Sprintf("tapc_step%d", step) }

func rowOf(step int) string { return fmt.Sprintf("tapc_row%d", step) }

// code is a function that carries out kernels which differ only in names and buffers.
type code struct {
	about      []string // what the kernels are, and where they stand in the user's file
	first      *schedule.Kernel
	text       string
	written    bool // out for vectors and registers, so that compilers need not do more than translate it
	workspaces []schedule.Workspace
	asked      []unit.Ask // by the first
}

// call is how a step calls a code: with a table of addresses from these slots.
type call struct {
	code  int
	slots []int
}

// emit writes all kernels for a target. Functions are static and called k and a number without a prefix.
func (p *program) emit(t isa.Target, prefix string) (*emitter, error) {
	e := &emitter{program: p, unit: unit.New(p.Memory, t, prefix), known: map[string]int{}, calls: map[int]call{}}
	return e, e.all()
}

// all writes the kernels.
func (e *emitter) all() error {
	p := e.program
	for i, id := range p.steps {
		switch b := p.g.Node(id).Body.(type) {
		case *schedule.Kernel:
			if p.idle(b) != "" {
				continue
			}
			if err := e.kernel(i, p.g.Node(id), &nest.Analysis{Kernel: b, Buffers: p.Buffers, Forms: p.forms[id]}); err != nil {
				return err
			}
		case *schedule.Transfer:
			e.unit.Raw(b.From)
		}
	}
	text := 0
	for _, c := range e.codes {
		text += len(c.text)
	}
	p.Process.Library, p.Process.Code = p.Process.Library || e.unit.W.Calls(), max(p.Process.Code, estimated(text, e.unit.Target))
	return nil
}

// estimated is how many bytes of instructions a compiler makes of some characters of kernels, before it does: medians of kernels of tools/bench/predict, of which a fourth has less than half or
// more than twice of it. Without products and additions in one there is a function in place of each. What a program has is read from its objects (weigh).
func estimated(characters int, t isa.Target) int64 {
	if t.Vector <= 16 {
		return int64(characters) * 13 / 10
	}
	return int64(characters) * 6 / 10
}

// idle says why a kernel has no code, "" if it has.
func (p *program) idle(k *schedule.Kernel) string {
	empty := func(l int64) bool { return k.Loops[l].Extent() == 0 }
	switch {
	case k.KeepsAll(p.Buffers):
		return "kept in place"
	case !slices.ContainsFunc(k.Statements, func(s schedule.Statement) bool { return s.Store >= 0 && !slices.ContainsFunc(s.Over, empty) }):
		return "nothing is stored"
	}
	return ""
}

// kernel writes what one step carries out. Its code is one that is there already if only names and buffers are others.
func (e *emitter) kernel(step int, node *ir.Node, a *nest.Analysis) error {
	stated, open := configs.Chooser{For: e.unit.Target}.Stated(a.Kernel)
	key := alike.Key(a.Kernel, stated, e.Buffers, e.constant) + fmt.Sprint(open)
	at, ok := e.known[key]
	if ok {
		e.again(e.codes[at], a.Kernel)
	} else {
		at = len(e.codes)
		c, err := e.write(node, a)
		if err != nil {
			return err
		}
		e.known[key], e.codes = at, append(e.codes, c)
	}
	e.calls[step] = call{at, e.unit.Table.Used}
	return nil
}

// constant gives the number of the constant that a tensor is, and others for tensors that are none.
func (e *emitter) constant(tensor ir.NodeID) int {
	if n, ok := e.Block.Of[tensor]; ok {
		return n
	}
	return len(e.Block.Constants) + int(tensor)
}

// write writes the code of a kernel that has none yet.
func (e *emitter) write(node *ir.Node, a *nest.Analysis) (*code, error) {
	e.unit.V.Allow = a.Kernel.Allow
	c, err := configs.Chooser{For: e.unit.Target}.Decided(a)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", e.g.Name(node.ID), err)
	}
	form, err := e.form(node, a, c)
	if err != nil {
		return nil, err
	}
	name := fmt.Sprintf("k%d", len(e.codes))
	if e.begin(form.Workspaces); e.numbered {
		name = numberedKernel
	}
	text, written := form.Write(e.unit, name)
	if err := e.unit.Err(); err != nil {
		return nil, diag.Errorf("TAP0901", "cpu", e.g.At(node, ""), "%s: %v", e.g.Name(node.ID), err)
	}
	about := append(cnest.About(e.g, a.Kernel), "  "+c.String())
	return &code{about: about, first: a.Kernel, text: text, written: written, workspaces: form.Workspaces, asked: e.unit.Table.Asked}, nil
}

// begin begins a kernel, for which there are workspaces.
func (e *emitter) begin(list []schedule.Workspace) {
	if e.unit.Begin(list); e.numbered {
		e.unit.Table.Used = []int{numbersSlot}
	}
}

// again carries another kernel out by a code: with the addresses that the first asked for.
func (e *emitter) again(c *code, k *schedule.Kernel) {
	c.about = append(c.about, cnest.Origin(e.g, k)...)
	e.begin(c.workspaces)
	for _, ask := range c.asked {
		ask(func(buffer ir.NodeID) ir.NodeID {
			return k.Operands[slices.IndexFunc(c.first.Operands, func(o schedule.Operand) bool { return o.Buffer == buffer })].Buffer
		})
	}
}

// form reads the config of a kernel, and makes sure of the workspaces that it states.
func (e *emitter) form(node *ir.Node, a *nest.Analysis, c *schedule.Config) (f configs.Form, err error) {
	if f, err = (configs.Chooser{For: e.unit.Target}).Read(a, c); err != nil {
		return f, unfit(e.g, node, err)
	}
	if c == nil {
		return f, nil
	}
	if !schedule.Holds(c.Workspaces, f.Workspaces) {
		return f, diag.Errorf("TAP0914", "cpu", e.g.At(node, "/body/configs"), "%s needs more memory for itself than its config for %s states", e.g.Name(node.ID), c.Target).
			Want(schedule.WorkspaceText(f.Workspaces), schedule.WorkspaceText(c.Workspaces)).WithHint("write what is expected into the config: it follows from the rest of that")
	}
	f.Workspaces = c.Workspaces
	e.Room(c.Workspaces)
	return f, nil
}

// unfit is why a kernel has a config that it cannot be carried out by.
func unfit(g *ir.Graph, node *ir.Node, err error) error {
	return diag.Errorf("TAP0903", "cpu", g.At(node, "/body/configs"), "%s has a config that it cannot be carried out by: %v", g.Name(node.ID), err)
}

// Trees writes the trees of the kernels that have one, as they are carried out on the processors that kernels are decided for, in order.
func Trees(g *ir.Graph) (string, error) {
	chooser := configs.Chooser{For: isa.Scheduled}
	_, target := chooser.Target()
	return cnest.Trees(g, target, func(g *ir.Graph, id ir.NodeID, name string, a *nest.Analysis) (*tree.Func, *schedule.Config, error) {
		if a.Kernel.KeepsAll(a.Buffers) {
			return nil, nil, nil
		}
		c, err := chooser.Decided(a)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", g.Name(id), err)
		}
		f, err := chooser.Read(a, c)
		if err != nil {
			return nil, nil, unfit(g, g.Node(id), err)
		}
		if f.Tree == nil {
			return nil, c, nil
		}
		made, err := f.Tree()
		if err != nil {
			return nil, nil, unfit(g, g.Node(id), err)
		}
		made.Name = name
		return made, c, nil
	})
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
	for _, text := range []string{e.unit.W.Prelude(), e.unit.V.Prelude()} {
		if text != "" {
			out.WriteString(text + "\n")
		}
	}
	return out.String()
}

// run writes the function that runs the steps in order.
func (e *emitter) run(out *strings.Builder, linkage, name string) error {
	if e.Block.Bytes > 0 {
		out.WriteString("extern const unsigned char tapc_constants[];\n\n")
	}
	fmt.Fprintf(out, "%sint %s(const tapc_program *program, const void *const *in, void *const *out, void *arena, tapc_pool *pool) {\n"+
		"  (void)program, (void)in, (void)out, (void)arena, (void)pool;\n", linkage, name)
	if len(e.unit.Table.Places) > 0 {
		fmt.Fprintf(out, "  void *b[%d];\n  (void)b; // kernels without code need no addresses\n", len(e.unit.Table.Places))
	}
	var inputs []ir.NodeID
	for _, x := range e.Inputs {
		inputs = append(inputs, x.Tensor)
	}
	given, taken := entriesOf(inputs), entriesOf(e.Held())
	if len(e.Checks) > 0 {
		fmt.Fprintf(out, "  int64_t checked[%d] = {0};\n", 2*len(e.Checks))
	}
	for slot := range e.unit.Table.Places {
		what := "panels, or scratch memory"
		place := e.unit.Address(slot, e.devices != nil)
		if slot < len(e.Order) {
			id := e.Order[slot]
			what = cnest.Clip(e.g.Name(id))
			var err error
			if place, err = e.place(slot, e.Buffers[id], given, taken); err != nil {
				return err
			}
		}
		fmt.Fprintf(out, "  b[%d] = %s; // %s\n", slot, place, what)
	}
	for _, id := range e.Order {
		if b := e.Buffers[id]; b.Aliases() {
			fmt.Fprintf(out, "  b[%d] = (char *)b[%d] + %d; // in place\n", e.Slots[id], e.Slots[b.Over], b.From(e.Buffers[b.Over]))
		}
	}
	for i, id := range e.steps {
		out.WriteString(e.devices.Open(i))
		switch b := e.g.Node(id).Body.(type) {
		case *schedule.Kernel:
			if why := e.idle(b); why != "" {
				out.WriteString("  /* " + why + " */")
				break
			}
			fmt.Fprintf(out, "  %s", e.call(i))
		case *schedule.Transfer:
			if !b.Aliased(e.g) {
				out.WriteString(e.unit.Transfer(b))
			}
		}
		out.WriteString(e.devices.Close(i))
	}
	out.WriteString(e.devices.End())
	for i, c := range e.Checks {
		shape := "0"
		if len(c.Shape) > 0 {
			shape = fmt.Sprintf("(const int64_t[]){%s}", cexpr.Numbers(c.Shape))
		}
		fmt.Fprintf(out, "  if (checked[%d] < %d)\n    return tapc_reject_index(%s, checked[%d], checked[%d] * %d + %d, %d, %s, %d, %d);\n", 2*i, c.Count(), cexpr.String(c.Name), 2*i+1,
			2*i, c.Stride, c.Offset, len(c.Shape), shape, c.Low, c.High)
	}
	out.WriteString("  return 0;\n}\n\n")
	return nil
}

// call gives the statement that carries out a step.
func (e *emitter) call(step int) string {
	c := e.calls[step]
	if len(c.slots) == 0 {
		return fmt.Sprintf("%sk%d(0, pool);", e.unit.Prefix, c.code)
	}
	var table []string
	for _, slot := range c.slots {
		if slot == numbersSlot {
			table = append(table, "(void *)"+rowOf(step))
			continue
		}
		table = append(table, fmt.Sprintf("b[%d]", slot))
	}
	if e.numbered {
		return fmt.Sprintf("%s((void *const[]){%s}, pool);", stepOf(step), strings.Join(table, ", "))
	}
	return fmt.Sprintf("%sk%d((void *const[]){%s}, pool);", e.unit.Prefix, c.code, strings.Join(table, ", "))
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
	switch {
	case b.Updates():
		over := e.Buffers[b.Over].Tensor
		return fmt.Sprintf("(void *)in[%d]", slices.IndexFunc(e.Inputs, func(x tensorops.Named) bool { return x.Tensor == over })), nil
	case b.Aliases():
		return "0", nil // until all others have theirs
	}
	switch b.Space {
	case schedule.Input:
		i, found = in.take(b.Tensor)
	case schedule.Output:
		i, found = out.take(b.Tensor)
	case schedule.Constant:
		_, found = e.Block.Of[b.Tensor]
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
		return fmt.Sprintf("(char *)arena + %d", e.Base(b.Device)+b.Offset), nil
	case e.unit.Table.Places[slot] == "":
		return "0", nil // a constant that nothing reads as it is
	}
	return e.unit.Table.Places[slot], nil
}
