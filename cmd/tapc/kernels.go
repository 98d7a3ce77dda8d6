package main

import (
	"context"
	"encoding/json"

	"github.com/spf13/cobra"

	"tensortapestry.org/tapc/cmd/tapc/app"
	"tensortapestry.org/tapc/cmd/tapc/guide"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
)

const kernelsHelp = `List the kernels that graphs can use or, with names, show the pages of kernels.

A name may have one of the namespaces that graphs use: op:matmul, tapc:matmul.
Operands show their element type and index string: how the kernel's dimensions address
the tensor. *s is any number of dimensions; "broadcast" stretches sizes of 1, as NumPy
does; "drop", "keep" and "permute" name the parameter that says which dimensions; what
stands behind = is the coordinate that is read. docs/kernels.md explains the rest.

--kernels FILE, which every command has, adds kernels declared in a file, and computes their
cases: a wrong one is an error.`

func kernelsCommand(a *app.App) *cobra.Command {
	c := &cobra.Command{Use: "kernels [NAME...]", Short: "List kernels or show their pages", Long: kernelsHelp,
		Example: "  tapc kernels\n  tapc kernels matmul linear\n  tapc kernels --format=json --kernels mine.kernel mine:cube", ValidArgs: kernels.Builtin().Names()}
	format := c.Flags().String("format", "text", "form of the output: text or json")
	app.Words(c, "format", kernelFormats)
	return a.Command(c, func(_ context.Context, names []string) error {
		lib := a.Plugins.Library()
		if len(names) == 0 && *format == "text" {
			a.Printf("%s", guide.KernelList(lib))
			return nil
		}
		pages, err := guide.KernelPages(lib, names)
		if err != nil {
			return err
		}
		if *format == "json" {
			e := json.NewEncoder(a.Stdout)
			e.SetEscapeHTML(false)
			e.SetIndent("", "  ")
			return e.Encode(pages)
		}
		for i, p := range pages {
			if i > 0 {
				a.Printf("\n")
			}
			a.Printf("%s", guide.KernelText(p))
		}
		return nil
	})
}

var kernelFormats = []string{"text", "json"}
