package scan

import (
	"slices"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/ir/affine"
	"tensortapestry.org/tapc/ir/scalar"
)

// Kind is how the values of a reduction at all points of a dimension are computed together.
type Kind uint8

// The kinds.
const (
	Prefix  Kind = iota // of the values up to each point, or from it on: op(j) where(j <= k, value, nothing), and the like with <, >= and >
	Scatter             // of the values that name each point: op(i) where(place == p, value, nothing), where the place does not depend on p
	// Rank counts what comes before each point: sum(j) where(before | not(after) & j < i, 1, 0), where before compares what an operand
	// holds at j with what it holds at i, and after is the same the other way round. It is where the point is when the operand is sorted.
	Rank
)

// String gives the word.
func (k Kind) String() string { return [...]string{"prefix scan", "scatter", "rank"}[k] }

// Form is a reduction in a statement of which all values along a dimension can be computed in the time of one.
type Form struct {
	Kind       Kind
	Reduce     *scalar.Expr
	Value      *scalar.Expr   // what is reduced, but for a rank: says whether the value at j comes before the one at i
	Loop       int            // of a prefix: k; of a rank: i
	Backward   bool           // of a prefix: from the end
	Closed     bool           // of a prefix: each point counts itself
	Targets    []Target       // of a scatter: which points a value is for
	Conditions []*scalar.Expr // of a scatter: when it is for any
	Initial    scalar.Value   // not of a rank
	Selection  *Selection     // of a scatter: what gives the value for each point, or nil
}

// Target is a loop and the place along it.
type Target struct {
	Loop  int
	Place *scalar.Expr
}

// Selection is the first cells of an order: what a scatter gives whose place is a rank that nothing else reads.
type Selection struct {
	Rank  *Form
	First int64 // so many are needed
	Count int64 // of so many
}

// Parts are the expressions that a form computes.
func (f *Form) Parts() []*scalar.Expr {
	out := append([]*scalar.Expr{f.Value}, f.Conditions...)
	if f.Selection != nil {
		return append(out, f.Selection.Rank.Value)
	}
	for _, t := range f.Targets {
		out = append(out, t.Place)
	}
	return out
}

// Ends are the loops along which the form gives its results.
func (f *Form) Ends() []int {
	if f.Kind != Scatter {
		return []int{f.Loop}
	}
	var out []int
	for _, t := range f.Targets {
		out = append(out, t.Loop)
	}
	return out
}

// reader finds forms in a kernel.
type reader struct{ k *schedule.Kernel }

// formOf gives the form of a fold in a statement, or nil.
func (r reader) formOf(s schedule.Statement, e *scalar.Expr) *Form {
	if e.Op != scalar.Reduce || e.Monoid == scalar.At || len(e.Args) != 1 || e.Args[0].Op != scalar.Where {
		return nil
	}
	body := e.Args[0]
	otherwise := body.Args[2]
	if otherwise.Op != scalar.Const {
		return nil
	}
	condition := r.expanded(body.Args[0])
	if f := r.rank(s, e, condition, body.Args[1], otherwise.Value); f != nil {
		return f
	}
	conditions := affine.Conjuncts(condition)
	if f := r.prefix(s, e, conditions, body.Args[1], otherwise); f != nil {
		return f
	}
	return r.scatter(s, e, conditions, body.Args[1], otherwise.Value)
}

// expanded puts the values of local statements in their place.
func (r reader) expanded(e *scalar.Expr) *scalar.Expr {
	return e.Map(func(e *scalar.Expr) *scalar.Expr {
		if e.Op == scalar.Local && r.k.Statements[e.Ref].Store < 0 && e.Type == scalar.Bool {
			return r.expanded(r.k.Statements[e.Ref].Value)
		}
		return e
	})
}

// follows says whether a value may change along a loop.
func (r reader) follows(e *scalar.Expr, loop int) bool {
	return e.Any(func(e *scalar.Expr) bool {
		switch e.Op {
		case scalar.Loop:
			return e.Ref == loop
		case scalar.Reduce:
			return slices.Contains(e.Over, loop)
		case scalar.Local:
			return slices.Contains(r.k.Statements[e.Ref].Over, int64(loop))
		}
		return e.Op == scalar.Load && r.k.Operands[e.Ref].Follows(loop)
	})
}

func isLoop(e *scalar.Expr, loop int) bool { return e.Op == scalar.Loop && e.Ref == loop }

// nothing says whether folding a value changes nothing.
func nothing(v scalar.Value, e *scalar.Expr) bool {
	identity := scalar.Identity(e.Monoid, e.Type)
	return v.Same(identity) || e.Monoid == scalar.Add && v.F == 0 && v.I == 0 && v.Im == 0
}

// initial gives what a fold has before anything is folded, where values that are left out count as otherwise; ok is false if
// that depends on whether there are any.
func (r reader) initial(e, value *scalar.Expr, otherwise scalar.Value) (v scalar.Value, ok bool) {
	if nothing(otherwise, e) {
		return scalar.Identity(e.Monoid, e.Type), true
	}
	// The greatest of some places and a number below all of them: whether that number counts makes no difference.
	return otherwise, e.Monoid == scalar.Max && len(e.Over) == 1 && isLoop(value, e.Over[0]) && otherwise.I <= r.k.Loops[e.Over[0]].Start
}

// mirrored is what a comparison becomes when its sides change places.
var mirrored = map[scalar.Op]scalar.Op{scalar.Lt: scalar.Gt, scalar.Gt: scalar.Lt, scalar.Le: scalar.Ge, scalar.Ge: scalar.Le}

func (r reader) prefix(s schedule.Statement, e *scalar.Expr, conditions []*scalar.Expr, value, otherwise *scalar.Expr) *Form {
	initial, ok := r.initial(e, value, otherwise.Value)
	if len(e.Over) != 1 || !ok {
		return nil
	}
	j := e.Over[0]
	for at, c := range conditions {
		if mirrored[c.Op] == scalar.NoOp || c.Args[0].Op != scalar.Loop || c.Args[1].Op != scalar.Loop {
			continue
		}
		op, k := c.Op, c.Args[1].Ref
		if isLoop(c.Args[1], j) {
			op, k = mirrored[op], c.Args[0].Ref
		} else if !isLoop(c.Args[0], j) {
			continue
		}
		if k == j || !slices.Contains(s.Over, int64(k)) || r.follows(value, k) {
			continue
		}
		body := value
		for x, other := range conditions {
			if x == at {
				continue
			}
			if r.follows(other, k) {
				return nil
			}
			body = scalar.Must(scalar.Where, other, body, otherwise)
		}
		return &Form{Kind: Prefix, Reduce: e, Value: body, Loop: k, Initial: initial, Backward: op == scalar.Gt || op == scalar.Ge,
			Closed: op == scalar.Le || op == scalar.Ge}
	}
	return nil
}

func (r reader) scatter(s schedule.Statement, e *scalar.Expr, conditions []*scalar.Expr, value *scalar.Expr, otherwise scalar.Value) *Form {
	initial, ok := r.initial(e, value, otherwise)
	if !ok {
		return nil
	}
	f := &Form{Kind: Scatter, Reduce: e, Value: value, Initial: initial}
	for _, c := range conditions {
		if loop, place := r.place(s, e, c); place != nil && !slices.Contains(f.Ends(), loop) {
			f.Targets = append(f.Targets, Target{loop, place})
		} else {
			f.Conditions = append(f.Conditions, c)
		}
	}
	if len(f.Targets) == 0 {
		return nil
	}
	for _, part := range f.Parts()[1:] {
		if slices.ContainsFunc(f.Ends(), func(l int) bool { return r.follows(part, l) }) {
			return nil
		}
	}
	return f
}

// place reads a condition that a loop of the results is somewhere.
func (r reader) place(s schedule.Statement, e, condition *scalar.Expr) (int, *scalar.Expr) {
	if condition.Op != scalar.Eq || condition.Args[0].Type != scalar.Int64 {
		return 0, nil
	}
	for side, x := range condition.Args {
		if x.Op == scalar.Loop && slices.Contains(s.Over, int64(x.Ref)) && !slices.Contains(e.Over, x.Ref) && !r.follows(condition.Args[1-side], x.Ref) {
			return x.Ref, condition.Args[1-side]
		}
	}
	return 0, nil
}

func (r reader) rank(s schedule.Statement, e, condition, value *scalar.Expr, otherwise scalar.Value) *Form {
	one := scalar.IntValue(scalar.Int64, 1)
	if e.Monoid != scalar.Add || len(e.Over) != 1 || e.Type != scalar.Int64 || value.Op != scalar.Const || !value.Value.Same(one) || otherwise.I != 0 ||
		condition.Op != scalar.Or || condition.Type != scalar.Bool {
		return nil
	}
	j := e.Over[0]
	for side, tie := range condition.Args {
		before := condition.Args[1-side]
		if tie.Op != scalar.And {
			continue
		}
		for x, order := range tie.Args {
			after := tie.Args[1-x]
			if order.Op != scalar.Lt || !isLoop(order.Args[0], j) || order.Args[1].Op != scalar.Loop || after.Op != scalar.Not {
				continue
			}
			i := order.Args[1].Ref
			if i != j && slices.Contains(s.Over, int64(i)) && r.ordered(before, after.Args[0], i, j) {
				return &Form{Kind: Rank, Reduce: e, Value: before, Loop: i}
			}
		}
	}
	return nil
}
