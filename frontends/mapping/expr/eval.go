package expr

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"tensortapestry.org/tapc/frontends/foreign"
)

// Eval computes an expression. The error is a *Refusal where the rule does not apply, and another one where the rule is wrong.
func (e *Env) Eval(x *Expr) (foreign.Value, error) {
	if err := e.spend(1); err != nil {
		return foreign.Value{}, err
	}
	switch x.Kind {
	case KindLit:
		return x.Lit, nil
	case KindName:
		return e.Name(x.Text)
	case KindIf:
		c, err := e.truth(x.Args[0])
		if err != nil {
			return foreign.Value{}, err
		}
		if c {
			return e.Eval(x.Args[1])
		}
		return e.Eval(x.Args[2])
	case KindUnary, KindBinary:
		return e.operator(x)
	case KindList:
		l, err := e.All(x.Args)
		return foreign.Value{Kind: foreign.List, List: l}, err
	case KindFor:
		return e.each(x)
	case KindWith:
		v, err := e.Eval(x.Args[0])
		if err != nil {
			return foreign.Value{}, err
		}
		inner := e.child()
		inner.Vars[x.Text] = v
		return inner.Eval(x.Args[1])
	case KindFold:
		return e.fold(x)
	case KindIndex, KindSlice:
		return e.part(x)
	case KindDef:
		args, err := e.All(x.Args)
		if err != nil {
			return foreign.Value{}, err
		}
		return e.Apply(x.Def, args)
	}
	if e.run == nil {
		return foreign.Value{}, errors.New("expected a literal")
	}
	if x.Kind == KindKernel {
		return e.kernel(x)
	}
	if x.Kind == KindForeign {
		return e.run.Foreign(e, x)
	}
	args, err := e.All(x.Args)
	if err != nil {
		return foreign.Value{}, err
	}
	v, err := e.function(x.Text, args)
	if err != nil && !IsRefusal(err) {
		err = fmt.Errorf("%s: %w", x.Text, err)
	}
	return v, err
}

// function calls a built-in function.
func (e *Env) function(name string, args []foreign.Value) (foreign.Value, error) {
	work := 0
	if !atOnce[name] {
		for _, a := range args {
			work += size(a)
		}
	}
	if err := e.spend(work); err != nil {
		return foreign.Value{}, err
	}
	v, err := functions[name].call(e, args)
	if err == nil {
		err = e.spend(size(v))
	}
	return v, err
}

// Name gives what a name stands for. A let is computed when it is first needed, so that what no output needs costs nothing.
func (e *Env) Name(name string) (foreign.Value, error) {
	if v, ok := e.Vars[name]; ok || e.Root == nil {
		return v, nil
	}
	root := e.Root
	if v, done := root.Vars[name]; done {
		return v, nil
	}
	for i := range slices.Backward(root.Lets) {
		if c := &root.Lets[i]; slices.Contains(c.Names, name) {
			err := root.let(c)
			return root.Vars[name], err
		}
	}
	return foreign.Value{}, nil
}

// fold computes "fold acc = first for name in list do next".
func (e *Env) fold(x *Expr) (foreign.Value, error) {
	parts, err := e.All(x.Args[:2])
	if err != nil {
		return foreign.Value{}, err
	}
	if parts[1].Kind != foreign.List {
		return foreign.Value{}, fmt.Errorf("fold: expected a list, found %v", parts[1].Kind)
	}
	inner, acc := e.child(), parts[0]
	for _, v := range parts[1].List {
		inner.Vars[x.Ports[0]], inner.Vars[x.Text] = acc, v
		if acc, err = inner.Eval(x.Args[2]); err != nil {
			return foreign.Value{}, err
		}
	}
	return acc, nil
}

// WantedBy gives the input that must be known when compiling, of a refusal for want of it, or "".
func WantedBy(err error) string {
	if r := (*Refusal)(nil); errors.As(err, &r) {
		return r.Input
	}
	return ""
}

// IsRefusal says whether an error is a refusal.
func IsRefusal(err error) bool {
	var r *Refusal
	return errors.As(err, &r)
}

// All computes expressions in order.
func (e *Env) All(xs []*Expr) ([]foreign.Value, error) {
	out := make([]foreign.Value, len(xs))
	for i, x := range xs {
		var err error
		if out[i], err = e.Eval(x); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (e *Env) truth(x *Expr) (bool, error) {
	v, err := e.Eval(x)
	if err == nil && v.Kind != foreign.Bool {
		err = fmt.Errorf("expected a truth value, found %v", v.Kind)
	}
	return v.Int != 0, err
}

func (e *Env) each(x *Expr) (foreign.Value, error) {
	over, err := e.Eval(x.Args[1])
	if err != nil {
		return foreign.Value{}, err
	}
	if over.Kind != foreign.List {
		return foreign.Value{}, fmt.Errorf("for: expected a list, found %v", over.Kind)
	}
	inner := e.child()
	out := foreign.Value{Kind: foreign.List, List: []foreign.Value{}}
	for _, v := range over.List {
		inner.Vars[x.Text] = v
		if x.Args[2] != nil {
			ok, err := inner.truth(x.Args[2])
			if err != nil {
				return foreign.Value{}, err
			}
			if !ok {
				continue
			}
		}
		y, err := inner.Eval(x.Args[0])
		if err != nil {
			return foreign.Value{}, err
		}
		out.List = append(out.List, y)
	}
	return out, nil
}

// part gives an element or a slice of a list; negative positions count from the end, those of a slice are clamped.
func (e *Env) part(x *Expr) (foreign.Value, error) {
	list, err := e.Eval(x.Args[0])
	if err != nil {
		return foreign.Value{}, err
	}
	if list.Kind != foreign.List {
		return foreign.Value{}, fmt.Errorf("expected a list before \"[\", found %v", list.Kind)
	}
	n := int64(len(list.List))
	bound := [2]int64{0, n}
	for i, a := range x.Args[1:] {
		if a == nil {
			continue
		}
		v, err := e.Eval(a)
		if err != nil {
			return foreign.Value{}, err
		}
		if v.Kind != foreign.Int {
			return foreign.Value{}, fmt.Errorf("expected an integer between \"[\" and \"]\", found %v", v.Kind)
		}
		if bound[i] = v.Int; v.Int < 0 {
			bound[i] += n
		}
	}
	if x.Kind == KindIndex {
		if bound[0] < 0 || bound[0] >= n {
			return foreign.Value{}, Refuse("element %d of a list of %d is asked for", bound[0], n)
		}
		return list.List[bound[0]], nil
	}
	from, to := max(0, min(n, bound[0])), max(0, min(n, bound[1]))
	return foreign.Value{Kind: foreign.List, List: list.List[from:max(from, to)]}, nil
}

// kernel emits an operation.
func (e *Env) kernel(x *Expr) (foreign.Value, error) {
	args, err := e.All(x.Args)
	if err != nil {
		return foreign.Value{}, err
	}
	c := Call{Kernel: x.Text, Args: make([]PortArg, 0, len(args))}
	for i, v := range args {
		c.Args = append(c.Args, PortArg{x.Ports[i], v})
	}
	if c.Attrs, err = e.Attributes(x); err != nil {
		return foreign.Value{}, err
	}
	return e.run.Kernel(c)
}

// Attributes computes the attributes in the braces behind a call; one of the value none is left out.
func (e *Env) Attributes(x *Expr) ([]foreign.Attr, error) {
	var out []foreign.Attr
	for _, a := range x.Attrs {
		v, err := e.Eval(a.Value)
		if err == nil {
			err = e.weigh(v)
		}
		if err != nil {
			return nil, err
		}
		if v.Kind != foreign.None {
			out = append(out, foreign.Attr{Name: a.Name, Value: v})
		}
	}
	return out, nil
}

func (e *Env) operator(x *Expr) (foreign.Value, error) {
	if x.Text == "and" || x.Text == "or" {
		a, err := e.truth(x.Args[0])
		if err != nil || a == (x.Text == "or") {
			return foreign.BoolValue(a), err
		}
		b, err := e.truth(x.Args[1])
		return foreign.BoolValue(b), err
	}
	args, err := e.All(x.Args)
	if err != nil {
		return foreign.Value{}, err
	}
	if len(args) == 1 {
		return e.unary(x.Text, args[0])
	}
	a, b := args[0], args[1]
	if a.Kind == foreign.TensorKind || b.Kind == foreign.TensorKind {
		if name, ok := tensorOps[x.Text]; ok && e.run != nil {
			return e.run.Kernel(NewCall(name, nil, a, b))
		}
	}
	switch x.Text {
	case "==", "!=":
		same, err := e.equal(a, b)
		return foreign.BoolValue(same == (x.Text == "==")), err
	case "in":
		at, err := e.find(slices.All(b.List), a)
		return foreign.BoolValue(at >= 0), err
	case "+":
		if err := e.spend(size(a) + size(b)); err != nil {
			return foreign.Value{}, err
		}
		if a.Kind == foreign.List && b.Kind == foreign.List {
			return foreign.Value{Kind: foreign.List, List: append(append(make([]foreign.Value, 0, len(a.List)+len(b.List)), a.List...), b.List...)}, nil
		}
		if a.Kind == foreign.String && b.Kind == foreign.String {
			return foreign.StringValue(a.Str + b.Str), nil
		}
	}
	return arithmetic(x.Text, a, b)
}

func (e *Env) unary(op string, v foreign.Value) (foreign.Value, error) {
	switch {
	case op == "not" && v.Kind == foreign.Bool:
		return foreign.BoolValue(v.Int == 0), nil
	case op == "not" && v.Kind == foreign.TensorKind && e.run != nil:
		return e.run.Kernel(NewCall("not", nil, v))
	case op == "-" && v.Kind == foreign.Int && v.Int != math.MinInt64:
		return foreign.IntValue(-v.Int), nil
	case op == "-" && v.Kind == foreign.Float:
		return foreign.FloatValue(-v.Float), nil
	case op == "-" && v.Kind == foreign.TensorKind && e.run != nil:
		return e.run.Kernel(NewCall("neg", nil, v))
	}
	return foreign.Value{}, fmt.Errorf("%s of %v", op, v.Kind)
}

// Apply calls a function of a table.
func (e *Env) Apply(d *Def, args []foreign.Value) (foreign.Value, error) {
	inner := &Env{Vars: map[string]foreign.Value{}, run: e.run, ctx: e.ctx, steps: e.steps}
	for i, p := range d.Params {
		inner.Vars[p] = args[i]
	}
	return inner.Eval(d.Body)
}

// Need holds a clause without names: its reason is the refusal.
func (e *Env) Need(c *Clause) error {
	v, err := e.Eval(c.Value)
	switch {
	case err != nil:
		return err
	case v.Kind != foreign.Bool:
		return fmt.Errorf("need: expected a truth value, found %v", v.Kind)
	case v.Int == 0:
		return &Refusal{Reason: c.Reason}
	}
	return nil
}

// let binds the names of a clause.
func (e *Env) let(c *Clause) error {
	v, err := e.Eval(c.Value)
	switch {
	case err != nil:
		return err
	case len(c.Names) == 1:
		e.Vars[c.Names[0]] = v
	default:
		if v.Kind != foreign.List || len(v.List) < len(c.Names) {
			return fmt.Errorf("expected %d values, found %v", len(c.Names), v.Kind)
		}
		for i, name := range c.Names {
			e.Vars[name] = v.List[i]
		}
	}
	return nil
}

// ElementOf gives the only element of a constant; a value that is computed from inputs is refused with their name.
func ElementOf(run Run, v foreign.Value) (foreign.Value, error) {
	return value(&Env{run: run}, []foreign.Value{v})
}

// ElementsOf gives the elements of a constant as a list, flat.
func ElementsOf(run Run, v foreign.Value) (foreign.Value, error) {
	return values(&Env{run: run}, []foreign.Value{v})
}

// MakeTensor makes a constant of a number or a list of numbers, the name of a type and, if it is given, a list of sizes.
func MakeTensor(args ...foreign.Value) (foreign.Value, error) { return makeTensor(nil, args) }

// Literal computes an expression of literals.
func (x *Expr) Literal() (foreign.Value, error) { return (&Env{}).Eval(x) }
