package scalar

import (
	"fmt"
	"slices"
	"strings"
)

// Expr is a node of a scalar expression: what one element of a result is, in terms of operand elements, loop variables and
// constants. Expressions are immutable once built; sharing a sub-expression is allowed.
type Expr struct {
	Op     Op
	Type   DType   // result type; Invalid until inferred
	Args   []*Expr // Op.Arity() of them; a Reduce with the monoid At has the index as its second
	Ref    int     // Load: operand; Local: statement; Loop: loop
	Name   string  // Attr: the attribute's name
	Value  Value   // Const; a Value of type Invalid is an untyped literal held in F
	Monoid Op      // Reduce: the operator that folds
	Over   []int   // Reduce: the loops folded over, ascending; one for the monoid At
}

// NewConst makes a constant.
func NewConst(v Value) *Expr { return &Expr{Op: Const, Type: v.DType, Value: v} }

// NewLoad makes a read of operand ref, of type d.
func NewLoad(ref int, d DType) *Expr { return &Expr{Op: Load, Type: d, Ref: ref} }

// NewLocal makes a read of the value of statement ref, of type d.
func NewLocal(ref int, d DType) *Expr { return &Expr{Op: Local, Type: d, Ref: ref} }

// NewLoop makes the value of loop variable ref.
func NewLoop(ref int) *Expr { return &Expr{Op: Loop, Type: Int64, Ref: ref} }

// New makes an operator node; its type is inferred from the arguments, which must be typed.
func New(op Op, args ...*Expr) (*Expr, error) {
	return infer(&Expr{Op: op, Args: args})
}

// Must is New for arguments of types that the operator takes.
func Must(op Op, args ...*Expr) *Expr {
	e, err := New(op, args...)
	if err != nil {
		panic(err)
	}
	return e
}

// Number makes a constant of int64.
func Number(n int64) *Expr { return NewConst(IntValue(Int64, n)) }

// NewCast makes a conversion to d, or gives the argument back when it has that type.
func NewCast(d DType, arg *Expr) *Expr {
	if arg.Type == d {
		return arg
	}
	return &Expr{Op: Cast, Type: d, Args: []*Expr{arg}}
}

// NewBitcast makes the number of type d that has the argument's bits; the types must be as wide as each other.
func NewBitcast(d DType, arg *Expr) (*Expr, error) {
	if !d.Valid() || !arg.Type.Valid() || d.Bits() != arg.Type.Bits() {
		return nil, fmt.Errorf("bitcast: %v and %v are not as wide as each other", arg.Type, d)
	}
	if arg.Type == d {
		return arg, nil
	}
	return &Expr{Op: Bitcast, Type: d, Args: []*Expr{arg}}, nil
}

// NewReduce makes a reduction of body over loops.
func NewReduce(monoid Op, over []int, body *Expr) *Expr {
	sorted := slices.Clone(over)
	slices.Sort(sorted)
	return &Expr{Op: Reduce, Type: body.Type, Monoid: monoid, Over: sorted, Args: []*Expr{body}}
}

// NewAt makes the value of body where the loop stands at index, an int64: zero where that is outside the loop. It is a Reduce
// with the monoid At, because like a sum it has one value for all of the loop.
func NewAt(loop int, index, body *Expr) *Expr {
	return &Expr{Op: Reduce, Type: body.Type, Monoid: At, Over: []int{loop}, Args: []*Expr{body, index}}
}

// IsAt says whether e is an At.
func (e *Expr) IsAt() bool { return e.Op == Reduce && e.Monoid == At }

// WithOver gives a reduction over other loops, in the same order.
func (e *Expr) WithOver(over []int) *Expr {
	c := *e
	c.Over = slices.Clone(over)
	slices.Sort(c.Over)
	return &c
}

// Equal says whether two expressions are the same tree.
func (e *Expr) Equal(f *Expr) bool {
	if e == f {
		return true
	}
	if e == nil || f == nil || e.Op != f.Op || e.Type != f.Type || e.Ref != f.Ref || e.Name != f.Name ||
		e.Monoid != f.Monoid || !e.Value.Same(f.Value) || !slices.Equal(e.Over, f.Over) {
		return false
	}
	return slices.EqualFunc(e.Args, f.Args, (*Expr).Equal)
}

// Walk calls visit for e and everything below it, parents first; it goes below a node only if visit says true.
func (e *Expr) Walk(visit func(*Expr) bool) {
	if !visit(e) {
		return
	}
	for _, a := range e.Args {
		a.Walk(visit)
	}
}

// Any says whether e, or something below it, is what a function asks for; some expressions aside, with what is below them.
func (e *Expr) Any(is func(*Expr) bool, aside ...*Expr) bool {
	return !slices.Contains(aside, e) && (is(e) || slices.ContainsFunc(e.Args, func(a *Expr) bool { return a.Any(is, aside...) }))
}

// Map rebuilds the expression from the leaves up: f gets each node with its arguments already mapped, and gives what stands
// in its place. Unchanged parts are shared with e.
func (e *Expr) Map(f func(*Expr) *Expr) *Expr {
	return f(e.WithArgs(func(a *Expr) *Expr { return a.Map(f) }))
}

// WithArgs gives the expression with what f gives in the place of each argument: e, if that is the argument each time.
func (e *Expr) WithArgs(f func(*Expr) *Expr) *Expr {
	args, changed := e.Args, false
	for i, a := range e.Args {
		b := f(a)
		if b != a && !changed {
			args, changed = slices.Clone(e.Args), true
		}
		if changed {
			args[i] = b
		}
	}
	if changed {
		c := *e
		c.Args = args
		e = &c
	}
	return e
}

// infer types a node whose arguments are typed, adapting untyped literals to their siblings.
func infer(e *Expr) (*Expr, error) {
	arity := e.Op.Arity()
	if e.IsAt() {
		arity = 2
	}
	if len(e.Args) != arity {
		return nil, fmt.Errorf("%v takes %d arguments, not %d", e.Op, arity, len(e.Args))
	}
	switch e.Op {
	case Bitcast:
		return NewBitcast(e.Type, e.Args[0])
	case Cast:
		if lit := e.Args[0]; lit.untyped() {
			return adapt(lit, e.Type)
		}
		return e, nil
	case Reduce:
		if e.IsAt() {
			return inferAt(e)
		}
		e.Type = e.Args[0].Type
		if _, ok := ops[e.Monoid].rule.result(e.Type); !ok {
			return nil, fmt.Errorf("%s is not defined on %v", MonoidName(e.Monoid), e.Type)
		}
		return e, nil
	}
	args := e.Args
	if e.Op == Where {
		if args[0].Type != Bool {
			return nil, fmt.Errorf("where takes a boolean condition, not %v", args[0].Type)
		}
		args = args[1:]
	}
	d, err := unify(e.Op, args)
	if err != nil {
		return nil, err
	}
	if d == Invalid && e.Op >= Eq && e.Op <= Ge { // literals compare as the numbers that they are
		for i, a := range args {
			if args[i], err = adapt(a, Float64); err != nil {
				return nil, err
			}
		}
		d = Float64
	}
	if d == Invalid { // nothing but literals: decided further up
		e.Type = Invalid
		return e, nil
	}
	e.Type = d
	if e.Op != Where {
		t, ok := ops[e.Op].rule.result(d)
		if !ok {
			return nil, fmt.Errorf("%v is not defined on %v", e.Op, d)
		}
		e.Type = t
	}
	return e, nil
}

func inferAt(e *Expr) (*Expr, error) {
	index, err := e.Args[1].WithType(Int64)
	if err != nil {
		return nil, fmt.Errorf("the index of at: %w", err)
	}
	if e.Args[0].untyped() {
		return nil, fmt.Errorf("at of a literal")
	}
	return &Expr{Op: Reduce, Type: e.Args[0].Type, Monoid: At, Over: e.Over, Args: []*Expr{e.Args[0], index}}, nil
}

// unify finds the one type of the arguments and writes it into the untyped literals among them.
func unify(op Op, args []*Expr) (DType, error) {
	d := Invalid
	for _, a := range args {
		switch {
		case a.Type == Invalid:
		case d == Invalid:
			d = a.Type
		case d != a.Type:
			return Invalid, fmt.Errorf("%v mixes %v and %v", op, d, a.Type)
		}
	}
	if d == Invalid {
		return d, nil
	}
	for i, a := range args {
		if a.Type == Invalid {
			b, err := adapt(a, d)
			if err != nil {
				return Invalid, err
			}
			args[i] = b
		}
	}
	return d, nil
}

// untyped says whether the expression has no type yet: a literal, or an operator on literals.
func (e *Expr) untyped() bool { return e.Type == Invalid }

// adapt gives an untyped expression a type.
func adapt(e *Expr, d DType) (*Expr, error) {
	if e.Op == Const {
		v, err := Literal(d, e.Value.F)
		if err != nil {
			return nil, err
		}
		return NewConst(v), nil
	}
	if e.Op == Attr {
		return &Expr{Op: Attr, Type: d, Name: e.Name}, nil
	}
	c := *e
	c.Args = slices.Clone(e.Args)
	for i, a := range c.Args {
		if a.untyped() {
			b, err := adapt(a, d)
			if err != nil {
				return nil, err
			}
			c.Args[i] = b
		}
	}
	return infer(&c)
}

// WithType gives an expression the type d: untyped literals adapt, anything else must have it already.
func (e *Expr) WithType(d DType) (*Expr, error) {
	if e.untyped() {
		return adapt(e, d)
	}
	if e.Type != d {
		return nil, fmt.Errorf("expected %v, found %v", d, e.Type)
	}
	return e, nil
}

// Literal makes a value of type d from a number written in a body; a number that d cannot hold exactly as an integer is an
// error.
func Literal(d DType, f float64) (Value, error) {
	switch {
	case d.IsFloat() || d.IsComplex():
		return FloatValue(d, f), nil
	case d == Bool && (f == 0 || f == 1):
		return BoolValue(f == 1), nil
	case d.IsInt():
		if v := floatToInt(f, d); v.Float() == f {
			return v, nil
		}
	}
	return Value{}, fmt.Errorf("%v is not a value of %v", floatText(f), d)
}

// Namer gives the names that an expression's references are written with.
type Namer interface {
	OperandName(ref int) string
	LocalName(ref int) string
	LoopName(ref int) string
}

// Format writes the expression as text that Parse reads back to an equal expression.
func (e *Expr) Format(n Namer) string {
	var b strings.Builder
	e.write(&b, n, 0)
	return b.String()
}

// write writes e, in parentheses if it binds no stronger than the given strength.
func (e *Expr) write(b *strings.Builder, n Namer, strength int) {
	switch e.Op {
	case Const:
		b.WriteString(e.Value.String())
		return
	case Load:
		b.WriteString(n.OperandName(e.Ref))
		return
	case Local:
		b.WriteString(n.LocalName(e.Ref))
		return
	case Loop:
		b.WriteString(n.LoopName(e.Ref))
		return
	case Attr:
		b.WriteString(e.Name)
		return
	}
	info := ops[e.Op]
	if info.infix != "" {
		e.writeInfix(b, n, info, strength)
		return
	}
	if e.IsAt() {
		b.WriteString("at(" + n.LoopName(e.Over[0]) + ", ")
		e.Args[1].write(b, n, 0)
		b.WriteString(", ")
		e.Args[0].write(b, n, 0)
		b.WriteByte(')')
		return
	}
	if e.Op == Bitcast {
		b.WriteString("bitcast(")
		e.Args[0].write(b, n, 0)
		b.WriteString(", " + e.Type.String() + ")")
		return
	}
	switch e.Op {
	case Cast:
		b.WriteString(e.Type.String())
	case Reduce:
		if strength >= ops[Mul].prec-1 {
			b.WriteByte('(')
			defer b.WriteByte(')')
		}
		b.WriteString(MonoidName(e.Monoid) + "(")
		for i, l := range e.Over {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(n.LoopName(l))
		}
		b.WriteString(") ")
	default:
		b.WriteString(info.name)
	}
	b.WriteByte('(')
	for i, a := range e.Args {
		if i > 0 {
			b.WriteString(", ")
		}
		a.write(b, n, 0)
	}
	b.WriteByte(')')
}

func (e *Expr) writeInfix(b *strings.Builder, n Namer, info opInfo, strength int) {
	if info.prec <= strength {
		b.WriteByte('(')
		defer b.WriteByte(')')
	}
	e.Args[0].write(b, n, info.prec-1)
	b.WriteString(" " + info.infix + " ")
	e.Args[1].write(b, n, info.prec)
}

// NewNamed makes an operator node by the operator's name, such as "add".
func NewNamed(name string, args ...*Expr) (*Expr, error) {
	op, ok := opByName[name]
	if !ok {
		return nil, fmt.Errorf("unknown operator %q", name)
	}
	return New(op, args...)
}
