package rewrite

import (
	"slices"
	"strings"
	"unicode"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/bind"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/declaration"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/infer"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/instance"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/tensorfile"
	"tensortapestry.org/tapc/ir/zspace"
)

// Site is an operation that a rule looks at. It is only valid during Match, and a rule must not change what it reaches from
// it.
type Site struct {
	Graph *ir.Graph
	Node  *ir.Node
	Op    *tensorops.Operation

	Scratch any // of the rules' language: the driver keeps it from one operation to the next

	kernel *kernel
	driver *driver
}

// Def is the operation that computes a box of a tensor, with the boxes of its own inputs that this takes.
type Def struct {
	Node   *ir.Node
	Op     *tensorops.Operation
	Kernel string // without namespace
	Inputs ir.Ports
}

// Kernel is the site's kernel name without namespace.
func (s *Site) Kernel() string { return s.kernel.name }

// Decl is the declaration of the site's kernel, nil if the library has none.
func (s *Site) Decl() *declaration.Kernel { return s.kernel.decl }

// Library is the library of kernels in use.
func (s *Site) Library() *kernels.Library { return s.driver.opt.Library }

// Tensor gives the body of a tensor that the site reaches.
func (s *Site) Tensor(id ir.NodeID) *tensorops.Tensor { return tensorops.TensorOf(s.Graph, id) }

// Type is the element type of a selection.
func (s *Site) Type(sel ir.Selection) scalar.DType { return s.Tensor(sel.Tensor).Type() }

// Result gives the site's only output; ok is false if it has another number of them.
func (s *Site) Result() (sel ir.Selection, ok bool) { return onlyOutput(s.Op) }

func onlyOutput(op *tensorops.Operation) (ir.Selection, bool) {
	if op.Outputs.Len() != 1 || len(op.Outputs.At(0).Sel) != 1 {
		return ir.Selection{}, false
	}
	return op.Outputs.At(0).Sel[0], true
}

// Def finds the operation that computes a selection. It is false where there is none, where the operation has an effect or
// several outputs, and where no boxes of its inputs give exactly the selection.
func (s *Site) Def(sel ir.Selection) (Def, bool) {
	d, ok := s.producer(sel)
	if ok {
		d.Inputs, ok = s.driver.restrict(d, sel)
	}
	return d, ok
}

// DefBy is Def where a kernel of that name computes the selection.
func (s *Site) DefBy(kernel string, sel ir.Selection) (Def, bool) {
	d, ok := s.producer(sel)
	if ok = ok && d.Kernel == kernel; ok {
		d.Inputs, ok = s.driver.restrict(d, sel)
	}
	return d, ok
}

// producer is Def with the inputs as they are, for the whole tensor.
func (s *Site) producer(sel ir.Selection) (Def, bool) {
	id := s.driver.index.producer[sel.Tensor]
	op := tensorops.OperationOf(s.Graph, id)
	if op == nil || s.driver.index.is(id, pinned) {
		return Def{}, false
	}
	out, ok := onlyOutput(op)
	if !ok || !out.Range().Equal(tensorops.TensorOf(s.Graph, out.Tensor).Range) {
		return Def{}, false
	}
	return Def{Node: s.Graph.Node(id), Op: op, Kernel: s.driver.index.kernelOf(id).name, Inputs: op.Inputs}, true
}

// Once says whether the site's single use of a tensor is all there is: nobody else consumes it and it is not observed.
func (s *Site) Once(t ir.NodeID) bool {
	return s.driver.index.live[t] == 1 && !s.driver.index.is(t, observed|pinned)
}

// Uses counts the operations that consume a tensor, and one more if it is observed.
func (s *Site) Uses(t ir.NodeID) int {
	n := s.driver.index.live[t]
	if s.driver.index.is(t, observed|pinned) {
		n++
	}
	return int(n)
}

// Finite says whether a tensor has no infinities and NaN, as integers and constants that can be read do. It is false where that is not
// known.
func (s *Site) Finite(sel ir.Selection) bool {
	if t := s.Type(sel); !t.IsFloat() && !t.IsComplex() {
		return true
	}
	x, ok := s.Value(sel)
	return ok && finite(x)
}

// Value reads the tensor that a selection is a box of, if it is a constant that can be read.
func (s *Site) Value(sel ir.Selection) (tensorfile.Tensor, bool) {
	d, ok := s.producer(ir.Select(sel.Tensor, s.Tensor(sel.Tensor).Range))
	if !ok || d.Kernel != "constant" || s.driver.opt.Load == nil {
		return tensorfile.Tensor{}, false
	}
	c, bad := tensorops.ConstOf(s.Graph, d.Node.ID)
	if bad != nil {
		return tensorfile.Tensor{}, false
	}
	x, err := s.driver.opt.Load(c, s.Tensor(sel.Tensor))
	return x, err == nil
}

func finite(x tensorfile.Tensor) bool {
	if x.DType.IsComplex() {
		return false
	}
	for at, size := 0, x.DType.Size(); at < len(x.Data); at += size {
		if f := scalar.Decode(x.DType, x.Data[at:]).F; f-f != 0 {
			return false
		}
	}
	return true
}

// Bind applies the site's kernel to its operation.
func (s *Site) Bind() (*instance.Instance, error) {
	return s.driver.bind(s.Op.Kernel, s.Op.Params, s.Op.Inputs, s.Op.Outputs)
}

// restrict gives the boxes of a definition's inputs that compute a box of its result.
func (d *driver) restrict(def Def, sel ir.Selection) (ir.Ports, bool) {
	out, _ := onlyOutput(def.Op)
	if sel.Range().Equal(out.Range()) {
		return def.Op.Inputs, true
	}
	if sel.Range().Empty() || def.Op.Inputs.Len() == 0 {
		return def.Op.Inputs, def.Op.Inputs.Len() == 0
	}
	if d.index.kernelOf(def.Node.ID).pointwise {
		return restrictPointwise(def.Op.Inputs, out.Range(), sel.Range())
	}
	return d.restrictBound(def, sel.Range())
}

// Pointwise says whether every operand of a kernel is indexed by the same group of dimensions, as it is or broadcast, and
// its body never names that group: then a box of the result is the kernel applied to the same box of the operands.
func Pointwise(d *declaration.Kernel) bool {
	group := ""
	for _, o := range d.Operands {
		if len(o.Index) != 1 || o.Index[0].Group == "" || o.Index[0].Use > declaration.Broadcast || o.Out && o.Index[0].Use != declaration.Plain {
			return false
		}
		if group != "" && o.Index[0].Group != group {
			return false
		}
		group = o.Index[0].Group
	}
	for _, a := range d.Attrs {
		if a.Of != "" {
			return false
		}
	}
	for _, l := range d.Lets {
		words := strings.FieldsFunc(l.Text, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) })
		if slices.Contains(words, group) {
			return false
		}
	}
	return group != "" && len(d.Lets) > 0
}

// restrictPointwise cuts the inputs of a pointwise kernel as its result is cut: right-aligned, sizes of 1 as they are.
func restrictPointwise(in ir.Ports, whole, part zspace.Range) (ir.Ports, bool) {
	cut := in.Clone()
	ok := true
	cut.All(func(_, _ int, s *ir.Selection) {
		shift := whole.Rank() - s.Range().Rank()
		if shift < 0 {
			ok = false
			return
		}
		r := s.Range().Clone()
		for i := range r.Start {
			j := i + shift
			if r.End[i]-r.Start[i] == 1 && whole.End[j]-whole.Start[j] != 1 {
				continue
			}
			start := s.Range().Start[i]
			r.Start[i] = start + (part.Start[j] - whole.Start[j])
			r.End[i] = start + (part.End[j] - whole.Start[j])
		}
		s.SetRange(r)
	})
	return cut, ok
}

// restrictBound asks the kernel's declaration which boxes of the inputs a part of the result needs, and checks that the
// kernel applied to those boxes computes that part: the same accesses, moved, and a body that does not depend on place.
func (d *driver) restrictBound(def Def, part zspace.Range) (ir.Ports, bool) {
	whole, err := d.bind(def.Op.Kernel, def.Op.Params, def.Op.Inputs, def.Op.Outputs)
	if err != nil {
		return ir.Ports{}, false
	}
	box, err := whole.Restrict([]zspace.Range{part})
	if err != nil {
		return ir.Ports{}, false
	}
	in, out := def.Op.Inputs.Clone(), def.Op.Outputs.Clone()
	for i, o := range whole.Operands {
		r, err := whole.Reads(i, box)
		if err != nil || !o.Sel.Range().Contains(r) {
			return ir.Ports{}, false
		}
		side := in
		if o.Decl.Out {
			side = out
		}
		side.Get(o.Port).Sel[o.Entry].SetRange(r)
	}
	cut, err := d.bind(def.Op.Kernel, def.Op.Params, in, out)
	if err != nil || !out.At(0).Sel[0].Range().Equal(part) || !isPart(whole, cut, box) {
		return ir.Ports{}, false
	}
	return in, true
}

// isPart says whether an instance computes what another computes on a box of its dims.
func isPart(whole, part *instance.Instance, box zspace.Range) bool {
	if len(whole.Dims) != len(part.Dims) || len(whole.Operands) != len(part.Operands) {
		return false
	}
	for i, dim := range part.Dims {
		if dim.Extent != box.End[i]-box.Start[i] {
			return false
		}
	}
	for i, o := range part.Operands {
		w := whole.Operands[i].Access
		moved, err := w.Apply(box.Start)
		if err != nil || !moved.Equal(o.Access.Offset) || !w.Projection.Equal(o.Access.Projection) {
			return false
		}
	}
	return !slices.ContainsFunc(whole.Statements, func(s instance.Statement) bool {
		return s.Value.Any(func(e *scalar.Expr) bool { return e.Op == scalar.Loop })
	})
}

// bind applies a kernel to ports.
func (d *driver) bind(name string, params ir.Attrs, in, out ir.Ports) (*instance.Instance, error) {
	decl := d.kernels.find(name).decl
	if decl == nil {
		return nil, errNoKernel
	}
	return bind.Instance(decl, infer.CallOf(d.index.g, params, in, out))
}

// As is the site as if another operation computed its result; that one need not be in the graph.
func (s *Site) As(op *tensorops.Operation) *Site {
	return &Site{Graph: s.Graph, Node: s.Node, Op: op, kernel: s.driver.kernels.find(op.Kernel), driver: s.driver}
}

// Computes says whether a selection is an operand: its box, or the result of the same operations of the same values, which are given.
func (s *Site) Computes(sel ir.Selection, o Operand) (by []ir.NodeID, ok bool) {
	if o.New == nil {
		return nil, o.Sel.Equal(sel)
	}
	k, like := s.driver.kernels.find(o.New.Kernel), o.New.Outputs[0]
	fits := s.Tensor(sel.Tensor).DType == like.DType && sameShape(sel.Range(), like.Range)
	if k.constant && len(o.New.Params) == 1 {
		v, ok := s.Splat(sel)
		w, ok2 := Inline(o.New.Params[0].Value, v.DType)
		return nil, fits && ok && ok2 && v.Same(w)
	}
	d, ok := s.Def(sel)
	if !ok || !fits || k.decl == nil || d.Kernel != k.name || d.Inputs.Len() != len(o.New.Inputs) || !sameAttrs(k.decl, d.Op.Params, o.New.Params) {
		return nil, false
	}
	by = append(by, d.Node.ID)
	for _, in := range o.New.Inputs {
		i, _ := k.decl.Port(in.Port)
		port := d.Inputs.OneOf(k.decl.Operands[max(i, 0)].Names)
		if i < 0 || port == nil || len(port.Sel) != len(in.Args) {
			return nil, false
		}
		for j, arg := range in.Args {
			more, ok := s.Computes(port.Sel[j], arg)
			if by = append(by, more...); !ok {
				return nil, false
			}
		}
	}
	return by, true
}

// Shards gives the applications of the operation that computes a tensor.
func (s *Site) Shards(t ir.NodeID) []ir.NodeID {
	return s.driver.index.apps[s.driver.index.producer[t]]
}

// Work gives the scalar operations, as its kernel counts them, of the operation that computes a tensor.
func (s *Site) Work(t ir.NodeID) int64 {
	op := tensorops.OperationOf(s.Graph, s.driver.index.producer[t])
	if op == nil {
		return 0
	}
	if in, err := s.driver.bind(op.Kernel, op.Params, op.Inputs, op.Outputs); err == nil {
		return in.Flops()
	}
	return 0
}

// sameAttrs says whether parameters are the same, where those that are not given have their defaults: one number is that of every dimension.
func sameAttrs(d *declaration.Kernel, a, b ir.Attrs) bool {
	in := func(x, y ir.Attrs) bool {
		return !slices.ContainsFunc(x, func(p ir.Attr) bool {
			if v, ok := y.Get(p.Name); ok {
				return !v.Equal(p.Value)
			}
			v, ok := d.Default(p.Name)
			list, every := p.Value.Ints()
			return !ok || !v.Equal(p.Value) && (!every || slices.ContainsFunc(list, func(n int64) bool { return !v.Equal(ir.IntAttr(n)) }))
		})
	}
	return in(a, b) && in(b, a)
}
