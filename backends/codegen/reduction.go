package codegen

import (
	"fmt"
	"slices"

	"tensortapestry.org/tapc/backends/codegen/builder"
	"tensortapestry.org/tapc/backends/tree"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/ir/scalar"
)

// reduction makes the tree of lines on a GPU: each is reduced by a group of lanes, of which every one has each so-many-th element, and what goes on with it, as a
// softmax does, element by element.
type reduction struct {
	*builder.Builder
	lanes   int64
	lane    *tree.Index  // that is here
	round   *tree.Index  // the number of the element among those of the lane
	scratch *tree.Memory // through which the warps of a group combine
	stores  func(stores ...tree.Stmt) []tree.Stmt
	before  func(operand int) []tree.Stmt // what comes before the first store to an operand
}

// maxKept is how many values of a line a lane keeps in registers; longer lines are computed again where they are used again.
const maxKept = 32

func newReduction(n *tree.Names, k *schedule.Kernel, r *nest.Rows, lanes int64) (*reduction, error) {
	switch {
	case r.Free || len(r.Reduction) > 0 || len(r.Splits) > 0:
		return nil, fmt.Errorf("more than the lines of one dimension is reduced, or less")
	case lanes < 1 || lanes&(lanes-1) != 0:
		return nil, fmt.Errorf("%d lanes of a line are no power of 2", lanes)
	}
	x := &reduction{Builder: builder.New(n, k, r.Views, append(slices.Clone(r.Outer), r.Lane)), lanes: lanes}
	x.stores = func(stores ...tree.Stmt) []tree.Stmt { return stores }
	x.before = func(int) []tree.Stmt { return nil }
	for _, s := range k.Statements {
		if err := x.check(s.Value, false); err != nil {
			return nil, err
		}
	}
	return x, nil
}

// element is the dimension of the elements, the last.
func (x *reduction) element() int { return len(x.Dims) - 1 }

// length is how many a line has.
func (x *reduction) length() int64 { return x.Dims[x.element()].Extent }

// rounds is how many elements a lane has.
func (x *reduction) rounds() int64 { return ceil(x.length(), x.lanes) }

// check says why there is no tree of an expression.
func (x *reduction) check(e *scalar.Expr, inside bool) error {
	if e.Op == scalar.Reduce {
		if e.IsAt() || inside || !slices.Contains(e.Over, x.Dims[x.element()].Inner()) {
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

// lineTiles reads a stage: the lines of a block, and the lanes of a line.
func lineTiles(s *schedule.Stage) (lines, lanes int64, err error) {
	line, element := s.Tile(schedule.RoleLine), s.Tile(schedule.RoleElement)
	if len(line) != 1 || len(element) != 1 || line[0] < 1 {
		return 0, 0, fmt.Errorf("a reduction has the lines of a block and the lanes of a line")
	}
	return line[0], element[0], nil
}

// reductionBlocks makes a kernel that is lines on a GPU: so many lines for a block.
func reductionBlocks(f *tree.Func, k *schedule.Kernel, r *nest.Rows, s *schedule.Stage) error {
	group, width, err := lineTiles(s)
	if err != nil {
		return err
	}
	x, err := newReduction(new(tree.Names), k, r, width)
	if err != nil {
		return err
	}
	if group > 1 && x.lanes > WarpLanes {
		return fmt.Errorf("lanes of several warps have a line of their own, and a block has one of them")
	}
	f.Operands = x.Operands()
	block, lane := x.Variable("block"), x.Variable("lane")
	extents := extentsOf(r.Outer)
	lines := productOf(extents)
	var body, lanes []tree.Stmt
	x.declareScratch(&body)
	own := x.Bound(&lanes, "line", tree.Use(block).Times(group).Add(tree.Use(lane).Div(x.lanes)))
	if lines%group != 0 { // groups behind the last line do as it does, and store nothing
		all := own
		own = x.Let(&lanes, "line", all.Min(tree.Const(lines-1)))
		x.stores = func(stores ...tree.Stmt) []tree.Stmt {
			return guarded([]tree.Cond{{Var: all.Var(), Limit: tree.Const(lines)}}, stores...)
		}
	}
	x.lane = x.Bound(&lanes, "own", tree.Use(lane).Mod(x.lanes))
	copy(x.At, builder.Delinearize(x.Names, &lanes, own, extents))
	lanes = append(lanes, x.statements()...)
	body = append(body, &tree.For{Var: lane, From: tree.Const(0), To: tree.Const(group * x.lanes), Step: 1, Bind: tree.Lane, Body: lanes})
	parallel(f, block, ceil(lines, group), tree.Block, body)
	return nil
}

// declareScratch declares what warps combine through, if a line has several.
func (x *reduction) declareScratch(list *[]tree.Stmt) {
	if x.lanes <= WarpLanes {
		return
	}
	var largest scalar.DType
	for _, s := range x.K.Statements {
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
	return x.between(tree.Const(0), tree.Const(x.rounds()), body)
}

// between runs something for some of a lane's elements. Elements behind the end of the line are left out.
func (x *reduction) between(from, to *tree.Index, body func() []tree.Stmt) tree.Stmt {
	round, at := x.Variable("e"), x.Variable("at")
	before, element := x.round, x.At[x.element()]
	x.round, x.At[x.element()] = tree.Use(round), tree.Use(at)
	inner := guarded(behind(at, x.length(), x.lanes), body()...)
	x.round, x.At[x.element()] = before, element
	loop := &tree.For{Var: round, From: from, To: to, Step: 1, Bind: tree.Serial, Body: append([]tree.Stmt{&tree.Let{Var: at, Value: tree.Use(round).Times(x.lanes).Add(x.lane)}}, inner...)}
	if x.rounds() <= maxKept {
		loop.Bind = tree.Unrolled
	}
	return loop
}

// register declares a number that each lane has.
func (x *reduction) register(list *[]tree.Stmt, prefix string, t scalar.DType, acc bool) builder.Access {
	m := tree.NewMemory(x.Fresh(prefix), t, tree.Registers, 0)
	m.Acc = acc
	*list = append(*list, &tree.Declare{Memory: m})
	return func() tree.Access { return tree.Access{Memory: m} }
}

// line declares a value for each element, in registers of the lane that has it.
func (x *reduction) line(list *[]tree.Stmt, prefix string, t scalar.DType) builder.Access {
	m := tree.NewMemory(x.Fresh(prefix), t, tree.Registers, 0, x.rounds())
	*list = append(*list, &tree.Declare{Memory: m})
	return func() tree.Access { return tree.Access{Memory: m, At: []*tree.Index{x.round}} }
}

// statements makes the kernel's statements.
func (x *reduction) statements() []tree.Stmt {
	var out []tree.Stmt
	stored := map[int64]bool{}
	for i, s := range x.K.Statements {
		x.reduce(&out, s.Value)
		line := slices.Contains(s.Over, int64(x.Dims[x.element()].Inner()))
		switch {
		case s.Store >= 0:
			if !stored[s.Store] {
				out = append(out, x.before(int(s.Store))...)
				stored[s.Store] = true
			}
			x.store(&out, s, line)
		case !line:
			x.Locals[i] = builder.Local{Kept: x.register(&out, fmt.Sprintf("v%d_", i), s.Value.Type, false)}
			out = append(out, x.Statement(x.Locals[i].Kept(), s))
		case x.rounds() <= maxKept && x.worthKeeping(i, s.Value):
			kept := x.line(&out, fmt.Sprintf("v%d_", i), s.Value.Type)
			out = append(out, x.each(func() []tree.Stmt { return []tree.Stmt{x.Statement(kept(), s)} }))
			x.Locals[i] = builder.Local{Kept: kept}
		default:
			x.Locals[i] = builder.Local{Value: s.Value}
		}
	}
	return out
}

// store makes the statement that stores elements, or a number of the line, which one lane does.
func (x *reduction) store(list *[]tree.Stmt, s schedule.Statement, line bool) {
	store := func() []tree.Stmt { return x.stores(x.Statement(x.Load(int(s.Store)), s)) }
	if line {
		*list = append(*list, x.each(store))
		return
	}
	*list = append(*list, guarded([]tree.Cond{{Var: x.lane.Var(), Limit: tree.Const(1)}}, store()...)...)
}

// worthKeeping says whether a value of a line is used again, and is more than a few operations or is read from memory.
func (x *reduction) worthKeeping(i int, e *scalar.Expr) bool {
	uses, leaves := 0, 0
	for _, s := range x.K.Statements[i+1:] {
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

// preload keeps the elements of an operand in registers, which a later store takes the place of.
func (x *reduction) preload(list *[]tree.Stmt, operand int) {
	kept := x.line(list, fmt.Sprintf("line%d_", operand), x.K.Operands[operand].Type())
	*list = append(*list, x.each(func() []tree.Stmt {
		return []tree.Stmt{builder.Stored(kept(), x.Load(operand), tree.NoMonoid)}
	}))
	x.Elements[operand] = kept
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
	x.accumulate(list, to, e, tree.Const(0), tree.Const(x.rounds()), x.rounds())
	*list = append(*list, &tree.Combine{Value: to(), Monoid: e.Monoid, Lanes: x.lanes, Scratch: x.scratch})
	x.Sums[e] = to
}

// accumulate combines a lane's elements from one to another, at most so many: one by one, but long sums of floats in blocks, and blocks of blocks.
func (x *reduction) accumulate(list *[]tree.Stmt, to builder.Access, e *scalar.Expr, from, end *tree.Index, most int64) {
	if most <= nest.SumBlock || e.Monoid != scalar.Add || !e.Type.IsFloat() {
		*list = append(*list, x.between(from, end, func() []tree.Stmt { return []tree.Stmt{x.Map(to(), e.Args[0], e.Monoid)} }))
		return
	}
	size := int64(nest.SumBlock)
	for size < ceil(most, nest.SumBlock) {
		size *= nest.SumBlock
	}
	first := x.Variable("block")
	var body []tree.Stmt
	part := x.partial(&body, e)
	x.accumulate(&body, part, e, tree.Use(first), tree.Use(first).Plus(size).Min(end), size)
	body = append(body, builder.Stored(to(), part(), scalar.Add))
	*list = append(*list, &tree.For{Var: first, From: from, To: end, Step: size, Body: body})
}

// partial declares a register for a part of a reduction, of nothing so far.
func (x *reduction) partial(list *[]tree.Stmt, e *scalar.Expr) builder.Access {
	to := x.register(list, "sum", e.Type, true)
	*list = append(*list, builder.Constant(to(), scalar.Identity(e.Monoid, e.Type)))
	return to
}
