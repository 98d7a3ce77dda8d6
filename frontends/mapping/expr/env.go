package expr

import (
	"context"
	"fmt"
	"iter"

	"tensortapestry.org/tapc/frontends/foreign"
)

// Refusal says why an operation can not be mapped, in words for a user.
type Refusal struct {
	Reason string
	Input  string // the input of the graph that must be known when compiling, or ""
}

// Error gives the reason.
func (r *Refusal) Error() string { return r.Reason }

// Refuse makes a refusal.
func Refuse(format string, args ...any) error { return &Refusal{Reason: fmt.Sprintf(format, args...)} }

// Env is what the names in an expression stand for.
type Env struct {
	Vars  map[string]foreign.Value
	Lets  []Clause        // of the rule, up to where it is; computed when they are first needed
	Root  *Env            // that holds lets; nil for one without
	run   Run             // nil where only literals are allowed
	ctx   context.Context // with run
	steps *int
}

// Run is what expressions need of the mapping that they are a part of.
type Run interface {
	// Kernel makes an operation and gives its result, or the list of its results.
	Kernel(c Call) (foreign.Value, error)
	// Foreign maps an operation of the source that a rule stands for.
	Foreign(e *Env, x *Expr) (foreign.Value, error)
	// Function calls a function that is about the run: outputs, used, ordinal, in_range, result_shape, result_dtype.
	Function(name string, args []foreign.Value) (foreign.Value, error)
	// Origin says what a value is computed from, and which input of the graph that is, or "".
	Origin(t *foreign.Tensor) (what, input string)
}

// Call is a kernel call of a rule.
type Call struct {
	Kernel string
	Args   []PortArg
	Attrs  []foreign.Attr
}

// PortArg is an argument of a call: for a port, or "" by position.
type PortArg struct {
	Port  string
	Value foreign.Value
}

// NewCall makes a call with inputs by position.
func NewCall(kernel string, attrs []foreign.Attr, args ...foreign.Value) Call {
	c := Call{Kernel: kernel, Attrs: attrs}
	for _, a := range args {
		c.Args = append(c.Args, PortArg{"", a})
	}
	return c
}

// NewEnv makes an environment without names for a run. It counts its work in steps.
func NewEnv(ctx context.Context, run Run, steps *int, vars map[string]foreign.Value) *Env {
	return &Env{Vars: vars, run: run, ctx: ctx, steps: steps}
}

// maxSteps bounds the work of one rule, for lists may be as long as a model says: expressions that are evaluated, and elements of lists
// and bytes of strings that are made or looked at.
const maxSteps = 1 << 22

// spend counts steps. An interrupt is an error too.
func (e *Env) spend(n int) error {
	if e.steps == nil {
		return nil
	}
	before := *e.steps
	if *e.steps += n; *e.steps > maxSteps {
		return Refuse("it takes more than %d steps to map", maxSteps)
	}
	if e.run != nil && before>>12 != *e.steps>>12 && e.ctx.Err() != nil {
		return context.Cause(e.ctx)
	}
	return nil
}

// size gives the length of a list or a string, which is what it takes to look at it once.
func size(v foreign.Value) int { return len(v.List) + len(v.Str) }

// weigh counts all that a value holds, list by list: lists may share parts, so that one of a few steps can be longer than memory
// when it is written out.
func (e *Env) weigh(v foreign.Value) error {
	err := e.spend(1 + size(v))
	for i := 0; err == nil && i < len(v.List); i++ {
		err = e.weigh(v.List[i])
	}
	return err
}

// equal compares values.
func (e *Env) equal(a, b foreign.Value) (bool, error) {
	if a.Kind != foreign.List || b.Kind != foreign.List || len(a.List) != len(b.List) {
		return a.Equal(b), e.spend(min(size(a), size(b)))
	}
	same, err := true, e.spend(1+len(a.List))
	for i := 0; same && err == nil && i < len(a.List); i++ {
		same, err = e.equal(a.List[i], b.List[i])
	}
	return same, err
}

func (e *Env) child() *Env {
	c := &Env{Vars: make(map[string]foreign.Value, len(e.Vars)), Root: e.Root, run: e.run, ctx: e.ctx, steps: e.steps}
	for k, v := range e.Vars {
		c.Vars[k] = v
	}
	return c
}

// find gives the first position of a value, -1 if it is not there.
func (e *Env) find(list iter.Seq2[int, foreign.Value], v foreign.Value) (int64, error) {
	for i, x := range list {
		if same, err := e.equal(x, v); same || err != nil {
			return int64(i), err
		}
	}
	return -1, nil
}
