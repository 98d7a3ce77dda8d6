package codegen

import (
	"fmt"

	"tensortapestry.org/tapc/backends/codegen/builder"
	"tensortapestry.org/tapc/backends/tree"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
)

// contraction makes the tree of a product C[m,n] = epilogue(sum over k of A[m,k]·B[n,k]) on a GPU: a block has a macro-tile of the results, of which each lane has a
// register tile, with tiles of both operands, stepK deep, in shared memory. Its dimensions are the batch, m, n and k.
type contraction struct {
	*builder.Builder
	c           *nest.Contraction
	left, right side
	stepK       int64
	lane        *tree.Index
	acc, total  *tree.Memory
}

// side is one operand of a product, and the dimension of the results that it follows.
type side struct {
	operand, along int
	block, own     int64        // of that dimension: in a macro-tile, and in a register tile
	depth          int64        // tiles that have room; 0 if the operand is read where it is
	byK            bool         // neighbours in memory are along k
	count          int64        // neighbouring elements that are copied at once
	tile           *tree.Memory // stage, k, row
	first          *tree.Index  // of the macro-tile
	lane           *tree.Index  // of the register tile, in the macro-tile
}

// newContraction prepares a stage.
func newContraction(n *tree.Names, k *schedule.Kernel, c *nest.Contraction, s *schedule.Stage) (*contraction, error) {
	tm, tn, tk := s.Tile(schedule.RoleM), s.Tile(schedule.RoleN), s.Tile(schedule.RoleK)
	switch {
	case c.Window != nil || c.Padded != nil:
		return nil, fmt.Errorf("an operand is read through a window or with a border of zeros")
	case c.Computed != nil:
		return nil, fmt.Errorf("a factor is computed")
	case len(c.Reduction) > 1:
		return nil, fmt.Errorf("%d dimensions are reduced, and at most one can be", len(c.Reduction))
	case len(tm) != 2 || len(tn) != 2 || len(tk) != 1:
		return nil, fmt.Errorf("a contraction has tiles m of a block and a lane, n of a block and a lane, and k")
	case tm[1] < 1 || tn[1] < 1 || tk[0] < 1 || tm[0] < 1 || tn[0] < 1 || tm[0]%tm[1] != 0 || tn[0]%tn[1] != 0:
		return nil, fmt.Errorf("tiles of a block are whole tiles of lanes")
	case s.Micro != "fma":
		return nil, fmt.Errorf("there is no micro-kernel %q", s.Micro)
	}
	depth := nest.Dim{Extent: 1} // of one value if nothing is reduced
	if len(c.Reduction) == 1 {
		depth = c.Reduction[0]
	}
	x := &contraction{Builder: builder.New(n, k, c.Views, append(append([]nest.Dim{}, c.Batch...), c.Row, c.Col, depth)), c: c, stepK: tk[0]}
	x.left = side{operand: c.Left, along: x.m(), block: tm[0], own: tm[1], depth: s.Depth(k.Operands[c.Left].Name)}
	x.right = side{operand: c.Right, along: x.n(), block: tn[0], own: tn[1], depth: s.Depth(k.Operands[c.Right].Name)}
	if x.block() < x.length() && x.block()%tk[0] != 0 {
		return nil, fmt.Errorf("partial sums of %d products are no whole steps of %d", x.block(), tk[0])
	}
	return x, nil
}

// The dimensions of rows, columns and what is reduced.
func (x *contraction) m() int { return len(x.c.Batch) }
func (x *contraction) n() int { return len(x.c.Batch) + 1 }
func (x *contraction) z() int { return len(x.c.Batch) + 2 }

// length is how many products a sum has.
func (x *contraction) length() int64 { return x.Dims[x.z()].Extent }

// block is how many of them a partial sum has.
func (x *contraction) block() int64 {
	if x.K.Sums > 0 {
		return min(x.K.Sums, x.length())
	}
	return min(nest.PartialSum(x.c), x.length())
}

// accumulators makes the memory of a register tile's sums.
func (x *contraction) accumulators(name string) *tree.Memory {
	m := tree.NewMemory(x.Fresh(name), x.c.Sum.Type, tree.Registers, 0, x.left.own, x.right.own)
	m.Acc = true
	return m
}

// lanes is how many there are in a block.
func (x *contraction) lanes() int64 {
	return x.left.block / x.left.own * (x.right.block / x.right.own)
}

// contractionBlocks makes a kernel that is one contraction: a block for every macro-tile and index of the batch.
func contractionBlocks(f *tree.Func, a *nest.Analysis, c *nest.Contraction, s *schedule.Stage) error {
	x, err := newContraction(new(tree.Names), a.Kernel, c, s)
	if err != nil {
		return err
	}
	f.Operands = x.Operands()
	if x.left.depth < 1 || x.left.depth != x.right.depth {
		return fmt.Errorf("tiles of both operands are shared, in the same depth")
	}
	block, lane := x.Variable("block"), x.Variable("lane")
	extents := extentsOf(c.Batch, ceil(c.Row.Extent, x.left.block), ceil(c.Col.Extent, x.right.block))
	var body, lanes []tree.Stmt
	x.declareTiles(&body, a.Buffers)
	at := builder.Delinearize(x.Names, &lanes, tree.Use(block), extents)
	copy(x.At, at[:len(c.Batch)])
	x.lane = tree.Use(lane)
	x.left.first = x.Let(&lanes, "m", at[x.m()].Times(x.left.block))
	x.right.first = x.Let(&lanes, "n", at[x.n()].Times(x.right.block))
	x.registers(&lanes)
	x.multiply(&lanes)
	x.epilogue(&lanes, nil)
	body = append(body, &tree.For{Var: lane, From: tree.Const(0), To: tree.Const(x.lanes()), Step: 1, Bind: tree.Lane, Body: lanes})
	parallel(f, block, productOf(extents), tree.Block, body)
	return nil
}

// shared gives the operands of which tiles are copied to shared memory.
func (x *contraction) shared() []*side {
	var out []*side
	for _, s := range []*side{&x.left, &x.right} {
		if s.depth > 0 {
			out = append(out, s)
		}
	}
	return out
}

// declareTiles declares the tiles in shared memory. Their elements are in the order of the operand's. A vector is left between neighbours in the
// slower dimension, so that what lanes read there does not fall on the same bank.
func (x *contraction) declareTiles(list *[]tree.Stmt, buffers map[ir.NodeID]*schedule.Buffer) {
	for _, s := range x.shared() {
		v, o := x.Views[s.operand], x.K.Operands[s.operand]
		s.byK = x.Dims[x.z()].Step(v) == 1 && x.Dims[s.along].Step(v) != 1
		s.count = x.vector(s, buffers[o.Buffer])
		row, k, size := int64(1), s.block+s.count, x.stepK*(s.block+s.count)
		if s.byK {
			row, k, size = x.stepK+s.count, 1, s.block*(x.stepK+s.count)
		}
		s.tile = &tree.Memory{Name: fmt.Sprintf("tile%d", s.operand), Type: o.Type(), Scope: tree.Shared, Operand: -1,
			Dims: []tree.Dim{{End: s.depth, Stride: size}, {End: x.stepK, Stride: k}, {End: s.block, Stride: row}}}
		*list = append(*list, &tree.Declare{Memory: s.tile})
	}
}

// vector is how many neighbours of an operand can be copied at once: 16 bytes of them if all addresses are multiples of that, else one.
func (x *contraction) vector(s *side, b *schedule.Buffer) int64 {
	m := x.Load(s.operand).Memory
	n := 16 / int64(m.Type.Size())
	inner, size := s.along, s.block
	if s.byK {
		inner, size = x.z(), x.stepK
	}
	if m.Dims[inner].Stride != 1 || x.Dims[inner].Extent%n != 0 || size%n != 0 || m.Base%n != 0 || b.Align%16 != 0 || b.Offset%16 != 0 {
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
	across := x.right.block / x.right.own
	x.left.lane = x.Let(list, "r", x.lane.Div(across).Times(x.left.own))
	x.right.lane = x.Let(list, "c", x.lane.Mod(across).Times(x.right.own))
	x.acc = x.accumulators("acc")
	x.total = x.acc
	*list = append(*list, &tree.Declare{Memory: x.acc})
	if x.block() < x.length() {
		x.total = x.accumulators("total")
		*list = append(*list, &tree.Declare{Memory: x.total})
	}
}

// clear sets accumulators to 0.
func (x *contraction) clear(m *tree.Memory) tree.Stmt {
	return x.eachCell(func(r, c *tree.Index) []tree.Stmt {
		return []tree.Stmt{builder.Constant(tree.Access{Memory: m, At: []*tree.Index{r, c}}, scalar.Identity(scalar.Add, x.c.Sum.Type))}
	})
}

// eachCell runs something for every cell of the register tile.
func (x *contraction) eachCell(body func(r, c *tree.Index) []tree.Stmt) tree.Stmt {
	r, c := x.Variable("i"), x.Variable("j")
	return unrolled(r, x.left.own, unrolled(c, x.right.own, body(tree.Use(r), tree.Use(c))...))
}

// multiply makes the loop over k: the copies of coming tiles are under way while those that are there are multiplied. Without anything to
// copy, it is the dot alone.
func (x *contraction) multiply(list *[]tree.Stmt) {
	*list = append(*list, x.clear(x.acc))
	if x.total != x.acc {
		*list = append(*list, x.clear(x.total))
	}
	steps := ceil(x.length(), x.stepK)
	depth := max(x.left.depth, x.right.depth)
	for s := range depth - 1 { // the first tiles
		if s < steps {
			*list = append(*list, x.fetch(tree.Const(s), depth)...)
		}
		*list = append(*list, tree.Commit{})
	}
	step := x.Variable("step")
	at := tree.Use(step)
	var body []tree.Stmt
	if depth == 1 {
		body = append(body, x.fetch(at, depth)...)
	} else {
		next := x.Variable("next")
		body = append(body, &tree.Let{Var: next, Value: at.Plus(depth - 1)},
			&tree.If{Conds: []tree.Cond{{Var: next, Limit: tree.Const(steps)}}, Then: x.fetch(tree.Use(next), depth)})
	}
	body = append(body, tree.Commit{}, tree.Wait{Pending: depth - 1}, tree.Barrier{}, x.dot(at, depth))
	if x.total != x.acc {
		left := x.Variable("left")
		body = append(body, &tree.Let{Var: left, Value: at.Plus(1).Mod(x.block() / x.stepK)},
			&tree.If{Conds: []tree.Cond{{Var: left, Limit: tree.Const(1)}}, Then: []tree.Stmt{x.flush(), x.clear(x.acc)}})
	}
	body = append(body, tree.Barrier{})
	*list = append(*list, &tree.For{Var: step, From: tree.Const(0), To: tree.Const(steps), Step: 1, Bind: tree.Serial, Body: body}, tree.Wait{})
	if x.total != x.acc && steps%(x.block()/x.stepK) != 0 {
		*list = append(*list, x.flush())
	}
}

// flush adds a partial sum to the total.
func (x *contraction) flush() tree.Stmt {
	return x.eachCell(func(r, c *tree.Index) []tree.Stmt {
		at := []*tree.Index{r, c}
		return []tree.Stmt{builder.Stored(tree.Access{Memory: x.total, At: at}, tree.Access{Memory: x.acc, At: at}, scalar.Add)}
	})
}

// dot multiplies the tiles of a step.
func (x *contraction) dot(step *tree.Index, depth int64) tree.Stmt {
	r, c, k := x.Variable("i"), x.Variable("j"), x.Variable("k")
	first := step.Times(x.stepK)
	d := &tree.Dot{Acc: x.acc, R: r, C: c, K: k, From: first, To: first.Plus(x.stepK), Micro: "fma"}
	if x.left.depth == 0 { // what is not copied has no zeros behind
		d.To = d.To.Min(tree.Const(x.length()))
	}
	d.A = x.factor(&x.left, step.Mod(depth), tree.Use(k), tree.Use(r), first)
	d.B = x.factor(&x.right, step.Mod(depth), tree.Use(k), tree.Use(c), first)
	return d
}

// factor gives the element of an operand in the place of the tile.
func (x *contraction) factor(s *side, stage, k, cell, from *tree.Index) tree.Access {
	row := s.lane.Add(cell)
	if s.depth > 0 {
		return tree.Access{Memory: s.tile, At: []*tree.Index{stage, k.Add(from.Times(-1)), row}}
	}
	return x.LoadAt(s.operand, s.along, s.first.Add(row), x.z(), k)
}

// fetch copies the tiles of a step, all lanes together; what is outside of the operands is 0.
func (x *contraction) fetch(step *tree.Index, depth int64) []tree.Stmt {
	var out []tree.Stmt
	for _, s := range x.shared() {
		out = append(out, fetchTile(x, s, step, depth))
	}
	return out
}

func fetchTile(x *contraction, s *side, step *tree.Index, depth int64) tree.Stmt {
	part, number, k, row, at := x.Variable("e"), x.Variable("x"), x.Variable("k"), x.Variable("row"), x.Variable("k")
	copies := s.block * x.stepK / s.count
	outer, inner, other := s.block/s.count, &tree.Let{Var: row}, &tree.Let{Var: k}
	if s.byK {
		outer, inner, other = x.stepK/s.count, other, inner
	}
	inner.Value, other.Value = tree.Use(number).Mod(outer).Times(s.count), tree.Use(number).Div(outer)
	place := x.Variable("place")
	dst := tree.Access{Memory: s.tile, At: []*tree.Index{step.Mod(depth), tree.Use(k), tree.Use(row)}}
	src := x.LoadAt(s.operand, s.along, tree.Use(place), x.z(), tree.Use(at))
	conds := append(behind(place, x.Dims[s.along].Extent, s.block), behind(at, x.length(), x.stepK)...)
	copy := tree.Stmt(&tree.Copy{Dst: dst, Src: src, Count: s.count, Async: tree.Asynchronous(s.count * int64(s.tile.Type.Size()))})
	if len(conds) > 0 {
		copy = &tree.If{Conds: conds, Then: []tree.Stmt{copy}, Else: zeros(dst, s)}
	}
	body := []tree.Stmt{inner, other, &tree.Let{Var: place, Value: s.first.Add(tree.Use(row))}, &tree.Let{Var: at, Value: step.Times(x.stepK).Add(tree.Use(k))}, copy}
	body = guarded(behind(number, copies, x.lanes()), body...)
	return unrolled(part, ceil(copies, x.lanes()), append([]tree.Stmt{&tree.Let{Var: number, Value: tree.Use(part).Times(x.lanes()).Add(x.lane)}}, body...)...)
}

// zeros fills what is copied at once with 0.
func zeros(dst tree.Access, s *side) []tree.Stmt {
	along := 2
	if s.byK {
		along = 1
	}
	var out []tree.Stmt
	for i := range s.count {
		at := append([]*tree.Index{}, dst.At...)
		at[along] = at[along].Plus(i)
		out = append(out, builder.Constant(tree.Access{Memory: dst.Memory, At: at}, scalar.Zero(dst.Memory.Type)))
	}
	return out
}

// epilogue goes on with the sums of a lane's cells. Cells outside of the results are left out; outside says what is done there.
func (x *contraction) epilogue(list *[]tree.Stmt, outside func(row, col *tree.Index) []tree.Stmt) {
	*list = append(*list, x.eachCell(func(r, c *tree.Index) []tree.Stmt {
		row, col := x.Variable("row"), x.Variable("col")
		out := []tree.Stmt{&tree.Let{Var: row, Value: x.left.first.Add(x.left.lane).Add(r)}, &tree.Let{Var: col, Value: x.right.first.Add(x.right.lane).Add(c)}}
		x.At[x.m()], x.At[x.n()] = tree.Use(row), tree.Use(col)
		x.Sums[x.c.Sum] = func() tree.Access { return tree.Access{Memory: x.total, At: []*tree.Index{r, c}} }
		cell := guarded(append(behind(row, x.c.Row.Extent, x.left.block), behind(col, x.c.Col.Extent, x.right.block)...), x.statements()...)
		if branch, ok := cell[0].(*tree.If); ok && outside != nil {
			branch.Else = outside(tree.Use(row), tree.Use(col))
		}
		return append(out, cell...)
	}))
}

// statements makes the kernel's statements at the present cell.
func (x *contraction) statements() []tree.Stmt {
	var out []tree.Stmt
	for i, s := range x.K.Statements {
		if s.Store >= 0 {
			out = append(out, x.Statement(x.Load(int(s.Store)), s))
			continue
		}
		to := tree.Access{Memory: tree.NewMemory(x.Fresh(fmt.Sprintf("v%d_", i)), s.Value.Type, tree.Registers, 0)}
		out = append(out, &tree.Declare{Memory: to.Memory}, x.Statement(to, s))
		x.Locals[i] = builder.Local{Kept: func() tree.Access { return to }}
	}
	return out
}
