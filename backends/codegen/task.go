package codegen

import (
	"fmt"

	"tensortapestry.org/tapc/backends/codegen/builder"
	"tensortapestry.org/tapc/backends/tree"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/ir/scalar"
)

// VectorMicros are the micro-kernels of CPUs, by name: the element type, and the lanes of a vector.
var VectorMicros = map[string]struct {
	Type  scalar.DType
	Lanes int64
}{
	"f32x4": {scalar.Float32, 4}, "f32x8": {scalar.Float32, 8}, "f32x16": {scalar.Float32, 16},
	"f64x2": {scalar.Float64, 2}, "f64x4": {scalar.Float64, 4}, "f64x8": {scalar.Float64, 8},
}

// task makes the tree of a product on a CPU: a task has a macro-tile of the results. Columns of the right operand are packed, a register
// tile's width at a time, in memory of the thread, and multiplied with all rows of the macro-tile.
type task struct {
	*product
	rows, cols [2]int64 // of a task, and of a register tile
	lanes      int64    // of a vector
	micro      string
	panel      *tree.Memory
}

func newTask(n *tree.Names, k *schedule.Kernel, c *nest.Contraction, s *schedule.Stage) (*task, error) {
	p, err := newProduct(n, k, c)
	if err != nil {
		return nil, err
	}
	tm, tn, micro := s.Tile(schedule.RoleM), s.Tile(schedule.RoleN), VectorMicros[s.Micro]
	switch {
	case len(tm) != 2 || len(tn) != 2 || s.Tile(schedule.RoleK) != nil:
		return nil, fmt.Errorf("a contraction has tiles m of a task and of registers, and n of a task and of registers")
	case tm[1] < 1 || tn[1] < 1 || tm[0] < 1 || tn[0] < 1 || tm[0]%tm[1] != 0 || tn[0]%tn[1] != 0:
		return nil, fmt.Errorf("tiles of a task are whole register tiles")
	case micro.Lanes == 0 || micro.Type != c.Sum.Type:
		return nil, fmt.Errorf("there is no micro-kernel %q for %s", s.Micro, c.Sum.Type)
	case tn[1]%micro.Lanes != 0:
		return nil, fmt.Errorf("a register tile of %d columns is no whole vectors of %d", tn[1], micro.Lanes)
	case tm[1]*tn[1] > maxRegisters*micro.Lanes:
		return nil, fmt.Errorf("a register tile has %d vectors of sums, and at most %d", tm[1]*tn[1]/micro.Lanes, maxRegisters)
	case c.Transposed:
		return nil, fmt.Errorf("the accumulators are transposed")
	case s.Depth(k.Operands[c.Left].Name) != 0 || s.Depth(k.Operands[c.Right].Name) != 1:
		return nil, fmt.Errorf("the right operand is packed by each thread, in one panel, and the left one is read where it is")
	}
	if blocks := ceil(p.length(), p.block()); blocks > nest.SumBlock {
		return nil, fmt.Errorf("a sum has %d partial sums, and at most %d can be added one by one", blocks, nest.SumBlock)
	}
	return &task{product: p, rows: [2]int64(tm), cols: [2]int64(tn), lanes: micro.Lanes, micro: s.Micro}, even(k, c.Col)
}

// maxRegisters is how many vectors of sums a register tile has at most: twice what any processor has, as those are named one by one.
const maxRegisters = 64

// contractionTasks makes a kernel that is one contraction, for the threads of a CPU.
func contractionTasks(f *tree.Func, a *nest.Analysis, c *nest.Contraction, s *schedule.Stage) error {
	x, err := newTask(new(tree.Names), a.Kernel, c, s)
	if err != nil {
		return err
	}
	f.Operands = x.Operands()
	number := x.Variable("task")
	extents := extentsOf(c.Batch, ceil(c.Row.Extent, x.rows[0]), ceil(c.Col.Extent, x.cols[0]))
	var body []tree.Stmt
	at := builder.Delinearize(x.Names, &body, tree.Use(number), extents)
	copy(x.At, at[:len(c.Batch)])
	row := x.Let(&body, "m", at[x.m()].Times(x.rows[0]))
	col := x.Let(&body, "n", at[x.n()].Times(x.cols[0]))
	x.declarePanel(&body)
	body = append(body, x.macroTile(row, col))
	parallel(f, number, productOf(extents), tree.Thread, body)
	return nil
}

// declarePanel declares where columns of the right operand are packed.
func (x *task) declarePanel(list *[]tree.Stmt) {
	x.panel = tree.NewMemory(x.Fresh("panel"), x.c.Sum.Type, tree.Private, 0, x.length(), x.cols[1])
	*list = append(*list, &tree.Declare{Memory: x.panel})
}

// macroTile makes the results of a task, from its first row and column on.
func (x *task) macroTile(firstRow, firstCol *tree.Index) tree.Stmt {
	col, row := x.Variable("col"), x.Variable("row")
	rows := &tree.For{Var: row, From: firstRow, To: firstRow.Plus(x.rows[0]).Min(tree.Const(x.c.Row.Extent)), Step: x.rows[1], Body: x.registerTiles(tree.Use(row), tree.Use(col))}
	return &tree.For{Var: col, From: firstCol, To: firstCol.Plus(x.cols[0]).Min(tree.Const(x.c.Col.Extent)), Step: x.cols[1],
		Body: []tree.Stmt{x.pack(tree.Use(col)), rows}}
}

// pack copies the columns of a register tile to the panel, with zeros behind the last.
func (x *task) pack(first *tree.Index) tree.Stmt {
	k, c, col := x.Variable("k"), x.Variable("c"), x.Variable("at")
	to := tree.Access{Memory: x.panel, At: []*tree.Index{tree.Use(k), tree.Use(c)}}
	copies := tree.Stmt(&tree.Copy{Dst: to, Src: x.LoadAt(x.c.Right, x.z(), tree.Use(k), x.n(), tree.Use(col)), Count: 1})
	if conds := behind(col, x.c.Col.Extent, x.cols[1]); len(conds) > 0 {
		copies = &tree.If{Conds: conds, Then: []tree.Stmt{copies}, Else: []tree.Stmt{builder.Constant(to, scalar.Zero(x.panel.Type))}}
	}
	inner := &tree.For{Var: c, From: tree.Const(0), To: tree.Const(x.cols[1]), Step: 1, Body: []tree.Stmt{&tree.Let{Var: col, Value: first.Add(tree.Use(c))}, copies}}
	return &tree.For{Var: k, From: tree.Const(0), To: tree.Const(x.length()), Step: 1, Body: []tree.Stmt{inner}}
}

// registerTiles makes the register tile from a row on: of all its height, but for the last rows of all.
func (x *task) registerTiles(row, col *tree.Index) []tree.Stmt {
	height, extent := x.rows[1], x.c.Row.Extent
	switch {
	case extent%height == 0:
		return x.tile(row, col, height)
	case extent < height:
		return x.tile(row, col, extent)
	}
	return []tree.Stmt{&tree.If{Conds: []tree.Cond{{Var: row.Var(), Limit: tree.Const(extent - height + 1)}},
		Then: x.tile(row, col, height), Else: x.tile(row, col, extent%height)}}
}

// tile multiplies the panel with some rows, and goes on with the sums.
func (x *task) tile(row, col *tree.Index, rows int64) []tree.Stmt {
	acc := x.accumulators("acc", rows, x.cols[1], x.lanes)
	out := []tree.Stmt{&tree.Declare{Memory: acc}}
	if x.length() <= x.block() {
		return append(out, x.clear(acc), x.dot(acc, row, tree.Const(0), tree.Const(x.length())), x.epilogue(acc, row, col))
	}
	total, from := x.accumulators("total", rows, x.cols[1], x.lanes), x.Variable("from")
	block := []tree.Stmt{x.clear(acc), x.dot(acc, row, tree.Use(from), tree.Use(from).Plus(x.block()).Min(tree.Const(x.length()))),
		x.each(rows, func(at []*tree.Index) tree.Stmt {
			return builder.Stored(tree.Access{Memory: total, At: at}, tree.Access{Memory: acc, At: at}, scalar.Add)
		})}
	return append(out, &tree.Declare{Memory: total}, x.clear(total),
		&tree.For{Var: from, From: tree.Const(0), To: tree.Const(x.length()), Step: x.block(), Body: block}, x.epilogue(total, row, col))
}

// each runs something for the vectors of a register tile.
func (x *task) each(rows int64, cell func(at []*tree.Index) tree.Stmt) tree.Stmt {
	r, v, u := x.Variable("r"), x.Variable("v"), x.Variable("u")
	first := tree.Use(v).Times(x.lanes)
	return unrolled(r, rows, unrolled(v, x.cols[1]/x.lanes, &tree.For{Var: u, From: first, To: first.Plus(x.lanes), Step: 1, Bind: tree.Vector, Lanes: x.lanes,
		Body: []tree.Stmt{cell([]*tree.Index{tree.Use(r), tree.Use(u)})}}))
}

func (x *task) clear(m *tree.Memory) tree.Stmt {
	return x.each(m.Dims[0].End, func(at []*tree.Index) tree.Stmt {
		return builder.Constant(tree.Access{Memory: m, At: at}, scalar.Identity(scalar.Add, m.Type))
	})
}

// dot multiplies a part of the reduction.
func (x *task) dot(acc *tree.Memory, row, from, to *tree.Index) tree.Stmt {
	d := &tree.Dot{Acc: acc, R: x.Variable("i"), C: x.Variable("j"), K: x.Variable("k"), From: from, To: to, Micro: x.micro}
	d.A = x.LoadAt(x.c.Left, x.m(), row.Add(tree.Use(d.R)), x.z(), tree.Use(d.K))
	d.B = tree.Access{Memory: x.panel, At: []*tree.Index{tree.Use(d.K), tree.Use(d.C)}}
	return d
}

// epilogue makes the kernel's statements for each vector of results.
func (x *task) epilogue(total *tree.Memory, row, col *tree.Index) tree.Stmt {
	r, v, at := x.Variable("r"), x.Variable("v"), x.Variable("at")
	first := col.Add(tree.Use(v).Times(x.lanes))
	x.At[x.m()], x.At[x.n()] = row.Add(tree.Use(r)), tree.Use(at)
	x.Sums[x.c.Sum] = func() tree.Access {
		return tree.Access{Memory: total, At: []*tree.Index{tree.Use(r), tree.Use(at).Add(col.Times(-1))}}
	}
	end := first.Plus(x.lanes)
	if x.c.Col.Extent%x.cols[1] != 0 {
		end = end.Min(tree.Const(x.c.Col.Extent))
	}
	var body []tree.Stmt
	for i, s := range x.K.Statements {
		if s.Store < 0 { // computed where it is used
			x.Locals[i] = builder.Local{Value: s.Value}
			continue
		}
		body = append(body, x.Statement(x.Load(int(s.Store)), s))
	}
	return unrolled(r, total.Dims[0].End, unrolled(v, x.cols[1]/x.lanes,
		&tree.For{Var: at, From: first, To: end, Step: 1, Bind: tree.Vector, Lanes: x.lanes, Body: body}))
}
