package interruptible

import (
	"context"
	"errors"
	"strings"
	"testing"
)

func TestRun(t *testing.T) {
	own, cause := errors.New("own"), errors.New("cause")
	ctx, cancel := context.WithCancelCause(t.Context())
	if left, err := Run(ctx, func() error { return own }); left || !errors.Is(err, own) {
		t.Errorf("%v, %v", left, err)
	}
	func() {
		defer func() {
			if p, ok := recover().(string); !ok || !strings.HasPrefix(p, "ouch\n") || !strings.Contains(p, "interruptible_test.go") {
				t.Errorf("panicked with %v", p)
			}
		}()
		Run(ctx, func() error { panic("ouch") })
	}()
	end := make(chan struct{})
	defer close(end)
	left, err := Run(ctx, func() error { cancel(cause); <-end; return nil })
	if !left || !errors.Is(err, cause) {
		t.Errorf("what does not end: %v, %v", left, err)
	}
	if left, err = Run(ctx, func() error { <-ctx.Done(); return own }); left || !errors.Is(err, own) {
		t.Errorf("what ends by itself: %v, %v", left, err)
	}
}

func TestValue(t *testing.T) {
	if got, err := Value(t.Context(), func() (int, error) { return 7, nil }); got != 7 || err != nil {
		t.Error(got, err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	stop, never := errors.New("stop"), make(chan struct{})
	defer close(never)
	cancel(stop)
	if got, err := Value(ctx, func() (int, error) { <-never; return 7, nil }); got != 0 || !errors.Is(err, stop) {
		t.Error(got, err)
	}
}
