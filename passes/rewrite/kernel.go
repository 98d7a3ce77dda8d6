package rewrite

import (
	"slices"
	"strings"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/declaration"
	"tensortapestry.org/tapc/ir"
)

// kernel is what the driver knows of a kernel name.
type kernel struct {
	name      string              // without namespace, if the library has it
	decl      *declaration.Kernel // nil for one that the library does not have
	pointwise bool
	effect    bool // an import or an export
	constant  bool
	bit       uint64 // stands for the name in sets of kernels; names beyond the 64th share bits
	rules     []ruleAt
}

// ruleAt is a rule that may fit a kernel's operations.
type ruleAt struct {
	rule  int
	needs uint64 // kernels of which every one must be among the producers of the inputs
}

// kernelTable finds kernels by the names that a graph uses.
type kernelTable struct {
	lib    *kernels.Library
	rules  []Rule
	opt    Options
	byName map[string]int32
	list   []*kernel
	bits   map[string]uint64
}

func newKernelTable(rules []Rule, opt Options) *kernelTable {
	return &kernelTable{lib: opt.Library, rules: rules, opt: opt, byName: map[string]int32{}, bits: map[string]uint64{}}
}

// number gives a kernel's place in the list.
func (t *kernelTable) number(name string) int32 {
	if i, ok := t.byName[name]; ok {
		return i
	}
	k := &kernel{name: name}
	op := tensorops.Operation{Kernel: name}
	k.constant = op.IsSource() && strings.HasSuffix(name, "constant")
	k.effect = op.IsSink() || op.IsSource() && !k.constant
	if decl, ok := t.lib.Find(name); ok {
		k.decl, k.name, k.pointwise = decl, decl.Name, Pointwise(decl)
	} else if k.constant {
		k.name = "constant"
	}
	k.bit = t.bit(k.name)
	for i := range t.rules {
		r := &t.rules[i]
		if t.on(r) && (len(r.Roots) == 0 || slices.Contains(r.Roots, k.name)) {
			at := ruleAt{rule: i}
			for _, n := range r.Needs {
				at.needs |= t.bit(n)
			}
			k.rules = append(k.rules, at)
		}
	}
	t.byName[name] = int32(len(t.list))
	t.list = append(t.list, k)
	return t.byName[name]
}

// on says whether a rule may be asked at all.
func (t *kernelTable) on(r *Rule) bool {
	return t.opt.Allow.Has(r.Allow) && !slices.Contains(t.opt.Disable, r.Name)
}

func (t *kernelTable) find(name string) *kernel { return t.list[t.number(name)] }

// bit gives the bit that stands for a name without namespace.
func (t *kernelTable) bit(name string) uint64 {
	if _, ok := t.bits[name]; !ok {
		t.bits[name] = 1 << (len(t.bits) % 64)
	}
	return t.bits[name]
}

// producers gives the set of kernels that produce an operation's inputs.
func (ix *index) producers(op *tensorops.Operation) uint64 {
	set := uint64(0)
	for _, p := range op.Inputs.Each() {
		for i := range p.Sel {
			if id := ix.producer[p.Sel[i].Tensor]; id >= 0 {
				set |= ix.kernels.list[ix.kernel[id]].bit
			}
		}
	}
	return set
}

// kernelOf gives what is known of an operation's kernel.
func (ix *index) kernelOf(op ir.NodeID) *kernel { return ix.kernels.list[ix.kernel[op]] }

// isEffect says whether an operation is one that the driver leaves alone: it has an effect outside the graph, brings a
// tensor in, or takes one out.
func (k *kernel) isEffect(n *ir.Node) bool {
	return k.effect || n.Tag(tensorops.IOSequencePointKind) != nil
}
