package signals

import (
	"context"
	"errors"
	"syscall"
	"testing"
)

func TestCut(t *testing.T) {
	live, stop := context.WithCancel(t.Context())
	defer stop()
	cut, cancel := context.WithCancelCause(t.Context())
	cancel(ended{"interrupted", exitInterrupted, syscall.SIGINT, false})
	wrong := errors.New("wrong")
	for _, c := range []struct {
		name string
		ctx  context.Context
		err  error
		says string
	}{
		{"done", live, nil, ""},
		{"wrong", live, wrong, "wrong"},
		{"cut short", cut, wrong, "interrupted; nothing was written"},
		{"cut short, and kept", cut, Keeping(cut), "interrupted; what was found until then was written"},
		{"cut when it was done", cut, nil, "interrupted; what was found until then was written"},
	} {
		err := Cut(c.ctx, c.err)
		says := ""
		if err != nil {
			says = err.Error()
		}
		if says != c.says {
			t.Errorf("%s: %q, want %q", c.name, says, c.says)
		}
	}
}
