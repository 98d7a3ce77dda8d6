package app

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"tensortapestry.org/tapc/backends/reference"
	"tensortapestry.org/tapc/cmd/tapc/content"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/declaration"
	"tensortapestry.org/tapc/internal/inputfile"
	"tensortapestry.org/tapc/ir/diag"
)

// AddKernels makes the kernels declared in the files of --kernels known.
func (a *App) AddKernels(ctx context.Context) error {
	lib := kernels.Builtin()
	for _, file := range a.KernelFiles {
		a.Started = true // what is wrong now is wrong in a file
		text, err := inputfile.ReadText(file, inputfile.MaxText)
		if err != nil {
			return fmt.Errorf("--kernels: %w", err)
		}
		a.Sources[file] = Source{Text: &content.Content{Data: text}}
		more, err := lib.With(file, string(text), "")
		if err != nil {
			return kernelFault(err)
		}
		if err := checkCases(ctx, lib, more); err != nil {
			return err
		}
		lib = more
	}
	a.Plugins.base = lib
	return nil
}

// checkCases computes the cases of the kernels that a library has more than another.
func checkCases(ctx context.Context, old, lib *kernels.Library) error {
	for _, name := range lib.Names() {
		if _, ok := old.Find(name); ok {
			continue
		}
		d, _ := lib.Find(name)
		for _, c := range d.Cases {
			if err := reference.CheckCase(ctx, lib, d, c); err != nil {
				return diag.Errorf("TAP0603", kernels.ConstraintID, diag.Location{File: d.File, Line: c.Line}, "kernel %s, in a case: %v", name, err)
			}
		}
	}
	return nil
}

// kernelFault turns what is wrong with declarations into a diagnostic.
func kernelFault(err error) error {
	var at *declaration.SyntaxError
	if !errors.As(err, &at) {
		return err
	}
	message, expected, found := at.Err.Error(), "", ""
	if head, tail, ok := strings.Cut(message, "expected "); ok {
		if want, have, ok := strings.Cut(tail, ", found "); ok {
			message, expected, found = strings.TrimRight(head, ": "), want, have
		}
	}
	if message == "" {
		message = "this is no clause of a declaration"
	}
	return diag.Errorf("TAP0603", kernels.ConstraintID, diag.Location{File: at.File, Line: at.Line}, "%s", message).Want(expected, found)
}
