package codegen

import (
	"fmt"

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

// task makes the tree of a contraction on a CPU: a task is a macro-tile of the results, whose columns of the right operand are packed, a
// register tile's width at a time, in memory of the thread, and multiplied with all rows of the macro-tile.
type task struct {
	*builder
	c            *nest.Contraction
	taskM, taskN int64
	tileM, tileN int64
	lanes        int64
	m, n, k      int // dimensions
	panel        *tree.Memory
	block        int64 // products in a partial sum
	micro        string
}

// tasks makes a kernel that is one contraction, for the threads of a CPU.
func tasks(f *tree.Func, a *nest.Analysis, c *nest.Contraction, s *schedule.Stage) error {
	vars := 0
	x, err := newTask(a.Kernel, c, s, &vars)
	if err != nil {
		return err
	}
	f.Operands = x.operands(a.Buffers, func(int) bool { return true })
	number := x.variable("task")
	var extents []int64
	for _, d := range c.Batch {
		extents = append(extents, d.Extent)
	}
	extents = append(extents, ceil(c.Row.Extent, x.taskM), ceil(c.Col.Extent, x.taskN))
	count := int64(1)
	for _, n := range extents {
		count *= n
	}
	var body []tree.Stmt
	at := x.delinearize(&body, tree.Use(number), extents)
	copy(x.at, at[:len(c.Batch)])
	firstRow := x.let(&body, "m", at[x.m].Times(x.taskM))
	firstCol := x.let(&body, "n", at[x.n].Times(x.taskN))
	x.panel = tree.NewMemory("panel", c.Sum.Type, tree.Private, 0, x.dims[x.k].Extent, x.tileN)
	body = append(body, &tree.Declare{Memory: x.panel})
	col, row := x.variable("col"), x.variable("row")
	rows := &tree.For{Var: row, From: firstRow, To: firstRow.Plus(x.taskM).Min(tree.Const(c.Row.Extent)), Step: x.tileM, Body: x.rows(tree.Use(row), tree.Use(col))}
	cols := append(x.pack(tree.Use(col)), rows)
	body = append(body, &tree.For{Var: col, From: firstCol, To: firstCol.Plus(x.taskN).Min(tree.Const(c.Col.Extent)), Step: x.tileN, Body: cols})
	f.Body = []tree.Stmt{&tree.For{Var: number, From: tree.Const(0), To: tree.Const(count), Step: 1, Bind: tree.Thread, Body: body}}
	return nil
}

func newTask(k *schedule.Kernel, c *nest.Contraction, s *schedule.Stage, vars *int) (*task, error) {
	m, n, micro := s.Tile(schedule.RoleM), s.Tile(schedule.RoleN), VectorMicros[s.Micro]
	switch {
	case len(m) != 2 || len(n) != 2 || s.Tile(schedule.RoleK) != nil:
		return nil, fmt.Errorf("a contraction has tiles m of a task and of registers, and n of a task and of registers")
	case m[1] < 1 || n[1] < 1 || m[0]%m[1] != 0 || n[0]%n[1] != 0:
		return nil, fmt.Errorf("tiles of a task are whole register tiles")
	case micro.Lanes == 0 || micro.Type != c.Sum.Type:
		return nil, fmt.Errorf("there is no micro-kernel %q for %s", s.Micro, c.Sum.Type)
	case n[1]%micro.Lanes != 0:
		return nil, fmt.Errorf("a register tile of %d columns is no whole vectors of %d", n[1], micro.Lanes)
	case c.Window != nil || c.Padded != nil || c.Transposed:
		return nil, fmt.Errorf("an operand is read through a window or with a border of zeros, or the accumulators are transposed")
	case len(c.Reduction) > 1:
		return nil, fmt.Errorf("%d dimensions are reduced, and at most one can be", len(c.Reduction))
	case s.Depth(k.Operands[c.Left].Name) != 0 || s.Depth(k.Operands[c.Right].Name) != 1:
		return nil, fmt.Errorf("the right operand is packed by each thread, in one panel, and the left one is read where it is")
	}
	x := &task{c: c, taskM: m[0], tileM: m[1], taskN: n[0], tileN: n[1], lanes: micro.Lanes, micro: s.Micro,
		m: len(c.Batch), n: len(c.Batch) + 1, k: len(c.Batch) + 2}
	x.builder = newBuilder(k, c.Views, contractionDims(c), vars)
	length := x.dims[x.k].Extent
	if x.block = k.Sums; x.block == 0 {
		x.block = length
	}
	if blocks := ceil(length, x.block); blocks > mostBlocks {
		return nil, fmt.Errorf("a sum has %d partial sums, and at most %d can be added one by one", blocks, mostBlocks)
	}
	return x, nil
}

// mostBlocks is how many partial sums are added before a new group of them begins (docs/numerics.md).
const mostBlocks = 64

// pack copies the columns of a register tile to the panel, with zeros behind the last.
func (x *task) pack(first *tree.Index) []tree.Stmt {
	k, c, col := x.variable("k"), x.variable("c"), x.variable("at")
	x.at[x.k], x.at[x.n] = tree.Use(k), tree.Use(col)
	to := tree.Access{Memory: x.panel, At: []*tree.Index{tree.Use(k), tree.Use(c)}}
	copies := tree.Stmt(&tree.Copy{Dst: to, Src: x.load(x.c.Right), Count: 1})
	if x.c.Col.Extent%x.tileN != 0 {
		copies = &tree.If{Conds: []tree.Cond{{Var: col, Limit: tree.Const(x.c.Col.Extent)}}, Then: []tree.Stmt{copies},
			Else: []tree.Stmt{constant(to, scalar.Zero(x.panel.Type))}}
	}
	inner := &tree.For{Var: c, From: tree.Const(0), To: tree.Const(x.tileN), Step: 1, Body: []tree.Stmt{&tree.Let{Var: col, Value: first.Add(tree.Use(c))}, copies}}
	return []tree.Stmt{&tree.For{Var: k, From: tree.Const(0), To: tree.Const(x.dims[x.k].Extent), Step: 1, Body: []tree.Stmt{inner}}}
}

// rows makes the register tiles of some rows: of all their height, but for the last rows of all.
func (x *task) rows(row, col *tree.Index) []tree.Stmt {
	rest := x.c.Row.Extent % x.tileM
	if rest == 0 {
		return x.tile(row, col, x.tileM)
	}
	if x.c.Row.Extent < x.tileM {
		return x.tile(row, col, rest)
	}
	return []tree.Stmt{&tree.If{Conds: []tree.Cond{{Var: row.Var(), Limit: tree.Const(x.c.Row.Extent - x.tileM + 1)}},
		Then: x.tile(row, col, x.tileM), Else: x.tile(row, col, rest)}}
}

// tile multiplies the panel with some rows, and goes on with the sums.
func (x *task) tile(row, col *tree.Index, rows int64) []tree.Stmt {
	acc := x.accumulators("acc", rows)
	total := acc
	out := []tree.Stmt{&tree.Declare{Memory: acc}}
	if length := x.dims[x.k].Extent; length > x.block {
		total = x.accumulators("total", rows)
		from := x.variable("from")
		block := []tree.Stmt{x.clear(acc), x.dot(acc, row, tree.Use(from), tree.Use(from).Plus(x.block).Min(tree.Const(length))), x.each(rows, func(at []*tree.Index) tree.Stmt {
			return &tree.Map{Dst: tree.Access{Memory: total, At: at}, Monoid: scalar.Add, Value: scalar.NewLoad(0, acc.Type), Args: []tree.Access{{Memory: acc, At: at}}}
		})}
		out = append(out, &tree.Declare{Memory: total}, x.clear(total),
			&tree.For{Var: from, From: tree.Const(0), To: tree.Const(length), Step: x.block, Body: block})
	} else {
		out = append(out, x.clear(acc), x.dot(acc, row, tree.Const(0), tree.Const(length)))
	}
	return append(out, x.epilogue(total, row, col, rows))
}

func (x *task) accumulators(name string, rows int64) *tree.Memory {
	m := tree.NewMemory(fmt.Sprintf("%s%d", name, *x.vars), x.c.Sum.Type, tree.Registers, 0, rows, x.tileN)
	*x.vars++
	m.Acc, m.Lanes = true, x.lanes
	return m
}

// each runs something for the vectors of a register tile.
func (x *task) each(rows int64, cell func(at []*tree.Index) tree.Stmt) tree.Stmt {
	r, v, u := x.variable("r"), x.variable("v"), x.variable("u")
	first := tree.Use(v).Times(x.lanes)
	return unrolled(r, rows, unrolled(v, x.tileN/x.lanes, &tree.For{Var: u, From: first, To: first.Plus(x.lanes), Step: 1, Bind: tree.Vector, Lanes: x.lanes,
		Body: []tree.Stmt{cell([]*tree.Index{tree.Use(r), tree.Use(u)})}}))
}

func (x *task) clear(m *tree.Memory) tree.Stmt {
	return x.each(m.Dims[0].End, func(at []*tree.Index) tree.Stmt {
		return constant(tree.Access{Memory: m, At: at}, scalar.Identity(scalar.Add, m.Type))
	})
}

// dot multiplies a part of the reduction.
func (x *task) dot(acc *tree.Memory, row, from, to *tree.Index) tree.Stmt {
	d := &tree.Dot{Acc: acc, R: x.variable("i"), C: x.variable("j"), K: x.variable("k"), From: from, To: to, Micro: x.micro}
	x.at[x.m], x.at[x.k] = row.Add(tree.Use(d.R)), tree.Use(d.K)
	d.A = x.load(x.c.Left)
	d.B = tree.Access{Memory: x.panel, At: []*tree.Index{tree.Use(d.K), tree.Use(d.C)}}
	return d
}

// epilogue makes the kernel's statements for each vector of results.
func (x *task) epilogue(total *tree.Memory, row, col *tree.Index, rows int64) tree.Stmt {
	r, v, at := x.variable("r"), x.variable("v"), x.variable("at")
	first := col.Add(tree.Use(v).Times(x.lanes))
	x.at[x.m], x.at[x.n], x.at[x.k] = row.Add(tree.Use(r)), tree.Use(at), nil
	x.sums[x.c.Sum] = func() tree.Access {
		return tree.Access{Memory: total, At: []*tree.Index{tree.Use(r), tree.Use(at).Add(col.Times(-1))}}
	}
	end := first.Plus(x.lanes)
	if x.c.Col.Extent%x.lanes != 0 || x.c.Col.Extent%x.tileN != 0 {
		end = end.Min(tree.Const(x.c.Col.Extent))
	}
	var body []tree.Stmt
	for i, s := range x.builder.k.Statements {
		if s.Store < 0 { // computed where it is used
			x.locals[i] = local{value: s.Value}
			continue
		}
		m := x.compute(x.load(int(s.Store)), s.Value, tree.NoMonoid)
		m.About = s.Name
		body = append(body, m)
	}
	return unrolled(r, rows, unrolled(v, x.tileN/x.lanes, &tree.For{Var: at, From: first, To: end, Step: 1, Bind: tree.Vector, Lanes: x.lanes, Body: body}))
}
