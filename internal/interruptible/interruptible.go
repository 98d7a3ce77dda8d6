// Package interruptible lets long computations end with a context that they do not ask. It imports nothing of tapc.
package interruptible

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"
)

// grace is how long a computation has to end by itself, as those do that ask the context.
const grace = 50 * time.Millisecond

// Run runs a computation and gives its error. If the context ends and the computation does not, it is left to itself and the error is the
// context's cause: until it ends, all that it works with is its own, and nobody may look at it. A panic of a computation that is
// waited for is one here.
func Run(ctx context.Context, work func() error) (left bool, err error) {
	if ctx.Done() == nil {
		return false, work()
	}
	done := make(chan outcome, 1)
	go func() {
		var o outcome
		defer func() {
			if p := recover(); p != nil {
				o.panicked = fmt.Sprintf("%v\n%s", p, debug.Stack())
			}
			done <- o
		}()
		o.err = work()
	}()
	select {
	case o := <-done:
		return false, o.give()
	case <-ctx.Done():
	}
	select {
	case o := <-done:
		return false, o.give()
	case <-time.After(grace):
		return true, context.Cause(ctx)
	}
}

// Value is Run for a computation that makes something: it gives that, or nothing with the context's cause once nobody waits for it.
func Value[T any](ctx context.Context, make func() (T, error)) (T, error) {
	var out T
	left, err := Run(ctx, func() (err error) {
		out, err = make()
		return err
	})
	if left {
		var none T
		return none, err
	}
	return out, err
}

// outcome is how a computation ended.
type outcome struct {
	err      error
	panicked string
}

func (o outcome) give() error {
	if o.panicked != "" {
		panic(o.panicked)
	}
	return o.err
}
