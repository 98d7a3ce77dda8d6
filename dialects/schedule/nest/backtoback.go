package nest

import (
	"maps"
	"slices"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest/part"
	"tensortapestry.org/tapc/dialects/schedule/whole"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
)

// BackToBack is two contractions back to back in one kernel, the second of which multiplies what becomes of the lines of the first's results, as in an
// attention: products of queries and keys, their softmax, and the sums of values by it. It is carried out by blocks of rows. What its stages
// hand over is in workspaces that a thread has for itself, for one block, where they stay in a cache.
//
// Each stage is a kernel of its own, of statements and loops of the whole one; loops that it does not need have one value there. A
// workspace is an operand of it, of a buffer that no graph has: rows from the first of the block on, and no other dimensions.
// So a stage is cut and written as if it were alone, and computes the same in the same order.
type BackToBack struct {
	Row        int // loop of which a block of values is worked on at a time; -1 if there is none
	Line       int // loop along the lines: the columns of the first product, the reduction of the second
	First      *Contraction
	Middle     *Rows // nil if there is nothing to do between the products that follows a whole line
	Last       *Contraction
	Stages     [3]*schedule.Kernel // of First, Middle and Last
	Workspaces []Workspace         // the lines first
	parts      map[ir.NodeID]*schedule.Buffer
}

// Workspace is where stages hand a block of rows over: its lines, in which the results of the middle stage take the place of
// the first's, or a number for each row.
type Workspace struct {
	Buffer    ir.NodeID // in the stages: no node of the graph
	Statement int       // of the kernel: the first that is held there
	Step      int64     // from one row to the next, in elements
}

// firstWorkspace is the number of the first workspace; the others follow it downwards.
const firstWorkspace ir.NodeID = -1 << 30

// lineAlias is a number of bytes of which no multiple lies between lines: many of them would push each other out of the first cache.
const lineAlias = 1024

// FindBackToBack recognises contractions back to back.
func FindBackToBack(k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer) (*BackToBack, bool) {
	f := &stageFinder{k: k}
	f.all, _ = whole.Of(k, nil)
	f.findSums()
	if !f.findLast() || !f.findFirst() || !f.findLines() || !VectorsOnly(k) {
		return nil, false
	}
	for at := f.weights; at >= f.scores; at-- {
		if f.carries(at) && f.split(at) {
			c := &BackToBack{Line: f.line, parts: map[ir.NodeID]*schedule.Buffer{}}
			for _, o := range k.Operands {
				c.parts[o.Buffer] = buffers[o.Buffer]
				if b := buffers[o.Buffer]; b != nil && buffers[b.Tensor] != nil {
					c.parts[b.Tensor] = buffers[b.Tensor] // all of it, as [whole.Of] wants it
				}
			}
			return c, c.build(f, at)
		}
	}
	return nil, false
}

// VectorsOnly says whether there are vectors of all types that a kernel computes with.
func VectorsOnly(k *schedule.Kernel) bool {
	return !slices.ContainsFunc(k.Statements, func(s schedule.Statement) bool {
		return s.Value.Any(func(e *scalar.Expr) bool { return !Vectorizable(e.Type) })
	})
}

// Vectorizable says whether there are vectors of an element type: of the numbers that C computes with as they are.
func Vectorizable(d scalar.DType) bool {
	switch d {
	case scalar.Bool, scalar.Float32, scalar.Float64, scalar.Int8, scalar.Int16, scalar.Int32, scalar.Int64,
		scalar.UInt8, scalar.UInt16, scalar.UInt32, scalar.UInt64:
		return true
	}
	return false
}

// stageFinder finds the parts of contractions back to back in a kernel's statements.
type stageFinder struct {
	k, all  *schedule.Kernel // and that of the whole operation, if this is a shard
	sums    []products
	line    int
	stored  int // statement with the result
	scores  int // with the first sum
	weights int // whose values are the left operand of the second
	last    int // with the second sum
	narrow  []int
	facts   []origins // by statement
}

// origins is what the value of a statement comes from.
type origins struct {
	scores bool // the first sum
	folded bool // a reduction along lines
	last   bool // the second sum
}

// products is a sum of products in a statement; of a local value and an operand, left is the local value.
type products struct {
	at          int
	sum         *scalar.Expr
	left, right *scalar.Expr
}

// findSums lists the sums of products.
func (f *stageFinder) findSums() {
	for i, s := range f.k.Statements {
		s.Value.Walk(func(e *scalar.Expr) bool {
			if e.Op == scalar.Reduce && e.Monoid == scalar.Add && e.Args[0].Op == scalar.Mul {
				p := products{i, e, e.Args[0].Args[0], e.Args[0].Args[1]}
				if p.left.Op == scalar.Load {
					p.left, p.right = p.right, p.left
				}
				f.sums = append(f.sums, p)
			}
			return true
		})
	}
}

// findLast finds the one stored statement, and the sum of products of a local value and an operand.
func (f *stageFinder) findLast() bool {
	f.stored, f.last = -1, -1
	for i, s := range f.k.Statements {
		if s.Store >= 0 && f.stored >= 0 {
			return false
		}
		if s.Store >= 0 {
			f.stored = i
		}
	}
	for _, p := range f.sums {
		if p.left.Op != scalar.Local || p.right.Op != scalar.Load {
			continue
		}
		over := wide(f.k, p.sum.Over)
		if f.last >= 0 || len(over) != 1 {
			return false
		}
		f.last, f.weights, f.line = p.at, p.left.Ref, over[0]
	}
	return f.stored >= 0 && f.last >= 0
}

// over gives the loops of a statement, those of one value aside.
func (f *stageFinder) over(statement int) []int { return wide(f.k, f.k.Statements[statement].Over) }

// wide gives some loops without those of one value.
func wide[N int | int64](k *schedule.Kernel, over []N) []int {
	out := make([]int, 0, len(over))
	for _, l := range over {
		if !whole.Single(k.Loops[l]) {
			out = append(out, int(l))
		}
	}
	return out
}

// findFirst finds the sum of products of two operands that has a value for each place of a line.
func (f *stageFinder) findFirst() bool {
	f.scores = -1
	for _, p := range f.sums {
		if p.at > f.weights || p.left.Op != scalar.Load || p.right.Op != scalar.Load || slices.Contains(p.sum.Over, f.line) || !slices.Contains(f.over(p.at), f.line) {
			continue
		}
		if f.scores >= 0 {
			return false
		}
		f.scores = p.at
	}
	return f.scores >= 0
}

// findLines finds where the values of all statements come from, and what the last stage needs of the others beside the lines.
func (f *stageFinder) findLines() bool {
	f.facts = make([]origins, len(f.k.Statements))
	for i, s := range f.k.Statements {
		x := origins{scores: i == f.scores, last: i == f.last}
		s.Value.Walk(func(e *scalar.Expr) bool {
			if e.Op == scalar.Reduce && i != f.last && slices.Contains(e.Over, f.line) {
				x.folded = true
			}
			if e.Op == scalar.Local {
				y := f.facts[e.Ref]
				x.scores, x.folded, x.last = x.scores || y.scores, x.folded || y.folded, x.last || y.last
			}
			return true
		})
		f.facts[i] = x
	}
	if !f.facts[f.stored].last || !f.facts[f.weights].scores || f.facts[f.weights].last || f.facts[f.scores].folded ||
		!slices.Equal(f.over(f.weights), f.over(f.scores)) {
		return false
	}
	needed := part.Closure(f.k, []int{f.stored}, func(i int) bool { return i == f.weights || f.facts[i].folded && !f.facts[i].last })
	for i := range f.k.Statements {
		switch {
		case !needed[i] || f.facts[i].last || i == f.weights:
		case f.facts[i].folded && !slices.Contains(f.over(i), f.line):
			f.narrow = append(f.narrow, i)
		case f.facts[i].folded || f.facts[i].scores:
			return false
		}
	}
	return true
}

// carries says whether the first stage may end with a statement: one that goes on with the sums place by place.
func (f *stageFinder) carries(at int) bool {
	x := f.facts[at]
	return x.scores && !x.folded && !x.last && f.k.Statements[at].Value.Type.IsFloat() &&
		f.k.Statements[at].Value.Type == f.k.Statements[f.weights].Value.Type && slices.Equal(f.over(at), f.over(f.scores))
}

// split says whether all that follows the first stage needs the sums only through the statement that it ends with.
func (f *stageFinder) split(at int) bool {
	later := part.Closure(f.k, append(slices.Clone(f.narrow), f.weights), func(i int) bool { return i == at })
	return at == f.scores || !later[f.scores]
}

// build makes the stages, and recognises each.
func (c *BackToBack) build(f *stageFinder, at int) bool {
	k := f.k
	c.Row = f.rows(c.parts)
	if !c.hold(f, at, true) {
		return false
	}
	for _, i := range f.narrow {
		if !c.hold(f, i, false) {
			return false
		}
	}
	lines := c.Workspaces[0].Buffer
	narrow := map[int]ir.NodeID{}
	for x, i := range f.narrow {
		narrow[i] = c.Workspaces[x+1].Buffer
	}
	first := part.Part{Of: k, Over: f.over, Outputs: map[int]ir.NodeID{at: lines}}
	c.Stages[0] = first.Kernel(f.stored, c.parts)
	var ok bool
	if c.First, ok = c.product(c.Stages[0]); !ok || !slices.Equal(c.First.Col.Loops, []int{c.Line}) {
		return false
	}
	if at != f.weights || len(f.narrow) > 0 {
		middle := part.Part{Of: k, Over: f.over, Outputs: maps.Clone(narrow), Inputs: map[int]ir.NodeID{at: lines}}
		middle.Outputs[f.weights] = lines
		c.Stages[1] = middle.Kernel(f.stored, c.parts)
		if c.Middle, ok = FindRows(c.Stages[1], c.parts); !ok || c.Middle.Free || len(c.Middle.Reduction) > 0 || len(PlaceLoops(c.Stages[1])) > 0 ||
			!slices.Equal(c.Middle.Lane.Loops, []int{c.Line}) {
			return false
		}
		c.own(c.Stages[1], c.Middle.Views)
	}
	last := part.Part{Of: k, Over: f.over, Inputs: narrow}
	last.Inputs[f.weights] = lines
	c.Stages[2] = last.Kernel(f.stored, c.parts)
	if c.Last, ok = c.product(c.Stages[2]); !ok || c.Stages[2].Operands[c.Last.Left].Buffer != lines {
		return false
	}
	for _, s := range c.Stages {
		if s != nil {
			s.Allow = k.Allow
		}
	}
	return true
}

// rows gives the longest loop along which both products use the elements of their right operands again.
func (f *stageFinder) rows(buffers map[ir.NodeID]*schedule.Buffer) int {
	var rights []View
	for _, p := range f.sums {
		for _, a := range []*scalar.Expr{p.left, p.right} {
			if (p.at == f.scores || p.at == f.last) && a.Op == scalar.Load {
				rights = append(rights, ViewOf(f.k, a.Ref, buffers))
			}
		}
	}
	best := -1
	for _, l := range f.over(f.scores) {
		again := !slices.ContainsFunc(rights, func(v View) bool { return v.Steps[f.line] != 0 && v.Steps[l] != 0 })
		if again && l != f.line && (best < 0 || f.all.Loops[l].Extent() >= f.all.Loops[best].Extent()) {
			best = l
		}
	}
	return best
}

// hold makes room for the values of a statement: lines, or one number for each row. While the stages are recognised, the room is one
// with all dimensions, and with gaps, so that nothing joins the rows; then it is one block of rows.
func (c *BackToBack) hold(f *stageFinder, statement int, line bool) bool {
	d := f.k.Statements[statement].Value.Type
	size := int64(d.Size())
	b := &schedule.Buffer{Tensor: ir.NoNode, Device: ir.NoNode, Over: ir.NoNode, DType: d.String(), Space: schedule.Arena, Align: schedule.LineBytes}
	h := Workspace{firstWorkspace - ir.NodeID(len(c.Workspaces)), statement, 1}
	if line {
		values := schedule.LineBytes / size
		h.Step = (f.k.Loops[c.Line].Extent() + values - 1) / values * values
		if h.Step*size%lineAlias == 0 {
			h.Step += values
		}
	}
	over := f.over(statement)
	b.Strides = make([]int64, len(over))
	step := h.Step
	if c.Row >= 0 {
		step = SaturatingProduct(step, f.all.Loops[c.Row].Extent()+1)
	}
	for i, l := range slices.Backward(over) {
		switch l {
		case c.Line:
			b.Strides[i] = 1
		case c.Row:
			b.Strides[i] = h.Step
		default:
			b.Strides[i] = step
			step = SaturatingProduct(step, f.all.Loops[l].Extent()+1)
		}
	}
	for _, l := range over {
		b.Range.Start = append(b.Range.Start, f.all.Loops[l].Start)
		b.Range.End = append(b.Range.End, f.all.Loops[l].End)
	}
	c.Workspaces = append(c.Workspaces, h)
	c.parts[h.Buffer] = b
	return step < 1<<40
}

// product recognises a stage as a contraction whose rows are those of the block, and which leaves its factors unpacked.
func (c *BackToBack) product(k *schedule.Kernel) (*Contraction, bool) {
	x := &Contraction{Views: Views(k, c.parts)}
	if all, cut := whole.Of(k, c.parts); cut { // rows and columns are those of the whole operation: of a part of one column both are next to each other
		x.like = &Contraction{Views: Views(all, c.parts)}
		x.stepLike(k)
	}
	left, right, ok := x.operands(k)
	if !ok || left.Op != scalar.Load || right.Op != scalar.Load || !x.roles(k, k.Statements[x.Statement].Over, left.Ref, right.Ref) {
		return nil, false
	}
	if x.findConstants(k, c.parts); x.Constant.Left {
		return nil, false
	}
	for i := range k.Operands {
		if !Inside(k, c.parts, i) {
			return nil, false
		}
	}
	row := Dim{Extent: 1}
	if at := slices.IndexFunc(x.Batch, func(d Dim) bool { return slices.Equal(d.Loops, []int{c.Row}) }); at >= 0 {
		row = x.Batch[at]
		x.Batch = slices.Delete(slices.Clone(x.Batch), at, at+1)
	} else if slices.Equal(x.Row.Loops, []int{c.Row}) {
		row, x.Row = x.Row, Dim{Extent: 1}
	}
	if len(x.Row.Loops) > 0 {
		x.Batch = append(x.Batch, x.Row)
	}
	x.Row = row
	if c.Row >= 0 && len(row.Loops) == 0 || slices.ContainsFunc(x.Batch, func(d Dim) bool { return len(d.Loops) > 1 }) {
		return nil, false
	}
	c.own(k, x.Views)
	return x, true
}

// own turns the views of what is held into views of one block of rows, from the first row of the kernel on.
func (c *BackToBack) own(k *schedule.Kernel, views []View) {
	for i, o := range k.Operands {
		at := slices.IndexFunc(c.Workspaces, func(h Workspace) bool { return h.Buffer == o.Buffer })
		if at < 0 {
			continue
		}
		v := View{Steps: make([]int64, len(k.Loops))}
		if c.Row >= 0 {
			v.Steps[c.Row] = c.Workspaces[at].Step
		}
		if at == 0 {
			v.Steps[c.Line] = 1
		}
		for l, s := range v.Steps {
			v.Base -= s * k.Loops[l].Start
		}
		views[i] = v
	}
}

// Free gives the loops that every stage runs along: each place of them has a line.
func (c *BackToBack) Free() []int {
	return loopsOf(append(slices.Clone(c.First.Batch), c.First.Row))
}

// LineSize is the bytes from one line that is held to the next.
func (c *BackToBack) LineSize() int64 {
	return c.Workspaces[0].Step * int64(c.Buffer(c.Workspaces[0]).Type().Size())
}

// Buffer gives the buffer of what is held, of which whoever cuts the stages sets the size.
func (c *BackToBack) Buffer(h Workspace) *schedule.Buffer { return c.parts[h.Buffer] }

// WorkspaceBuffers gives the buffers that no graph has, of the size of a block once it is cut.
func (c *BackToBack) WorkspaceBuffers() map[ir.NodeID]*schedule.Buffer {
	out := map[ir.NodeID]*schedule.Buffer{}
	for _, h := range c.Workspaces {
		out[h.Buffer] = c.parts[h.Buffer]
	}
	return out
}
