package main

import (
	"context"
	"path/filepath"

	"github.com/spf13/cobra"

	"tensortapestry.org/tapc/cmd/tapc/app"
	"tensortapestry.org/tapc/cmd/tapc/graphfiles"
	"tensortapestry.org/tapc/cmd/tapc/importflags"
	"tensortapestry.org/tapc/frontends/amanda"
	"tensortapestry.org/tapc/frontends/onnx"
	"tensortapestry.org/tapc/ir/diag"
)

const namespaceHelp = `Look up the vocabularies that graphs are written in.

A namespace is a dictionary at a version: onnx/17, onnx/ai.onnx.ml/3,
tensorflow/1.13.1, loom/2024-01, tapc/tensorops/1. Without a version it is the
newest. A dictionary says which operators there are, with their ports,
attributes, defaults and element types, since which version they are as they are
and, where they have one, the body that defines them.`

func namespaceCommand(a *app.App) *cobra.Command {
	c := &cobra.Command{Use: "namespace", Short: "List, show and compare the vocabularies of graphs", Long: namespaceHelp, Args: app.NeedCommand,
		Example: "  tapc namespace show onnx/17 Gemm\n  tapc namespace diff onnx/12 onnx/13\n  tapc namespace check model.onnx"}
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		a.Started = true
		return cmd.Help()
	}
	c.AddCommand(namespaceListCommand(a), namespaceShowCommand(a), namespaceDiffCommand(a), namespaceCheckCommand(a))
	return c
}

func namespaceListCommand(a *app.App) *cobra.Command {
	c := &cobra.Command{Use: "list [--json]", Short: "List the dictionaries, their versions and how many operators they have", Args: cobra.NoArgs,
		Example: "  tapc namespace list"}
	asJSON := app.JSONFlag(c)
	return a.Command(c, func(context.Context, []string) error { return a.Imports.Vocabularies.List(a.Stdout, *asJSON) })
}

func namespaceShowCommand(a *app.App) *cobra.Command {
	c := &cobra.Command{Use: "show NAMESPACE [OPERATOR...]", Short: "Show a namespace's operators, or some of them at every version that changed them",
		Args: cobra.MinimumNArgs(1), Example: "  tapc namespace show tensorflow/1.13.1\n  tapc namespace show onnx/17 Gemm Relu"}
	c.Long = "Show a namespace's operators in the form of dictionaries, one a line, or those that are\nnamed with their history: the line that holds at the namespace's version has a mark."
	asJSON := app.JSONFlag(c)
	return a.Command(c, func(_ context.Context, args []string) error {
		return a.Imports.Vocabularies.Show(a.Stdout, args[0], args[1:], *asJSON)
	})
}

func namespaceDiffCommand(a *app.App) *cobra.Command {
	c := &cobra.Command{Use: "diff NAMESPACE NAMESPACE", Short: "Show what the second namespace has that the first has not, or otherwise",
		Args: cobra.ExactArgs(2), Example: "  tapc namespace diff onnx/12 onnx/13"}
	asJSON := app.JSONFlag(c)
	return a.Command(c, func(_ context.Context, args []string) error {
		return a.Imports.Vocabularies.Diff(a.Stdout, args[0], args[1], *asJSON)
	})
}

func namespaceCheckCommand(a *app.App) *cobra.Command {
	c := &cobra.Command{Use: "check FILE...", Short: "Hold ONNX models and Amanda graphs to the dictionaries of their namespaces", Args: app.NeedFiles(1, 0),
		Example: "  tapc namespace check model.onnx"}
	c.Long = "Hold graphs to the dictionaries of their namespaces: every operator is there at its\nversion, with as many ports, with the attributes and of the element types that it has."
	return a.Command(c, func(ctx context.Context, args []string) error {
		var list diag.List
		for _, name := range args {
			text, file, err := graphfiles.ReadFile(ctx, a, name)
			if err != nil {
				return err
			}
			data, err := text.Bytes()
			if err != nil {
				return err
			}
			f, err := graphfiles.Detect(file, text.Data)
			if err != nil {
				return err
			}
			a.Sources[file] = graphfiles.SourceOf(f, text)
			found, n, err := checkNamespace(data, file, &a.Imports)
			if err != nil {
				return err
			}
			list = append(list, found...)
			if !found.HasErrors() {
				a.Report(found) // warnings
				a.Printf("%s: %d operators, as their namespaces have them\n", name, n)
			}
		}
		return list.Err()
	})
}

// checkNamespace checks one file, and says how many operators it has.
func checkNamespace(data []byte, file string, o *importflags.Flags) (diag.List, int, error) {
	if !graphfiles.IsAmanda(data) {
		m, err := onnx.Read(data, file)
		if err != nil {
			return nil, 0, err
		}
		return o.Vocabularies.Set().Check(m.Graph, func(domain, op string) bool { return m.Function(domain, op) != nil }), len(m.Graph.Ops), nil
	}
	g, err := graphfiles.ReadAmanda(data, file, &o.Vocabularies)
	if err != nil {
		return nil, 0, err
	}
	fg, err := amanda.Lower(g, filepath.Dir(file), o.Vocabularies.Set())
	if err != nil {
		return nil, 0, err
	}
	return o.Vocabularies.Set().Check(fg, amanda.IsAdded), len(fg.Ops), nil
}
