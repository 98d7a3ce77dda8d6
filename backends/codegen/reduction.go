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

// reduction makes the tree of lines: each is reduced by a group of lanes, of which every one has each so-many-th element, and what goes on
// with it, as a softmax does, element by element.
type reduction struct {
	*builder
	r       *nest.Rows
	lanes   int64 // of a group
	element int   // the dimension of the elements
	lane    *tree.Index
	scratch *tree.Memory // through which the warps of a group combine
	rounds  int64        // elements of a lane
	round   *tree.Index  // that is worked on
	stores  func(stores ...tree.Stmt) []tree.Stmt
	before  func(operand int) []tree.Stmt // what comes before the first store to an operand
}

// maxKept is how many values of a line each lane keeps in registers; longer lines are computed again where they are used again.
const maxKept = 32

func newReduction(k *schedule.Kernel, r *nest.Rows, lanes int64, vars *int) (*reduction, error) {
	switch {
	case r.Free || len(r.Reduction) > 0 || len(r.Splits) > 0:
		return nil, fmt.Errorf("more than the lines of one dimension is reduced, or less")
	case lanes < 1 || lanes&(lanes-1) != 0:
		return nil, fmt.Errorf("%d lanes of a line are no power of 2", lanes)
	}
	dims := append(slices.Clone(r.Outer), r.Lane)
	x := &reduction{builder: newBuilder(k, r.Views, dims, vars), r: r, lanes: lanes, element: len(r.Outer), rounds: ceil(r.Lane.Extent, lanes)}
	x.stores = func(stores ...tree.Stmt) []tree.Stmt { return stores }
	x.before = func(int) []tree.Stmt { return nil }
	for _, s := range k.Statements {
		if err := x.check(s.Value, false); err != nil {
			return nil, err
		}
	}
	return x, nil
}

// check says why there is no tree of an expression.
func (x *reduction) check(e *scalar.Expr, inside bool) error {
	if e.Op == scalar.Reduce {
		if e.IsAt() || inside || !slices.Contains(e.Over, x.r.Lane.Inner()) {
			return fmt.Errorf("a reduction inside of another, or of a part of a line, or a place that is computed")
		}
		inside = true
	}
	for _, a := range e.Args {
		if err := x.check(a, inside); err != nil {
			return err
		}
	}
	return nil
}

// reductionBlocks makes a kernel that is lines: so many lines for a block.
func reductionBlocks(f *tree.Func, k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer, r *nest.Rows, s *schedule.Stage) error {
	line, element := s.Tile(schedule.RoleLine), s.Tile(schedule.RoleElement)
	if len(line) != 1 || len(element) != 1 || line[0] < 1 {
		return fmt.Errorf("a reduction has the lines of a block and the lanes of a line")
	}
	vars := 0
	x, err := newReduction(k, r, element[0], &vars)
	if err != nil {
		return err
	}
	if line[0] > 1 && x.lanes > WarpLanes {
		return fmt.Errorf("lanes of several warps have a line of their own, and a block has one of them")
	}
	f.Operands = x.operands(buffers, func(int) bool { return true })
	block, lane := x.variable("block"), x.variable("lane")
	lines := int64(1)
	var extents []int64
	for _, d := range r.Outer {
		extents = append(extents, d.Extent)
		lines *= d.Extent
	}
	var body, lanes []tree.Stmt
	x.declareScratch(&body)
	own := x.bound(&lanes, "line", tree.Use(block).Times(line[0]).Add(tree.Use(lane).Div(x.lanes)))
	if lines%line[0] != 0 { // groups behind the last line do as it does, and store nothing
		all := own
		own = x.let(&lanes, "line", all.Min(tree.Const(lines-1)))
		x.stores = func(stores ...tree.Stmt) []tree.Stmt {
			return guarded([]tree.Cond{{Var: all.Var(), Limit: tree.Const(lines)}}, stores...)
		}
	}
	x.lane = x.bound(&lanes, "own", tree.Use(lane).Mod(x.lanes))
	copy(x.at, x.delinearize(&lanes, own, extents))
	lanes = append(lanes, x.statements()...)
	count := tree.Const(line[0] * x.lanes)
	body = append(body, &tree.For{Var: lane, From: tree.Const(0), To: count, Step: 1, Bind: tree.Lane, Body: lanes})
	f.Body = []tree.Stmt{&tree.For{Var: block, From: tree.Const(0), To: tree.Const(ceil(lines, line[0])), Step: 1, Bind: tree.Block, Body: body}}
	return nil
}

// declareScratch declares what warps combine through, if a line has several.
func (x *reduction) declareScratch(list *[]tree.Stmt) {
	if x.lanes <= WarpLanes {
		return
	}
	var largest scalar.DType
	for _, s := range x.k.Statements {
		s.Value.Walk(func(e *scalar.Expr) bool {
			if e.Op == scalar.Reduce && (largest == scalar.Invalid || e.Type.Wide().Size() > largest.Wide().Size()) {
				largest = e.Type
			}
			return true
		})
	}
	if largest == scalar.Invalid {
		return
	}
	x.scratch = tree.NewMemory("scratch", largest, tree.Shared, 0, x.lanes/WarpLanes)
	x.scratch.Acc = true
	*list = append(*list, &tree.Declare{Memory: x.scratch})
}

// each runs something for each element of the line that a lane has.
func (x *reduction) each(body func() []tree.Stmt) tree.Stmt {
	return x.between(tree.Const(0), tree.Const(x.rounds), body)
}

// between runs something for some of a lane's elements. Elements behind the end of the line are left out.
func (x *reduction) between(from, to *tree.Index, body func() []tree.Stmt) tree.Stmt {
	round, at := x.variable("e"), x.variable("at")
	before := []*tree.Index{x.round, x.at[x.element]}
	x.round, x.at[x.element] = tree.Use(round), tree.Use(at)
	var conds []tree.Cond
	if x.r.Lane.Extent%x.lanes != 0 {
		conds = append(conds, tree.Cond{Var: at, Limit: tree.Const(x.r.Lane.Extent)})
	}
	inner := guarded(conds, body()...)
	x.round, x.at[x.element] = before[0], before[1]
	loop := &tree.For{Var: round, From: from, To: to, Step: 1, Bind: tree.Unrolled,
		Body: append([]tree.Stmt{&tree.Let{Var: at, Value: tree.Use(round).Times(x.lanes).Add(x.lane)}}, inner...)}
	if x.rounds > maxKept {
		loop.Bind = tree.Serial
	}
	return loop
}

// statements makes the kernel's statements.
func (x *reduction) statements() []tree.Stmt {
	var out []tree.Stmt
	stored := map[int64]bool{}
	for i, s := range x.k.Statements {
		x.reduce(&out, s.Value)
		line := slices.Contains(s.Over, int64(x.r.Lane.Inner()))
		switch {
		case s.Store >= 0:
			if !stored[s.Store] {
				out = append(out, x.before(int(s.Store))...)
				stored[s.Store] = true
			}
			store := func() []tree.Stmt {
				m := x.compute(x.load(int(s.Store)), s.Value, tree.NoMonoid)
				m.About = s.Name
				return x.stores(m)
			}
			if line {
				out = append(out, x.each(store))
				continue
			}
			out = append(out, guarded([]tree.Cond{{Var: x.lane.Var(), Limit: tree.Const(1)}}, store()...)...)
		case !line:
			x.keep(&out, i, s)
		case x.rounds <= maxKept && x.worthKeeping(i, s.Value):
			x.keepLine(&out, i, s)
		default:
			x.locals[i] = local{value: s.Value}
		}
	}
	return out
}

// worthKeeping says whether a value of a line is used again, and is more than a few operations or is read from memory.
func (x *reduction) worthKeeping(i int, e *scalar.Expr) bool {
	uses, leaves := 0, 0
	for _, s := range x.k.Statements[i+1:] {
		s.Value.Walk(func(e *scalar.Expr) bool {
			if e.Op == scalar.Local && e.Ref == i {
				uses++
			}
			return true
		})
	}
	e.Walk(func(e *scalar.Expr) bool {
		if e.Op == scalar.Load || len(e.Args) > 0 {
			leaves++
		}
		return true
	})
	return uses > 1 && leaves > 0
}

// keep computes a number of the whole line.
func (x *reduction) keep(list *[]tree.Stmt, i int, s schedule.Statement) {
	m := tree.NewMemory(fmt.Sprintf("v%d_%d", i, *x.vars), s.Value.Type, tree.Registers, 0)
	*x.vars++
	to := tree.Access{Memory: m}
	c := x.compute(to, s.Value, tree.NoMonoid)
	c.About = s.Name
	*list = append(*list, &tree.Declare{Memory: m}, c)
	x.locals[i] = local{kept: func() tree.Access { return to }}
}

// keepLine computes a value of each element and keeps it in registers.
func (x *reduction) keepLine(list *[]tree.Stmt, i int, s schedule.Statement) {
	m := tree.NewMemory(fmt.Sprintf("v%d_%d", i, *x.vars), s.Value.Type, tree.Registers, 0, x.rounds)
	*x.vars++
	*list = append(*list, &tree.Declare{Memory: m}, x.each(func() []tree.Stmt {
		c := x.compute(tree.Access{Memory: m, At: []*tree.Index{x.round}}, s.Value, tree.NoMonoid)
		c.About = s.Name
		return []tree.Stmt{c}
	}))
	x.locals[i] = local{kept: func() tree.Access { return tree.Access{Memory: m, At: []*tree.Index{x.round}} }}
}

// preload keeps the elements of an operand in registers, which a later store takes the place of.
func (x *reduction) preload(list *[]tree.Stmt, operand int) {
	m := tree.NewMemory(fmt.Sprintf("line%d_%d", operand, *x.vars), x.k.Operands[operand].Type(), tree.Registers, 0, x.rounds)
	*x.vars++
	*list = append(*list, &tree.Declare{Memory: m}, x.each(func() []tree.Stmt {
		return []tree.Stmt{&tree.Map{Dst: tree.Access{Memory: m, At: []*tree.Index{x.round}}, Value: scalar.NewLoad(0, m.Type), Args: []tree.Access{x.load(operand)}}}
	}))
	inner := x.fill
	x.fill = func(o int) (access, bool) {
		if o == operand {
			return func() tree.Access { return tree.Access{Memory: m, At: []*tree.Index{x.round}} }, true
		}
		if inner != nil {
			return inner(o)
		}
		return nil, false
	}
}

// reduce makes the reductions in an expression: each lane those of its elements, then the lanes together.
func (x *reduction) reduce(list *[]tree.Stmt, e *scalar.Expr) {
	if e.Op != scalar.Reduce {
		for _, a := range e.Args {
			x.reduce(list, a)
		}
		return
	}
	to := x.partial(list, e)
	x.accumulate(list, to, e, tree.Const(0), tree.Const(x.rounds), x.rounds)
	*list = append(*list, &tree.Combine{Value: to, Monoid: e.Monoid, Lanes: x.lanes, Scratch: x.scratch})
	x.sums[e] = func() tree.Access { return to }
}

// sumBlock is how many values of a float sum are added one by one, and how many sums of so many are (docs/numerics.md).
const sumBlock = 64

// accumulate combines a lane's elements from one to another, at most so many: one by one, but long sums of floats in blocks, and blocks of blocks.
func (x *reduction) accumulate(list *[]tree.Stmt, to tree.Access, e *scalar.Expr, from, end *tree.Index, most int64) {
	if most <= sumBlock || e.Monoid != scalar.Add || !e.Type.IsFloat() {
		*list = append(*list, x.between(from, end, func() []tree.Stmt { return []tree.Stmt{x.compute(to, e.Args[0], e.Monoid)} }))
		return
	}
	size := int64(sumBlock)
	for size < ceil(most, sumBlock) {
		size *= sumBlock
	}
	first := x.variable("block")
	var body []tree.Stmt
	part := x.partial(&body, e)
	x.accumulate(&body, part, e, tree.Use(first), tree.Use(first).Plus(size).Min(end), size)
	body = append(body, &tree.Map{Dst: to, Monoid: e.Monoid, Value: scalar.NewLoad(0, e.Type), Args: []tree.Access{part}})
	*list = append(*list, &tree.For{Var: first, From: from, To: end, Step: size, Body: body})
}

// partial declares a register for a part of a reduction, of nothing so far.
func (x *reduction) partial(list *[]tree.Stmt, e *scalar.Expr) tree.Access {
	m := tree.NewMemory(fmt.Sprintf("sum%d", *x.vars), e.Type, tree.Registers, 0)
	m.Acc = true
	*x.vars++
	to := tree.Access{Memory: m}
	*list = append(*list, &tree.Declare{Memory: m}, constant(to, scalar.Identity(e.Monoid, e.Type)))
	return to
}
