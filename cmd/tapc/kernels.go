package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"tensortapestry.org/tapc/backends/reference"
	"tensortapestry.org/tapc/cmd/tapc/content"
	"tensortapestry.org/tapc/cmd/tapc/guide"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/declaration"
	"tensortapestry.org/tapc/internal/inputfile"
	"tensortapestry.org/tapc/ir/diag"
)

const kernelsHelp = `List the kernels that graphs can use or, with names, show the pages of kernels.

A name may have one of the namespaces that graphs use: op:matmul, tapc:matmul.
Operands show their element type and index string: how the kernel's dimensions address
the tensor. *s is any number of dimensions; "broadcast" stretches sizes of 1, as NumPy
does; "drop", "keep" and "permute" name the parameter that says which dimensions; what
stands behind = is the coordinate that is read. docs/kernels.md explains the rest.

--kernels FILE, which every command has, adds kernels declared in a file, and computes their
cases: a wrong one is an error.`

func (a *app) kernelsCommand() *cobra.Command {
	c := &cobra.Command{Use: "kernels [NAME...]", Short: "List kernels or show their pages", Long: kernelsHelp,
		Example: "  tapc kernels\n  tapc kernels matmul linear\n  tapc kernels --format=json --kernels mine.kernel mine:cube", ValidArgs: kernels.Builtin().Names()}
	format := c.Flags().String("format", "text", "form of the output: text or json")
	words(c, "format", kernelFormats)
	return a.command(c, func(_ context.Context, names []string) error {
		lib := a.plugins.library()
		if len(names) == 0 && *format == "text" {
			a.printf("%s", guide.KernelList(lib))
			return nil
		}
		pages, err := guide.KernelPages(lib, names)
		if err != nil {
			return err
		}
		if *format == "json" {
			e := json.NewEncoder(a.stdout)
			e.SetEscapeHTML(false)
			e.SetIndent("", "  ")
			return e.Encode(pages)
		}
		for i, p := range pages {
			if i > 0 {
				a.printf("\n")
			}
			a.printf("%s", guide.KernelText(p))
		}
		return nil
	})
}

var kernelFormats = []string{"text", "json"}

// addKernels makes the kernels declared in the files of --kernels known.
func (a *app) addKernels(ctx context.Context) error {
	lib := kernels.Builtin()
	for _, file := range a.kernelFiles {
		a.started = true // what is wrong now is wrong in a file
		text, err := inputfile.ReadText(file, inputfile.MaxText)
		if err != nil {
			return fmt.Errorf("--kernels: %w", err)
		}
		a.sources[file] = source{&form{}, &content.Content{Data: text}}
		more, err := lib.With(file, string(text), "")
		if err != nil {
			return kernelFault(err)
		}
		if err := checkCases(ctx, lib, more); err != nil {
			return err
		}
		lib = more
	}
	a.plugins.base = lib
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
