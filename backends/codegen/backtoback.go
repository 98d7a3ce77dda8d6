package codegen

import (
	"fmt"
	"slices"

	"tensortapestry.org/tapc/backends/codegen/builder"
	"tensortapestry.org/tapc/backends/tree"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
)

// backToBack makes the tree of a product of a product, as an attention is: a block has some rows of the first product, whose lines stay
// in shared memory, are gone on with in place, and are the left operand of the second product.
type backToBack struct {
	*tree.Names
	f     *tree.Func
	k     *schedule.Kernel
	c     *nest.BackToBack
	rows  int64                      // of a block
	held  map[ir.NodeID]*tree.Memory // all that stages hand over
	outer map[int]*tree.Index        // by loop: where the block is
	first *tree.Index                // row of the block
}

// extent is how many rows there are.
func (x *backToBack) extent() int64 {
	if x.c.Row < 0 {
		return 1
	}
	return x.k.Loops[x.c.Row].Extent()
}

// lines is the memory of the lines: row of the block, element.
func (x *backToBack) lines() *tree.Memory { return x.held[x.c.Workspaces[0].Buffer] }

// loops gives the loops that blocks run over besides the rows: those of the batch of any stage.
func (x *backToBack) loops() []int {
	var out []int
	for _, dims := range [][]nest.Dim{x.c.First.Batch, x.c.Last.Batch, x.c.Middle.Outer} {
		for _, d := range dims {
			for _, l := range d.Loops {
				if l != x.c.Row && !slices.Contains(out, l) {
					out = append(out, l)
				}
			}
		}
	}
	slices.Sort(out)
	return out
}

// begin makes shared memory for what stages hand over, and finds the rows of a block. It gives the number of blocks.
func (x *backToBack) begin(body, inner *[]tree.Stmt, block *tree.Var) int64 {
	x.held, x.outer = map[ir.NodeID]*tree.Memory{}, map[int]*tree.Index{}
	for i, h := range x.c.Workspaces {
		t := x.k.Statements[h.Statement].Value.Type
		name, shape, pad := fmt.Sprintf("held%d", i), []int64{x.rows}, int64(0)
		if i == 0 {
			name, shape, pad = "lines", append(shape, x.k.Loops[x.c.Line].Extent()), 1
		}
		x.held[h.Buffer] = tree.NewMemory(name, t, tree.Shared, pad, shape...)
		*body = append(*body, &tree.Declare{Memory: x.held[h.Buffer]})
	}
	loops := x.loops()
	var extents []int64
	for _, l := range loops {
		extents = append(extents, x.k.Loops[l].Extent())
	}
	extents = append(extents, ceil(x.extent(), x.rows))
	at := builder.Delinearize(x.Names, inner, tree.Use(block), extents)
	for i, l := range loops {
		x.outer[l] = at[i]
	}
	x.first = x.Let(inner, "m", at[len(loops)].Times(x.rows))
	return productOf(extents)
}

// bind says where a stage finds the elements of its operands: what is held by the row of the block, all others by the dimensions of the stage.
func (x *backToBack) bind(b *builder.Builder, number, rowDim, lineDim int, row func() *tree.Index) {
	for i, o := range b.K.Operands {
		m := x.held[o.Buffer]
		switch {
		case m == nil:
			m = b.Operand(i)
			m.Name = fmt.Sprintf("stage%d_%s", number, m.Name)
			m.Operand = slices.IndexFunc(x.k.Operands, func(p schedule.Operand) bool {
				return p.Buffer == o.Buffer && p.Mode == o.Mode && p.Name == o.Name
			})
			x.f.Operands = append(x.f.Operands, m)
		case m == x.lines():
			b.Elements[i] = func() tree.Access { return tree.Access{Memory: m, At: []*tree.Index{row(), b.At[lineDim]}} }
		default:
			b.Elements[i] = func() tree.Access { return tree.Access{Memory: m, At: []*tree.Index{row()}} }
		}
	}
	for i, d := range b.Dims {
		at := tree.Const(0)
		for _, l := range d.Loops {
			if x.outer[l] == nil {
				at = nil
				break
			}
			at = at.Times(b.K.Loops[l].Extent()).Add(x.outer[l])
		}
		b.At[i] = at
	}
}

// bindProduct is bind for a contraction: the columns of the first are along the lines, and what the second reduces is.
func (x *backToBack) bindProduct(p *contraction, number int) {
	lineDim := p.n()
	if number == 2 {
		lineDim = p.z()
	}
	x.bind(p.Builder, number, p.m(), lineDim, func() *tree.Index { return p.At[p.m()].Add(x.first.Times(-1)) })
}

// rowOf gives the dimension of a reduction's rows.
func (x *backToBack) rowOf(r *reduction) (int, error) {
	row := slices.IndexFunc(r.Dims, func(d nest.Dim) bool { return slices.Equal(d.Loops, []int{x.c.Row}) })
	if row < 0 {
		return 0, fmt.Errorf("the rows of a block are none of the lines'")
	}
	return row, nil
}

// backToBackBlocks makes products back to back on a GPU: a block for some rows and an index of the batch.
func backToBackBlocks(f *tree.Func, a *nest.Analysis, c *nest.BackToBack, stages []schedule.Stage) error {
	x := &backToBack{Names: new(tree.Names), f: f, k: a.Kernel, c: c}
	first, err := newContraction(x.Names, c.Stages[0], c.First, &stages[0])
	if err != nil {
		return err
	}
	last, err := newContraction(x.Names, c.Stages[2], c.Last, &stages[2])
	if err != nil {
		return err
	}
	element := stages[1].Tile(schedule.RoleElement)
	x.rows = first.left.block
	switch {
	case first.left.block != last.left.block || first.lanes() != last.lanes():
		return fmt.Errorf("the stages have blocks of %d and %d rows and of %d and %d lanes", x.rows, last.left.block, first.lanes(), last.lanes())
	case len(element) != 1 || element[0]*x.rows != first.lanes() || element[0] > WarpLanes:
		return fmt.Errorf("the lanes of a block are those of its lines, at most a warp for each")
	case ceil(a.Kernel.Loops[c.Line].Extent(), element[0]) > maxKept:
		return fmt.Errorf("a lane has more than %d elements of a line", maxKept)
	case first.left.depth < 1 || first.left.depth != first.right.depth || last.left.depth != 0 || last.right.depth < 1:
		return fmt.Errorf("tiles of operands are shared, but for the lines, which are already")
	}
	var body, lanes []tree.Stmt
	block, lane := &tree.Var{Name: "block"}, &tree.Var{Name: "lane"}
	blocks := x.begin(&body, &lanes, block)
	x.lanesProduct(&body, &lanes, a, first, 0, tree.Use(lane))
	if err := x.lanesMiddle(&lanes, element[0], tree.Use(lane)); err != nil {
		return err
	}
	x.lanesProduct(&body, &lanes, a, last, 2, tree.Use(lane))
	body = append(body, &tree.For{Var: lane, From: tree.Const(0), To: tree.Const(first.lanes()), Step: 1, Bind: tree.Lane, Body: lanes})
	parallel(f, block, blocks, tree.Block, body)
	return nil
}

// lanesProduct makes a contraction of the rows of the block: the first writes the lines, column by column of blocks, the second reads them.
func (x *backToBack) lanesProduct(body, list *[]tree.Stmt, a *nest.Analysis, p *contraction, number int, lane *tree.Index) {
	x.bindProduct(p, number)
	p.declareTiles(body, a.Buffers)
	for _, s := range p.shared() { // those of stages are told apart
		s.tile.Name = fmt.Sprintf("stage%d_%s", number, s.tile.Name)
	}
	p.lane = lane
	p.registers(list)
	column := p.Variable("n")
	p.left.first, p.right.first = x.first, tree.Use(column)
	inner := []tree.Stmt{}
	p.multiply(&inner)
	if number == 0 {
		p.epilogue(&inner, x.blank)
	} else {
		p.epilogue(&inner, nil)
	}
	*list = append(*list, &tree.For{Var: column, From: tree.Const(0), To: tree.Const(p.c.Col.Extent), Step: p.right.block, Bind: tree.Serial, Body: inner}, tree.Barrier{})
}

// blank fills the lines of rows behind the last with 0, so that what is done with them is defined.
func (x *backToBack) blank(row, col *tree.Index) []tree.Stmt {
	v := x.Variable("col")
	zero := builder.Constant(tree.Access{Memory: x.lines(), At: []*tree.Index{row.Add(x.first.Times(-1)), tree.Use(v)}}, scalar.Zero(x.lines().Type))
	return append([]tree.Stmt{&tree.Let{Var: v, Value: col}}, guarded([]tree.Cond{{Var: v, Limit: tree.Const(x.lines().Dims[1].End)}}, zero)...)
}

// lanesMiddle makes the work on the lines: a group of lanes has each.
func (x *backToBack) lanesMiddle(list *[]tree.Stmt, width int64, lane *tree.Index) error {
	r, err := newReduction(x.Names, x.c.Stages[1], x.c.Middle, width)
	if err != nil {
		return err
	}
	row, err := x.rowOf(r)
	if err != nil {
		return err
	}
	r.lane = r.Bound(list, "own", lane.Mod(width))
	own := r.Let(list, "row", lane.Div(width))
	x.bind(r.Builder, 1, row, r.element(), func() *tree.Index { return own })
	at := own
	if x.extent()%x.rows != 0 { // lines behind the last read of other operands what belongs to that
		at = r.Let(list, "row", own.Min(x.first.Times(-1).Plus(x.extent()-1)))
	}
	r.At[row] = r.Let(list, "m", x.first.Add(at))
	for i, o := range r.K.Operands { // results take the place of what they are made of
		if o.Mode == schedule.Read && x.held[o.Buffer] == x.lines() {
			r.preload(list, i)
		}
	}
	met := false
	r.before = func(int) []tree.Stmt {
		if met {
			return nil
		}
		met = true
		return []tree.Stmt{tree.Barrier{}}
	}
	*list = append(*list, r.statements()...)
	*list = append(*list, tree.Barrier{})
	return nil
}
