package simplify

import (
	"slices"

	"tensortapestry.org/tapc/dialects/tensorops/kernels/instance"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/zspace"
	"tensortapestry.org/tapc/passes/rewrite"
)

// maxCells bounds the elements of an inline constant that folding reads or writes one by one. Constants of one value for
// all elements have no bound.
const maxCells = 256

// constantFold computes operations on inline constants.
var constantFold = rewrite.Rule{
	Name: "constant-fold", Source: "Go", Needs: []string{"constant"},
	Text:    "An operation without reductions whose inputs are all inline constants becomes an inline constant: if it has one value for all elements and is no larger than its inputs or 65536 elements, or has at most 256 elements.",
	Because: "the body is computed by the same scalar operations as the reference evaluator's",
	Match:   foldConstant,
}

func foldConstant(s *rewrite.Site) (rewrite.Result, bool) {
	out, ok := s.Result()
	if !ok || s.Decl() == nil || !allInline(s) {
		return rewrite.Result{}, false
	}
	in, err := s.Bind()
	if err != nil || !placeless(in) {
		return rewrite.Result{}, false
	}
	f := folder{in: in, operands: make([]cells, len(in.Operands)), values: make([]scalar.Value, len(in.Statements))}
	splat, largest := true, int64(rewrite.MaxConstant)
	for i, o := range in.Operands {
		if o.Decl.Out {
			continue
		}
		c, ok := cellsOf(s, o.Sel)
		if !ok {
			return rewrite.Result{}, false
		}
		splat = splat && len(c.list) == 1
		largest = max(largest, c.size)
		f.operands[i] = c
	}
	value, ok := f.all(splat, out.Range())
	if size, err := out.Range().Size(); !ok || err != nil || size > largest {
		return rewrite.Result{}, false
	}
	t := s.Tensor(out.Tensor)
	return rewrite.One(s.Constant(value, t.DType, t.Range), sources(s)...), true
}

// allInline says whether every input is produced by a constant, and there is one.
func allInline(s *rewrite.Site) bool {
	n := 0
	for _, p := range s.Op.Inputs.Each() {
		for i := range p.Sel {
			if _, ok := s.Inline(p.Sel[i]); !ok {
				return false
			}
			n++
		}
	}
	return n > 0
}

// sources gives the constants that an operation reads.
func sources(s *rewrite.Site) []ir.NodeID {
	var ids []ir.NodeID
	s.Op.Inputs.All(func(_, _ int, sel *ir.Selection) {
		if d, ok := s.Def(ir.Select(sel.Tensor, s.Tensor(sel.Tensor).Range)); ok {
			ids = append(ids, d.Node.ID)
		}
	})
	return ids
}

// placeless says whether the value of an element depends on the elements read alone: no reduction, no loop variable, and
// nothing read outside a selection.
func placeless(in *instance.Instance) bool {
	for i, o := range in.Operands {
		r, err := in.Reads(i, in.Box())
		if err != nil || r.Empty() || !o.Sel.Range().Contains(r) {
			return false
		}
	}
	ok := len(in.Statements) > 0
	for _, st := range in.Statements {
		st.Value.Walk(func(e *scalar.Expr) bool {
			ok = ok && e.Op != scalar.Reduce && e.Op != scalar.Loop
			return true
		})
	}
	return ok
}

// cells are the elements of an inline constant over a box, row-major, or one for all.
type cells struct {
	list []scalar.Value
	box  zspace.Range
	size int64
}

// cellsOf reads the constant that produces a selection's tensor.
func cellsOf(s *rewrite.Site, sel ir.Selection) (cells, bool) {
	v, _ := s.Inline(sel)
	t := s.Tensor(sel.Tensor)
	c := cells{box: t.Range}
	var err error
	if c.size, err = t.Range.Size(); err != nil || c.size == 0 {
		return c, false
	}
	if v.Kind != ir.AttrList {
		x, ok := rewrite.Inline(v, t.Type())
		c.list = []scalar.Value{x}
		return c, ok
	}
	return c, c.size <= maxCells && c.flatten(v, t.Type(), t.Range.Shape())
}

// flatten appends the elements of lists that are nested as a shape.
func (c *cells) flatten(v ir.AttrValue, d scalar.DType, shape []int64) bool {
	if len(shape) == 0 {
		x, ok := rewrite.Inline(v, d)
		c.list = append(c.list, x)
		return ok
	}
	if v.Kind != ir.AttrList || int64(len(v.List)) != shape[0] {
		return false
	}
	for _, x := range v.List {
		if !c.flatten(x, d, shape[1:]) {
			return false
		}
	}
	return true
}

// at gives the element at a coordinate of the tensor.
func (c *cells) at(p zspace.Point) scalar.Value {
	if len(c.list) == 1 {
		return c.list[0]
	}
	i := int64(0)
	for k, x := range p {
		i = i*(c.box.End[k]-c.box.Start[k]) + x - c.box.Start[k]
	}
	return c.list[i]
}

// folder evaluates an instance on constants at one point after another.
type folder struct {
	in       *instance.Instance
	operands []cells
	values   []scalar.Value // of the statements
	point    zspace.Point
}

// all computes the output: one value if splat, else the list of all elements.
func (f *folder) all(splat bool, out zspace.Range) (ir.AttrValue, bool) {
	if splat {
		f.point = f.in.Box().Start
		return rewrite.InlineOf(f.one())
	}
	size, err := out.Size()
	if err != nil || size == 0 || size > maxCells {
		return ir.AttrValue{}, false
	}
	store := slices.IndexFunc(f.in.Operands, func(o instance.Operand) bool { return o.Decl.Out })
	values := map[string]scalar.Value{}
	for p := range f.in.Box().Points() {
		f.point = p
		at, err := f.in.Operands[store].Access.Apply(p)
		if err != nil {
			return ir.AttrValue{}, false
		}
		values[at.String()] = f.one()
	}
	var list []ir.AttrValue
	for p := range out.Points() {
		v, ok := rewrite.InlineOf(values[p.String()])
		if !ok {
			return ir.AttrValue{}, false
		}
		list = append(list, v)
	}
	return nested(list, out.Shape()), true
}

// nested gives elements in row-major order as lists nested as a shape.
func nested(list []ir.AttrValue, shape []int64) ir.AttrValue {
	if len(shape) == 0 {
		return list[0]
	}
	v := ir.AttrValue{Kind: ir.AttrList}
	for part := range slices.Chunk(list, len(list)/int(shape[0])) {
		v.List = append(v.List, nested(part, shape[1:]))
	}
	return v
}

// one computes every statement at the present point and gives the value that is stored.
func (f *folder) one() scalar.Value {
	var stored scalar.Value
	for i, st := range f.in.Statements {
		f.values[i] = st.Value.Eval(f)
		if st.Store >= 0 {
			stored = f.values[i]
		}
	}
	return stored
}

// Load reads an operand at the present point.
func (f *folder) Load(ref int) scalar.Value {
	at, err := f.in.Operands[ref].Access.Apply(f.point)
	if err != nil {
		return scalar.Zero(f.in.Operands[ref].Type)
	}
	return f.operands[ref].at(at)
}

// Local gives the value of an earlier statement.
func (f *folder) Local(ref int) scalar.Value { return f.values[ref] }

// Loop gives a loop variable.
func (f *folder) Loop(ref int) int64 { return f.point[ref] }

// Over runs f once: what is folded here has no reductions.
func (f *folder) Over(_ []int, each func()) { each() }
