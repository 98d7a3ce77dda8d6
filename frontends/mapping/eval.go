package mapping

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
)

// Refusal says why an operation can not be mapped, in words for a user.
type Refusal struct{ Reason string }

// Error gives the reason.
func (r *Refusal) Error() string { return r.Reason }

func refuse(format string, args ...any) error { return &Refusal{fmt.Sprintf(format, args...)} }

// env is what the names in an expression stand for.
type env struct {
	vars   map[string]Value
	lets   []clause  // of the rule, up to where it is; computed when they are first needed
	root   *env      // that holds lets; nil for one without
	m      *mapper   // nil where only literals are allowed
	record *recorder // of a rule back; nil for others
	steps  *int
}

// maxSteps bounds the work of one rule, for lists may be as long as a model says: expressions that are evaluated, and elements of lists
// and bytes of strings that are made or looked at.
const maxSteps = 1 << 22

// spend counts steps. An interrupt is an error too.
func (e *env) spend(n int) error {
	if e.steps == nil {
		return nil
	}
	before := *e.steps
	if *e.steps += n; *e.steps > maxSteps {
		return refuse("it takes more than %d steps to map", maxSteps)
	}
	if e.m != nil && before>>12 != *e.steps>>12 && e.m.ctx.Err() != nil {
		return context.Cause(e.m.ctx)
	}
	return nil
}

// size gives the length of a list or a string, which is what it takes to look at it once.
func (v Value) size() int { return len(v.List) + len(v.Str) }

// weigh counts all that a value holds, list by list: lists may share parts, so that one of a few steps can be longer than memory
// when it is written out.
func (e *env) weigh(v Value) error {
	err := e.spend(1 + v.size())
	for i := 0; err == nil && i < len(v.List); i++ {
		err = e.weigh(v.List[i])
	}
	return err
}

// equal compares values.
func (e *env) equal(a, b Value) (bool, error) {
	if a.Kind != List || b.Kind != List || len(a.List) != len(b.List) {
		return a.equal(b), e.spend(min(a.size(), b.size()))
	}
	same, err := true, e.spend(1+len(a.List))
	for i := 0; same && err == nil && i < len(a.List); i++ {
		same, err = e.equal(a.List[i], b.List[i])
	}
	return same, err
}

func (e *env) child() *env {
	c := &env{vars: make(map[string]Value, len(e.vars)), root: e.root, m: e.m, record: e.record, steps: e.steps}
	for k, v := range e.vars {
		c.vars[k] = v
	}
	return c
}

func (e *env) eval(x *expr) (Value, error) {
	if err := e.spend(1); err != nil {
		return Value{}, err
	}
	switch x.kind {
	case exprLit:
		return x.lit, nil
	case exprName:
		return e.name(x.text)
	case exprIf:
		c, err := e.truth(x.args[0])
		if err != nil {
			return Value{}, err
		}
		if c {
			return e.eval(x.args[1])
		}
		return e.eval(x.args[2])
	case exprUnary, exprBinary:
		return e.operator(x)
	case exprList:
		l, err := e.all(x.args)
		return Value{Kind: List, List: l}, err
	case exprFor:
		return e.each(x)
	case exprWith:
		v, err := e.eval(x.args[0])
		if err != nil {
			return Value{}, err
		}
		inner := e.child()
		inner.vars[x.text] = v
		return inner.eval(x.args[1])
	case exprFold:
		return e.fold(x)
	case exprIndex, exprSlice:
		return e.part(x)
	case exprDef:
		args, err := e.all(x.args)
		if err != nil {
			return Value{}, err
		}
		inner := &env{vars: map[string]Value{}, m: e.m, record: e.record, steps: e.steps}
		for i, p := range x.def.params {
			inner.vars[p] = args[i]
		}
		return inner.eval(x.def.body)
	}
	if e.m == nil {
		return Value{}, errors.New("expected a literal")
	}
	if x.kind == exprKernel {
		return e.kernel(x)
	}
	if x.kind == exprForeign {
		return e.foreign(x)
	}
	args, err := e.all(x.args)
	if err != nil {
		return Value{}, err
	}
	v, err := e.function(x.text, args)
	if err != nil && !isRefusal(err) {
		err = fmt.Errorf("%s: %w", x.text, err)
	}
	return v, err
}

// function calls a built-in function.
func (e *env) function(name string, args []Value) (Value, error) {
	work := 0
	if !atOnce[name] {
		for _, a := range args {
			work += a.size()
		}
	}
	if err := e.spend(work); err != nil {
		return Value{}, err
	}
	v, err := functions[name].call(e, args)
	if err == nil {
		err = e.spend(v.size())
	}
	return v, err
}

// name gives what a name stands for. A let is computed when it is first needed, so that what no output needs costs nothing.
func (e *env) name(name string) (Value, error) {
	if v, ok := e.vars[name]; ok || e.root == nil {
		return v, nil
	}
	root := e.root
	if v, done := root.vars[name]; done {
		return v, nil
	}
	for i := range slices.Backward(root.lets) {
		if c := &root.lets[i]; slices.Contains(c.names, name) {
			err := root.let(c)
			return root.vars[name], err
		}
	}
	return Value{}, nil
}

// fold computes "fold acc = first for name in list do next".
func (e *env) fold(x *expr) (Value, error) {
	parts, err := e.all(x.args[:2])
	if err != nil {
		return Value{}, err
	}
	if parts[1].Kind != List {
		return Value{}, fmt.Errorf("fold: expected a list, found %v", parts[1].Kind)
	}
	inner, acc := e.child(), parts[0]
	for _, v := range parts[1].List {
		inner.vars[x.ports[0]], inner.vars[x.text] = acc, v
		if acc, err = inner.eval(x.args[2]); err != nil {
			return Value{}, err
		}
	}
	return acc, nil
}

func isRefusal(err error) bool {
	var r *Refusal
	return errors.As(err, &r)
}

func (e *env) all(xs []*expr) ([]Value, error) {
	out := make([]Value, len(xs))
	for i, x := range xs {
		var err error
		if out[i], err = e.eval(x); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (e *env) truth(x *expr) (bool, error) {
	v, err := e.eval(x)
	if err == nil && v.Kind != Bool {
		err = fmt.Errorf("expected a truth value, found %v", v.Kind)
	}
	return v.Int != 0, err
}

func (e *env) each(x *expr) (Value, error) {
	over, err := e.eval(x.args[1])
	if err != nil {
		return Value{}, err
	}
	if over.Kind != List {
		return Value{}, fmt.Errorf("for: expected a list, found %v", over.Kind)
	}
	inner := e.child()
	out := Value{Kind: List, List: []Value{}}
	for _, v := range over.List {
		inner.vars[x.text] = v
		if x.args[2] != nil {
			ok, err := inner.truth(x.args[2])
			if err != nil {
				return Value{}, err
			}
			if !ok {
				continue
			}
		}
		y, err := inner.eval(x.args[0])
		if err != nil {
			return Value{}, err
		}
		out.List = append(out.List, y)
	}
	return out, nil
}

// part gives an element or a slice of a list; negative positions count from the end, those of a slice are clamped.
func (e *env) part(x *expr) (Value, error) {
	list, err := e.eval(x.args[0])
	if err != nil {
		return Value{}, err
	}
	if list.Kind != List {
		return Value{}, fmt.Errorf("expected a list before \"[\", found %v", list.Kind)
	}
	n := int64(len(list.List))
	bound := [2]int64{0, n}
	for i, a := range x.args[1:] {
		if a == nil {
			continue
		}
		v, err := e.eval(a)
		if err != nil {
			return Value{}, err
		}
		if v.Kind != Int {
			return Value{}, fmt.Errorf("expected an integer between \"[\" and \"]\", found %v", v.Kind)
		}
		if bound[i] = v.Int; v.Int < 0 {
			bound[i] += n
		}
	}
	if x.kind == exprIndex {
		if bound[0] < 0 || bound[0] >= n {
			return Value{}, refuse("element %d of a list of %d is asked for", bound[0], n)
		}
		return list.List[bound[0]], nil
	}
	from, to := max(0, min(n, bound[0])), max(0, min(n, bound[1]))
	return Value{Kind: List, List: list.List[from:max(from, to)]}, nil
}

func (e *env) operator(x *expr) (Value, error) {
	if x.text == "and" || x.text == "or" {
		a, err := e.truth(x.args[0])
		if err != nil || a == (x.text == "or") {
			return BoolValue(a), err
		}
		b, err := e.truth(x.args[1])
		return BoolValue(b), err
	}
	args, err := e.all(x.args)
	if err != nil {
		return Value{}, err
	}
	if len(args) == 1 {
		return e.unary(x.text, args[0])
	}
	a, b := args[0], args[1]
	if a.Kind == TensorKind || b.Kind == TensorKind {
		if name, ok := tensorOps[x.text]; ok && e.m != nil {
			return e.m.apply(name, nil, a, b)
		}
	}
	switch x.text {
	case "==", "!=":
		same, err := e.equal(a, b)
		return BoolValue(same == (x.text == "==")), err
	case "in":
		at, err := e.find(slices.All(b.List), a)
		return BoolValue(at >= 0), err
	case "+":
		if err := e.spend(a.size() + b.size()); err != nil {
			return Value{}, err
		}
		if a.Kind == List && b.Kind == List {
			return Value{Kind: List, List: append(append(make([]Value, 0, len(a.List)+len(b.List)), a.List...), b.List...)}, nil
		}
		if a.Kind == String && b.Kind == String {
			return StringValue(a.Str + b.Str), nil
		}
	}
	return arithmetic(x.text, a, b)
}

// find gives the first position of a value, -1 if it is not there.
func (e *env) find(list iter.Seq2[int, Value], v Value) (int64, error) {
	for i, x := range list {
		if same, err := e.equal(x, v); same || err != nil {
			return int64(i), err
		}
	}
	return -1, nil
}

// tensorOps are the kernels that operators between tensors stand for. == and != compare identities and never make an operation.
var tensorOps = map[string]string{"+": "add", "-": "sub", "*": "mul", "/": "div", "//": "floor_div", "%": "mod",
	"<": "less", "<=": "less_equal", ">": "greater", ">=": "greater_equal"}

func (e *env) unary(op string, v Value) (Value, error) {
	switch {
	case op == "not" && v.Kind == Bool:
		return BoolValue(v.Int == 0), nil
	case op == "not" && v.Kind == TensorKind && e.m != nil:
		return e.m.apply("not", nil, v)
	case op == "-" && v.Kind == Int && v.Int != math.MinInt64:
		return IntValue(-v.Int), nil
	case op == "-" && v.Kind == Float:
		return FloatValue(-v.Float), nil
	case op == "-" && v.Kind == TensorKind && e.m != nil:
		return e.m.apply("neg", nil, v)
	}
	return Value{}, fmt.Errorf("%s of %v", op, v.Kind)
}

// arithmetic computes with numbers. Integers that overflow, and divisions by zero, refuse; "/" gives a number with a fraction.
func arithmetic(op string, a, b Value) (Value, error) {
	x, okA := a.number()
	y, okB := b.number()
	if !okA || !okB {
		return Value{}, fmt.Errorf("%v %s %v", a.Kind, op, b.Kind)
	}
	switch op {
	case "<":
		return BoolValue(x < y), nil
	case "<=":
		return BoolValue(x <= y), nil
	case ">":
		return BoolValue(x > y), nil
	case ">=":
		return BoolValue(x >= y), nil
	case "/":
		return FloatValue(x / y), nil
	}
	if a.Kind == Int && b.Kind == Int {
		return integer(op, a.Int, b.Int)
	}
	switch op {
	case "+":
		return FloatValue(x + y), nil
	case "-":
		return FloatValue(x - y), nil
	case "*":
		return FloatValue(x * y), nil
	case "//":
		return FloatValue(math.Floor(x / y)), nil
	}
	return Value{}, fmt.Errorf("%v %s %v", a.Kind, op, b.Kind)
}

func integer(op string, a, b int64) (Value, error) {
	switch op {
	case "+":
		if c := a + b; (c > a) == (b > 0) {
			return IntValue(c), nil
		}
	case "-":
		if c := a - b; (c < a) == (b > 0) {
			return IntValue(c), nil
		}
	case "*":
		if c := a * b; a == 0 || c/a == b && !(a == -1 && b == math.MinInt64) {
			return IntValue(c), nil
		}
	case "//", "%":
		if b == 0 {
			return Value{}, refuse("%d %s 0", a, op)
		}
		if b == -1 {
			if op == "%" {
				return IntValue(0), nil
			}
			return integer("-", 0, a)
		}
		q, r := a/b, a%b
		if r != 0 && (r < 0) != (b < 0) {
			q, r = q-1, r+b
		}
		if op == "%" {
			return IntValue(r), nil
		}
		return IntValue(q), nil
	}
	return Value{}, refuse("%d %s %d does not fit 64 bits", a, op, b)
}

// kernel emits an operation.
func (e *env) kernel(x *expr) (Value, error) {
	args, err := e.all(x.args)
	if err != nil {
		return Value{}, err
	}
	c := call{kernel: x.text, args: make([]portArg, 0, len(args))}
	for i, v := range args {
		c.args = append(c.args, portArg{x.ports[i], v})
	}
	for _, a := range x.attrs {
		v, err := e.eval(a.value)
		if err == nil {
			err = e.weigh(v)
		}
		if err != nil {
			return Value{}, err
		}
		if v.Kind != None {
			c.attrs = append(c.attrs, Attr{a.name, v})
		}
	}
	return e.m.call(c)
}

// describeShape writes a shape for messages.
func describeShape(shape []int64) string {
	return strings.ReplaceAll(fmt.Sprint(shape), " ", ", ")
}
