package main

import (
	"io"

	"tensortapestry.org/tapc/cmd/tapc/progress"
)

// meter puts a meter before standard error, if progress is to be shown there and none is.
func (r *reportFlags) meter(stderr io.Writer) io.Writer {
	form := r.progress.Form(stderr)
	if _, is := stderr.(*progress.Meter); is || form == progress.None || form == progress.Terminal && r.verbose {
		return stderr
	}
	return progress.New(stderr, form)
}

// endProgress takes a meter away from standard error.
func endProgress(a *app, done bool) {
	if m, ok := a.stderr.(*progress.Meter); ok {
		a.stderr = m.End(done)
	}
}

// backendWork is what progress says while a back end works.
const backendWork = "waiting for the back end and its compiler"
