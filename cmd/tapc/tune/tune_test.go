package tune

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"tensortapestry.org/tapc/internal/filecache"
)

// TestWait: a run waits while another has the lock of the cache, says so once, and can be ended; it goes on when the other has.
func TestWait(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("there may be no locks")
	}
	dir := t.TempDir()
	open := func() *filecache.Cache {
		c, err := filecache.At(dir)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	var log strings.Builder
	first := open()
	if err := wait(t.Context(), first, &log); err != nil || log.Len() > 0 {
		t.Fatalf("alone: %v, %q", err, log.String())
	}
	second := open()
	defer second.Close()
	stopped := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(250*time.Millisecond, func() { cancel(stopped) })
	if err := wait(ctx, second, &log); !errors.Is(err, stopped) || strings.Count(log.String(), "another tapc tune measures") != 1 {
		t.Errorf("beside another: %v, %q", err, log.String())
	}
	time.AfterFunc(150*time.Millisecond, first.Close)
	if err := wait(t.Context(), second, &log); err != nil {
		t.Errorf("after another: %v", err)
	}
}
