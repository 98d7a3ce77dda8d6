package codegen

import (
	"fmt"

	"tensortapestry.org/tapc/backends/tree"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
)

// contraction makes the tree of C[m,n] = epilogue(sum over k of A[m,k]·B[n,k]) of one block: a macro-tile of blockM rows and blockN columns, of
// which each lane has a register tile of laneM by laneN, with tiles of A and B, stepK deep, in shared memory.
type contraction struct {
	*builder
	c              *nest.Contraction
	sizes          contractionSizes
	m, n, k        int // dimensions
	left, right    staged
	lane           *tree.Index
	laneRow        *tree.Index // of the register tile in the macro-tile
	laneCol        *tree.Index
	acc, total     *tree.Memory
	block          int64 // products in a partial sum
	rowAt, colAt   *tree.Index
	rowLim, colLim int64
}

type contractionSizes struct{ blockM, blockN, laneM, laneN, stepK, lanes int64 }

// staged is an operand of which tiles are copied to shared memory, or which is there already.
type staged struct {
	operand int
	along   int          // the dimension of its rows: m or n
	tile    *tree.Memory // stage, k, row
	size    int64        // rows
	depth   int64
	count   int64 // neighbouring elements that are copied at once
	byK     bool  // neighbours are along k
}

// contractionSizesOf reads a stage.
func contractionSizesOf(s *schedule.Stage) (z contractionSizes, err error) {
	m, n, k := s.Tile(schedule.RoleM), s.Tile(schedule.RoleN), s.Tile(schedule.RoleK)
	if len(m) != 2 || len(n) != 2 || len(k) != 1 {
		return z, fmt.Errorf("a contraction has tiles m of a block and a lane, n of a block and a lane, and k")
	}
	z = contractionSizes{blockM: m[0], laneM: m[1], blockN: n[0], laneN: n[1], stepK: k[0]}
	if z.laneM < 1 || z.laneN < 1 || z.stepK < 1 || z.blockM%z.laneM != 0 || z.blockN%z.laneN != 0 || z.blockM < 1 || z.blockN < 1 {
		return z, fmt.Errorf("tiles of a block are whole tiles of lanes")
	}
	z.lanes = z.blockM / z.laneM * (z.blockN / z.laneN)
	return z, nil
}

// newContraction prepares a stage; the dimensions are the batch, m, n and k.
func newContraction(k *schedule.Kernel, c *nest.Contraction, s *schedule.Stage, vars *int) (*contraction, error) {
	z, err := contractionSizesOf(s)
	if err != nil {
		return nil, err
	}
	switch {
	case c.Window != nil || c.Padded != nil:
		return nil, fmt.Errorf("an operand is read through a window or with a border of zeros")
	case len(c.Reduction) > 1:
		return nil, fmt.Errorf("%d dimensions are reduced, and at most one can be", len(c.Reduction))
	case s.Micro != "fma":
		return nil, fmt.Errorf("there is no micro-kernel %q", s.Micro)
	}
	x := &contraction{c: c, sizes: z, m: len(c.Batch), n: len(c.Batch) + 1, k: len(c.Batch) + 2}
	x.builder = newBuilder(k, c.Views, contractionDims(c), vars)
	length := x.dims[x.k].Extent
	if x.block = k.Sums; x.block == 0 || x.block >= length {
		x.block = length
	}
	if x.block < length && x.block%z.stepK != 0 {
		return nil, fmt.Errorf("partial sums of %d products are no whole steps of %d", x.block, z.stepK)
	}
	x.left = staged{operand: c.Left, along: x.m, size: z.blockM, depth: s.Depth(k.Operands[c.Left].Name)}
	x.right = staged{operand: c.Right, along: x.n, size: z.blockN, depth: s.Depth(k.Operands[c.Right].Name)}
	return x, nil
}

// contractionDims gives the dimensions of a contraction: the batch, m, n and k, of one value if nothing is reduced.
func contractionDims(c *nest.Contraction) []nest.Dim {
	k := nest.Dim{Extent: 1}
	if len(c.Reduction) == 1 {
		k = c.Reduction[0]
	}
	return append(append([]nest.Dim{}, c.Batch...), c.Row, c.Col, k)
}

// contractionBlocks makes a kernel that is one contraction: a block for every macro-tile and place of the batch.
func contractionBlocks(f *tree.Func, k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer, c *nest.Contraction, s *schedule.Stage) error {
	vars := 0
	x, err := newContraction(k, c, s, &vars)
	if err != nil {
		return err
	}
	f.Operands = x.operands(buffers, func(int) bool { return true })
	if x.left.depth < 1 || x.right.depth < 1 || x.left.depth != x.right.depth {
		return fmt.Errorf("tiles of both operands are shared, in the same depth")
	}
	block, lane := x.variable("block"), x.variable("lane")
	var extents []int64
	for _, d := range c.Batch {
		extents = append(extents, d.Extent)
	}
	extents = append(extents, ceil(c.Row.Extent, x.sizes.blockM), ceil(c.Col.Extent, x.sizes.blockN))
	blocks := int64(1)
	for _, n := range extents {
		blocks *= n
	}
	var body, lanes []tree.Stmt
	x.declareTiles(&body, buffers)
	at := x.delinearize(&lanes, tree.Use(block), extents)
	copy(x.at, at[:len(c.Batch)])
	x.lane = tree.Use(lane)
	x.rowAt, x.rowLim = x.let(&lanes, "m", at[x.m].Times(x.sizes.blockM)), c.Row.Extent
	x.colAt, x.colLim = x.let(&lanes, "n", at[x.n].Times(x.sizes.blockN)), c.Col.Extent
	x.registers(&lanes)
	x.multiply(&lanes)
	x.epilogue(&lanes, nil)
	body = append(body, &tree.For{Var: lane, From: tree.Const(0), To: tree.Const(x.sizes.lanes), Step: 1, Bind: tree.Lane, Body: lanes})
	f.Body = []tree.Stmt{&tree.For{Var: block, From: tree.Const(0), To: tree.Const(blocks), Step: 1, Bind: tree.Block, Body: body}}
	return nil
}

// declareTiles declares the tiles in shared memory. Their elements are in the order of the operand's. A vector is left between neighbours in the
// slower dimension, so that what lanes read there does not fall on the same bank.
func (x *contraction) declareTiles(list *[]tree.Stmt, buffers map[ir.NodeID]*schedule.Buffer) {
	for _, s := range []*staged{&x.left, &x.right} {
		if s.depth == 0 {
			continue
		}
		v := x.views[s.operand]
		s.byK = x.dims[x.k].Step(v) == 1 && x.dims[s.along].Step(v) != 1
		s.count = x.vector(s, buffers)
		row, k, size := int64(1), s.size+s.count, x.sizes.stepK*(s.size+s.count)
		if s.byK {
			row, k, size = x.sizes.stepK+s.count, 1, s.size*(x.sizes.stepK+s.count)
		}
		s.tile = &tree.Memory{Name: fmt.Sprintf("tile%d", s.operand), Type: x.builder.k.Operands[s.operand].Type(), Scope: tree.Shared, Operand: -1,
			Dims: []tree.Dim{{End: s.depth, Stride: size}, {End: x.sizes.stepK, Stride: k}, {End: s.size, Stride: row}}}
		*list = append(*list, &tree.Declare{Memory: s.tile})
	}
}

// vector is how many neighbours of an operand can be copied at once: 16 bytes of them if all addresses are multiples of that, else one.
func (x *contraction) vector(s *staged, buffers map[ir.NodeID]*schedule.Buffer) int64 {
	o, m := x.builder.k.Operands[s.operand], x.memory[s.operand]
	n := 16 / int64(o.Type().Size())
	b := buffers[o.Buffer]
	inner := s.along
	size := s.size
	if s.byK {
		inner, size = x.k, x.sizes.stepK
	}
	if m.Dims[inner].Stride != 1 || x.dims[inner].Extent%n != 0 || size%n != 0 || m.Base%n != 0 || b.Align%16 != 0 || b.Offset%16 != 0 {
		return 1
	}
	for i, d := range m.Dims {
		if i != inner && d.Stride%n != 0 {
			return 1
		}
	}
	return n
}

// registers declares the accumulators of a lane, and finds its register tile.
func (x *contraction) registers(list *[]tree.Stmt) {
	z := x.sizes
	across := z.blockN / z.laneN
	x.laneRow = x.let(list, "r", x.lane.Div(across).Times(z.laneM))
	x.laneCol = x.let(list, "c", x.lane.Mod(across).Times(z.laneN))
	x.acc = x.accumulators("acc")
	x.total = x.acc
	*list = append(*list, &tree.Declare{Memory: x.acc})
	if x.block < x.dims[x.k].Extent {
		x.total = x.accumulators("total")
		*list = append(*list, &tree.Declare{Memory: x.total})
	}
}

func (x *contraction) accumulators(name string) *tree.Memory {
	m := tree.NewMemory(fmt.Sprintf("%s%d", name, *x.vars), x.c.Sum.Type, tree.Registers, 0, x.sizes.laneM, x.sizes.laneN)
	*x.vars++
	m.Acc = true
	return m
}

// clear sets accumulators to 0.
func (x *contraction) clear(m *tree.Memory) tree.Stmt {
	return x.eachCell(func(r, c *tree.Index) []tree.Stmt {
		return []tree.Stmt{constant(tree.Access{Memory: m, At: []*tree.Index{r, c}}, scalar.Identity(scalar.Add, x.c.Sum.Type))}
	})
}

// eachCell runs something for every cell of the register tile.
func (x *contraction) eachCell(body func(r, c *tree.Index) []tree.Stmt) tree.Stmt {
	r, c := x.variable("i"), x.variable("j")
	return unrolled(r, x.sizes.laneM, unrolled(c, x.sizes.laneN, body(tree.Use(r), tree.Use(c))...))
}

func unrolled(v *tree.Var, n int64, body ...tree.Stmt) *tree.For {
	return &tree.For{Var: v, From: tree.Const(0), To: tree.Const(n), Step: 1, Bind: tree.Unrolled, Body: body}
}

// multiply makes the loop over k: the copies of coming tiles are under way while those that are there are multiplied. Without anything to
// copy, it is the dot alone.
func (x *contraction) multiply(list *[]tree.Stmt) {
	*list = append(*list, x.clear(x.acc))
	if x.total != x.acc {
		*list = append(*list, x.clear(x.total))
	}
	steps := ceil(x.dims[x.k].Extent, x.sizes.stepK)
	depth := max(x.left.depth, x.right.depth)
	for s := range depth - 1 { // the first tiles
		if s < steps {
			*list = append(*list, x.fetch(tree.Const(s), depth)...)
		}
		*list = append(*list, tree.Commit{})
	}
	step := x.variable("step")
	at := tree.Use(step)
	var body []tree.Stmt
	if depth == 1 {
		body = append(body, x.fetch(at, depth)...)
	} else {
		next := x.variable("next")
		body = append(body, &tree.Let{Var: next, Value: at.Plus(depth - 1)},
			&tree.If{Conds: []tree.Cond{{Var: next, Limit: tree.Const(steps)}}, Then: x.fetch(tree.Use(next), depth)})
	}
	body = append(body, tree.Commit{}, tree.Wait{Pending: depth - 1}, tree.Barrier{}, x.dot(at, depth))
	if x.total != x.acc {
		body = append(body, x.flushAfter(at)...)
	}
	body = append(body, tree.Barrier{})
	*list = append(*list, &tree.For{Var: step, From: tree.Const(0), To: tree.Const(steps), Step: 1, Bind: tree.Serial, Body: body}, tree.Wait{})
	if x.total != x.acc && steps%(x.block/x.sizes.stepK) != 0 {
		*list = append(*list, x.flush())
	}
}

// flushAfter adds a partial sum to the total behind its last step.
func (x *contraction) flushAfter(step *tree.Index) []tree.Stmt {
	left := x.variable("left")
	n := x.block / x.sizes.stepK
	return []tree.Stmt{&tree.Let{Var: left, Value: step.Plus(1).Mod(n)},
		&tree.If{Conds: []tree.Cond{{Var: left, Limit: tree.Const(1)}}, Then: []tree.Stmt{x.flush(), x.clear(x.acc)}}}
}

func (x *contraction) flush() tree.Stmt {
	return x.eachCell(func(r, c *tree.Index) []tree.Stmt {
		at := []*tree.Index{r, c}
		return []tree.Stmt{&tree.Map{Dst: tree.Access{Memory: x.total, At: at}, Monoid: scalar.Add,
			Value: scalar.NewLoad(0, x.c.Sum.Type), Args: []tree.Access{{Memory: x.acc, At: at}}}}
	})
}

// dot multiplies the tiles of a step.
func (x *contraction) dot(step *tree.Index, depth int64) tree.Stmt {
	r, c, k := x.variable("i"), x.variable("j"), x.variable("k")
	first := step.Times(x.sizes.stepK)
	d := &tree.Dot{Acc: x.acc, R: r, C: c, K: k, From: first, To: first.Plus(x.sizes.stepK), Micro: "fma"}
	if x.left.depth == 0 { // what is not copied has no zeros behind
		d.To = d.To.Min(tree.Const(x.dims[x.k].Extent))
	}
	d.A = x.factor(&x.left, step.Mod(depth), tree.Use(k), x.laneRow.Add(tree.Use(r)), first)
	d.B = x.factor(&x.right, step.Mod(depth), tree.Use(k), x.laneCol.Add(tree.Use(c)), first)
	return d
}

// factor gives the element of an operand in the place of the tile.
func (x *contraction) factor(s *staged, stage, k, row, from *tree.Index) tree.Access {
	if s.depth > 0 {
		return tree.Access{Memory: s.tile, At: []*tree.Index{stage, k.Add(from.Times(-1)), row}}
	}
	saved := []*tree.Index{x.at[s.along], x.at[x.k]}
	first := x.rowAt
	if s.along == x.n {
		first = x.colAt
	}
	x.at[s.along], x.at[x.k] = first.Add(row), k
	a := x.load(s.operand)
	x.at[s.along], x.at[x.k] = saved[0], saved[1]
	return a
}

// fetch copies the tiles of a step, all lanes together; what is outside of the operands is 0.
func (x *contraction) fetch(step *tree.Index, depth int64) []tree.Stmt {
	var out []tree.Stmt
	for _, s := range []*staged{&x.left, &x.right} {
		if s.depth > 0 {
			out = append(out, x.fetchTile(s, step, depth)...)
		}
	}
	return out
}

func (x *contraction) fetchTile(s *staged, step *tree.Index, depth int64) []tree.Stmt {
	first, limit := x.rowAt, x.rowLim
	if s.along == x.n {
		first, limit = x.colAt, x.colLim
	}
	part, number, k, row, at := x.variable("e"), x.variable("x"), x.variable("k"), x.variable("row"), x.variable("k")
	copies := s.size * x.sizes.stepK / s.count
	outer, inner := s.size/s.count, &tree.Let{Var: row}
	other := &tree.Let{Var: k}
	if s.byK {
		outer, inner, other = x.sizes.stepK/s.count, &tree.Let{Var: k}, &tree.Let{Var: row}
	}
	inner.Value, other.Value = tree.Use(number).Mod(outer).Times(s.count), tree.Use(number).Div(outer)
	place := x.variable("place")
	dst := tree.Access{Memory: s.tile, At: []*tree.Index{step.Mod(depth), tree.Use(k), tree.Use(row)}}
	saved := []*tree.Index{x.at[s.along], x.at[x.k]}
	x.at[s.along], x.at[x.k] = tree.Use(place), tree.Use(at)
	src := x.load(s.operand)
	x.at[s.along], x.at[x.k] = saved[0], saved[1]
	var conds []tree.Cond
	if limit%s.size != 0 {
		conds = append(conds, tree.Cond{Var: place, Limit: tree.Const(limit)})
	}
	if x.dims[x.k].Extent%x.sizes.stepK != 0 {
		conds = append(conds, tree.Cond{Var: at, Limit: tree.Const(x.dims[x.k].Extent)})
	}
	copy := tree.Stmt(&tree.Copy{Dst: dst, Src: src, Count: s.count, Async: tree.Asynchronous(s.count * int64(s.tile.Type.Size()))})
	if len(conds) > 0 {
		copy = &tree.If{Conds: conds, Then: []tree.Stmt{copy}, Else: x.zeros(dst, s)}
	}
	body := []tree.Stmt{inner, other, &tree.Let{Var: place, Value: first.Add(tree.Use(row))}, &tree.Let{Var: at, Value: step.Times(x.sizes.stepK).Add(tree.Use(k))}, copy}
	numbered := &tree.Let{Var: number, Value: tree.Use(part).Times(x.sizes.lanes).Add(x.lane)}
	if copies%x.sizes.lanes != 0 {
		body = []tree.Stmt{numbered, &tree.If{Conds: []tree.Cond{{Var: number, Limit: tree.Const(copies)}}, Then: body}}
	} else {
		body = append([]tree.Stmt{numbered}, body...)
	}
	return []tree.Stmt{unrolled(part, ceil(copies, x.sizes.lanes), body...)}
}

// zeros fills what is copied at once with 0.
func (x *contraction) zeros(dst tree.Access, s *staged) []tree.Stmt {
	along := 2
	if s.byK {
		along = 1
	}
	var out []tree.Stmt
	for i := range s.count {
		at := append([]*tree.Index{}, dst.At...)
		at[along] = at[along].Plus(i)
		out = append(out, constant(tree.Access{Memory: dst.Memory, At: at}, scalar.Zero(dst.Memory.Type)))
	}
	return out
}

// epilogue goes on with the sums of a lane's cells. Cells outside of the results are left out; outside says what is done there.
func (x *contraction) epilogue(list *[]tree.Stmt, outside func(row, col *tree.Index) []tree.Stmt) {
	*list = append(*list, x.eachCell(func(r, c *tree.Index) []tree.Stmt {
		row, col := x.variable("row"), x.variable("col")
		out := []tree.Stmt{&tree.Let{Var: row, Value: x.rowAt.Add(x.laneRow).Add(r)}, &tree.Let{Var: col, Value: x.colAt.Add(x.laneCol).Add(c)}}
		x.at[x.m], x.at[x.n] = tree.Use(row), tree.Use(col)
		x.sums[x.c.Sum] = func() tree.Access { return tree.Access{Memory: x.total, At: []*tree.Index{r, c}} }
		var conds []tree.Cond
		if x.rowLim%x.sizes.blockM != 0 {
			conds = append(conds, tree.Cond{Var: row, Limit: tree.Const(x.rowLim)})
		}
		if x.colLim%x.sizes.blockN != 0 {
			conds = append(conds, tree.Cond{Var: col, Limit: tree.Const(x.colLim)})
		}
		cell := guarded(conds, x.statements()...)
		if branch, ok := cell[0].(*tree.If); ok && outside != nil {
			branch.Else = outside(tree.Use(row), tree.Use(col))
		}
		return append(out, cell...)
	}))
}

// statements makes the kernel's statements at the present cell.
func (x *contraction) statements() []tree.Stmt {
	var out []tree.Stmt
	for i, s := range x.builder.k.Statements {
		if s.Store >= 0 {
			m := x.compute(x.load(int(s.Store)), s.Value, tree.NoMonoid)
			m.About = s.Name
			out = append(out, m)
			continue
		}
		kept := tree.NewMemory(fmt.Sprintf("v%d_%d", i, *x.vars), s.Value.Type, tree.Registers, 0)
		*x.vars++
		to := tree.Access{Memory: kept}
		m := x.compute(to, s.Value, tree.NoMonoid)
		m.About = s.Name
		out = append(out, &tree.Declare{Memory: kept}, m)
		x.locals[i] = local{kept: func() tree.Access { return to }}
	}
	return out
}

func ceil(a, b int64) int64 { return (a + b - 1) / b }
