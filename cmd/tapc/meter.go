package main

import (
	"io"

	"tensortapestry.org/tapc/cmd/tapc/progress"
)

// progressForms are the values of --progress.
var progressForms = []string{"auto", string(progress.None), string(progress.JSON)}

// meter puts a meter before standard error, if progress is to be shown there.
func (r *reportFlags) meter(stderr io.Writer) io.Writer {
	form := progress.Form(r.progress)
	if r.progress == "auto" && !r.verbose && progress.IsTerminal(stderr) {
		form = progress.Terminal
	}
	if form != progress.Terminal && form != progress.JSON {
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
