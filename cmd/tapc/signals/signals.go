// Package signals ends work at a signal of the system, and says how a program that one ended exits.
package signals

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"

	"tensortapestry.org/tapc/ir/diag"
)

// Exit statuses beyond those of package diag: 128 and the signal's number, as shells have it.
const (
	exitHungUp      = 129
	exitInterrupted = 130
	exitTerminated  = 143
)

// ended is how a run ends that a signal cut short.
type ended struct {
	what   string
	status int
	signal os.Signal
	kept   bool
}

func (s ended) Error() string {
	if s.kept {
		return s.what + "; what was found until then was written"
	}
	return s.what + "; nothing was written"
}

// Context gives a context that SIGINT, SIGTERM and, unless nohup made it ignored, SIGHUP end. A second signal kills the process.
func Context() (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(signals, syscall.SIGHUP)
	}
	go func() {
		s, ok := <-signals
		if !ok {
			return
		}
		signal.Stop(signals)
		e := ended{"interrupted", exitInterrupted, s, false}
		switch s {
		case syscall.SIGTERM:
			e.what, e.status = "terminated", exitTerminated
		case syscall.SIGHUP:
			e.what, e.status = "hung up", exitHungUp
		}
		cancel(e)
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(signals)
		cancel(nil)
	}
}

// Of gives the error of the signal that ended a context, or nil.
func Of(ctx context.Context) error {
	var s ended
	if errors.As(context.Cause(ctx), &s) {
		return s
	}
	return nil
}

// Keeping gives the error of the signal that ended a context, after which the work wrote what it had; nil if none did.
func Keeping(ctx context.Context) error {
	var s ended
	if errors.As(context.Cause(ctx), &s) {
		s.kept = true
		return s
	}
	return nil
}

// Cut gives the error of a run that ended with err: that of the signal which cut it short, or err without one. Work that a signal met when it was done has written what it was to.
func Cut(ctx context.Context, err error) error {
	var s ended
	switch cause := Of(ctx); {
	case cause == nil || errors.As(err, &s) && s.kept:
		return err
	case err == nil:
		return Keeping(ctx)
	default:
		return cause
	}
}

// Status is the exit status of an error that a signal made, 0 for others.
func Status(err error) int {
	var s ended
	errors.As(err, &s)
	return s.status
}

// Reported gives the diagnostics of an error that ends a run. Nobody is at fault for one that a signal made, so it has no code.
func Reported(err error) diag.List {
	if Status(err) != 0 {
		return diag.FromError(err)
	}
	return diag.Reported(err)
}

// Received gives the signal that ended a context, for programs that it shall reach.
func Received(ctx context.Context) os.Signal {
	var s ended
	if errors.As(context.Cause(ctx), &s) {
		return s.signal
	}
	return os.Interrupt
}
