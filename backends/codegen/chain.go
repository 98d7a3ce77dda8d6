package codegen

import (
	"fmt"
	"slices"

	"tensortapestry.org/tapc/backends/tree"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
)

// chain makes the tree of a product of a product, as an attention is: a block has some rows of the first product, whose lines stay in shared
// memory, are gone on with in place, and are the left operand of the second product.
type chain struct {
	c      *nest.BackToBack
	stages []schedule.Stage
	rows   int64 // of a block
	lanes  int64
	lines  *tree.Memory               // row of the block, element
	held   map[ir.NodeID]*tree.Memory // all that stages hand over
	outer  map[int]*tree.Index        // by loop: where the block is
	row    int                        // the loop of the rows, or -1
	first  *tree.Index                // row of the block
	extent int64                      // of the rows
	vars   int
	lane   *tree.Index
	f      *tree.Func
	k      *schedule.Kernel
}

// chainBlocks makes a kernel that is a chain: a block for some rows and a place of the batch.
func chainBlocks(f *tree.Func, k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer, c *nest.BackToBack, stages []schedule.Stage) error {
	first, err := contractionSizesOf(&stages[0])
	if err != nil {
		return err
	}
	last, err := contractionSizesOf(&stages[2])
	if err != nil {
		return err
	}
	element := stages[1].Tile(schedule.RoleElement)
	switch {
	case first.blockM != last.blockM || first.lanes != last.lanes:
		return fmt.Errorf("the stages have blocks of %d and %d rows and of %d and %d lanes", first.blockM, last.blockM, first.lanes, last.lanes)
	case c.Middle == nil:
		return fmt.Errorf("nothing is done with the lines")
	case len(element) != 1 || element[0]*first.blockM != first.lanes || element[0] > WarpLanes:
		return fmt.Errorf("the lanes of a block are those of its lines, at most a warp for each")
	case ceil(k.Loops[c.Line].Extent(), element[0]) > maxKept:
		return fmt.Errorf("a lane has more than %d elements of a line", maxKept)
	}
	x := &chain{c: c, stages: stages, rows: first.blockM, lanes: first.lanes, f: f, row: c.Row, held: map[ir.NodeID]*tree.Memory{},
		outer: map[int]*tree.Index{}, extent: 1, k: k}
	if c.Row >= 0 {
		x.extent = k.Loops[c.Row].Extent()
	}
	return x.build(k, buffers, element[0])
}

// loops gives the loops that blocks run over besides the rows: those of the batch of any stage.
func (x *chain) loops() []int {
	var out []int
	for _, dims := range [][]nest.Dim{x.c.First.Batch, x.c.Last.Batch, x.c.Middle.Outer} {
		for _, d := range dims {
			for _, l := range d.Loops {
				if l != x.row && !slices.Contains(out, l) {
					out = append(out, l)
				}
			}
		}
	}
	slices.Sort(out)
	return out
}

func (x *chain) build(k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer, width int64) error {
	block, lane := &tree.Var{Name: "block"}, &tree.Var{Name: "lane"}
	loops := x.loops()
	var extents []int64
	blocks := int64(1)
	for _, l := range loops {
		extents = append(extents, k.Loops[l].Extent())
	}
	extents = append(extents, ceil(x.extent, x.rows))
	for _, n := range extents {
		blocks *= n
	}
	var body, lanes []tree.Stmt
	x.hold(&body, k)
	b := &builder{vars: &x.vars}
	x.lane = tree.Use(lane)
	at := b.delinearize(&lanes, tree.Use(block), extents)
	for i, l := range loops {
		x.outer[l] = at[i]
	}
	x.first = b.let(&lanes, "m", at[len(loops)].Times(x.rows))
	if err := x.product(&body, &lanes, buffers, 0, x.c.Stages[0], x.c.First); err != nil {
		return err
	}
	if err := x.middle(&lanes, buffers, width); err != nil {
		return err
	}
	if err := x.product(&body, &lanes, buffers, 2, x.c.Stages[2], x.c.Last); err != nil {
		return err
	}
	body = append(body, &tree.For{Var: lane, From: tree.Const(0), To: tree.Const(x.lanes), Step: 1, Bind: tree.Lane, Body: lanes})
	x.f.Body = []tree.Stmt{&tree.For{Var: block, From: tree.Const(0), To: tree.Const(blocks), Step: 1, Bind: tree.Block, Body: body}}
	return nil
}

// hold declares what stages hand over: the lines, and numbers of each row.
func (x *chain) hold(list *[]tree.Stmt, k *schedule.Kernel) {
	for i, h := range x.c.Workspaces {
		t := k.Statements[h.Statement].Value.Type
		name, shape, pad := fmt.Sprintf("held%d", i), []int64{x.rows}, int64(0)
		if i == 0 {
			name, shape, pad = "lines", append(shape, k.Loops[x.c.Line].Extent()), 1
		}
		m := tree.NewMemory(name, t, tree.Shared, pad, shape...)
		x.held[h.Buffer] = m
		*list = append(*list, &tree.Declare{Memory: m})
	}
	x.lines = x.held[x.c.Workspaces[0].Buffer]
}

// bind makes the memories of a stage's operands: what is held by the row of the block, all others by the dimensions of the stage.
func (x *chain) bind(b *builder, buffers map[ir.NodeID]*schedule.Buffer, rowDim, lineDim, number int) {
	isHeld := func(i int) bool { _, ok := x.held[b.k.Operands[i].Buffer]; return ok }
	own := b.operands(buffers, func(i int) bool { return !isHeld(i) })
	for _, m := range own {
		m.Name = fmt.Sprintf("stage%d_%s", number, m.Name)
		m.Operand = x.operand(b.k.Operands[m.Operand])
	}
	x.f.Operands = append(x.f.Operands, own...)
	for i, o := range b.k.Operands {
		if !isHeld(i) {
			continue
		}
		b.memory[i], b.held[i] = x.held[o.Buffer], []int{rowDim}
		if b.memory[i] == x.lines {
			b.held[i] = []int{rowDim, lineDim}
		}
	}
	b.row = func() *tree.Index { return b.at[rowDim].Add(x.first.Times(-1)) }
	for i, d := range b.dims {
		at := tree.Const(0)
		for _, l := range d.Loops {
			if x.outer[l] == nil {
				at = nil
				break
			}
			at = at.Times(b.k.Loops[l].Extent()).Add(x.outer[l])
		}
		b.at[i] = at
	}
}

// operand gives the number that an operand of a stage has in the kernel.
func (x *chain) operand(o schedule.Operand) int {
	return slices.IndexFunc(x.k.Operands, func(p schedule.Operand) bool {
		return p.Buffer == o.Buffer && p.Mode == o.Mode && p.Name == o.Name
	})
}

// product makes a contraction of the rows of the block: the first writes the lines, column by column of blocks, the second reads them.
func (x *chain) product(body, list *[]tree.Stmt, buffers map[ir.NodeID]*schedule.Buffer, number int, k *schedule.Kernel, c *nest.Contraction) error {
	stage := x.stages[number]
	p, err := newContraction(k, c, &stage, &x.vars)
	if err != nil {
		return err
	}
	if p.block < p.dims[p.k].Extent && p.left.depth == 0 && p.block%p.sizes.stepK != 0 {
		return fmt.Errorf("partial sums of %d products are no whole steps of %d", p.block, p.sizes.stepK)
	}
	x.bind(p.builder, buffers, p.m, p.lineDim(number), number)
	if _, held := x.held[k.Operands[p.left.operand].Buffer]; held != (number == 2) || held != (p.left.depth == 0) || p.right.depth < 1 ||
		p.left.depth > 0 && p.left.depth != p.right.depth {
		return fmt.Errorf("tiles of operands are shared, but for the lines, which are already")
	}
	p.declareTiles(body, buffers)
	p.renameTiles(number)
	p.lane = x.lane
	p.registers(list)
	p.rowAt, p.rowLim = x.first, x.extent
	inner := []tree.Stmt{}
	column := p.variable("n")
	p.colAt, p.colLim = tree.Use(column), c.Col.Extent
	p.multiply(&inner)
	if number == 0 {
		p.epilogue(&inner, func(row, col *tree.Index) []tree.Stmt { return x.blank(p, row, col) })
	} else {
		p.epilogue(&inner, nil)
	}
	*list = append(*list, &tree.For{Var: column, From: tree.Const(0), To: tree.Const(c.Col.Extent), Step: p.sizes.blockN, Bind: tree.Serial, Body: inner}, tree.Barrier{})
	return nil
}

// lineDim is the dimension along the lines: the columns of the first product, what the second reduces.
func (x *contraction) lineDim(number int) int {
	if number == 0 {
		return x.n
	}
	return x.k
}

// renameTiles tells the tiles of stages apart.
func (x *contraction) renameTiles(number int) {
	for _, s := range []*staged{&x.left, &x.right} {
		if s.tile != nil {
			s.tile.Name = fmt.Sprintf("stage%d_%s", number, s.tile.Name)
		}
	}
}

// blank fills the lines of rows behind the last with 0, so that what is done with them is defined.
func (x *chain) blank(p *contraction, row, col *tree.Index) []tree.Stmt {
	v := p.variable("col")
	zero := constant(tree.Access{Memory: x.lines, At: []*tree.Index{row.Add(x.first.Times(-1)), tree.Use(v)}}, scalar.Zero(x.lines.Type))
	return append([]tree.Stmt{&tree.Let{Var: v, Value: col}}, guarded([]tree.Cond{{Var: v, Limit: tree.Const(x.lines.Dims[1].End)}}, zero)...)
}

// middle makes the work on the lines: a group of lanes has each.
func (x *chain) middle(list *[]tree.Stmt, buffers map[ir.NodeID]*schedule.Buffer, width int64) error {
	r, err := newReduction(x.c.Stages[1], x.c.Middle, width, &x.vars)
	if err != nil {
		return err
	}
	row := slices.IndexFunc(r.dims, func(d nest.Dim) bool { return slices.Equal(d.Loops, []int{x.row}) })
	if row < 0 {
		return fmt.Errorf("the rows of a block are none of the lines'")
	}
	x.bind(r.builder, buffers, row, r.element, 1)
	r.lane = r.bound(list, "own", x.lane.Mod(width))
	own := r.let(list, "row", x.lane.Div(width))
	at := own
	if x.extent%x.rows != 0 { // lines behind the last read of other operands what belongs to that
		at = r.let(list, "row", own.Min(x.first.Times(-1).Plus(x.extent-1)))
	}
	r.at[row] = r.let(list, "m", x.first.Add(at))
	r.row = func() *tree.Index { return own }
	for i, o := range r.k.Operands { // results take the place of what they are made of
		if o.Mode == schedule.Read && r.memory[i] == x.lines {
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
