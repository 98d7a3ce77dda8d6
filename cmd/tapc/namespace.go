package main

import (
	"context"
	"path/filepath"

	"github.com/spf13/cobra"

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

func (a *app) namespaceCommand() *cobra.Command {
	c := &cobra.Command{Use: "namespace", Short: "List, show and compare the vocabularies of graphs", Long: namespaceHelp, Args: needCommand,
		Example: "  tapc namespace show onnx/17 Gemm\n  tapc namespace diff onnx/12 onnx/13\n  tapc namespace check model.onnx"}
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		a.started = true
		return cmd.Help()
	}
	c.AddCommand(a.namespaceListCommand(), a.namespaceShowCommand(), a.namespaceDiffCommand(), a.namespaceCheckCommand())
	return c
}

// needCommand refuses words that are no command.
func needCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, c := range cmd.Commands() {
		names = append(names, c.Name())
	}
	return diag.Unknown("command", args[0], names)
}

// jsonFlag adds the flag for an answer in JSON.
func jsonFlag(c *cobra.Command) *bool { return c.Flags().Bool("json", false, "answer in JSON") }

func (a *app) namespaceListCommand() *cobra.Command {
	c := &cobra.Command{Use: "list [--json]", Short: "List the dictionaries, their versions and how many operators they have", Args: cobra.NoArgs,
		Example: "  tapc namespace list"}
	asJSON := jsonFlag(c)
	return a.command(c, func(context.Context, []string) error { return a.imports.vocabularies.List(a.stdout, *asJSON) })
}

func (a *app) namespaceShowCommand() *cobra.Command {
	c := &cobra.Command{Use: "show NAMESPACE [OPERATOR...]", Short: "Show a namespace's operators, or some of them at every version that changed them",
		Args: cobra.MinimumNArgs(1), Example: "  tapc namespace show tensorflow/1.13.1\n  tapc namespace show onnx/17 Gemm Relu"}
	c.Long = "Show a namespace's operators in the form of dictionaries, one a line, or those that are\nnamed with their history: the line that holds at the namespace's version has a mark."
	asJSON := jsonFlag(c)
	return a.command(c, func(_ context.Context, args []string) error {
		return a.imports.vocabularies.Show(a.stdout, args[0], args[1:], *asJSON)
	})
}

func (a *app) namespaceDiffCommand() *cobra.Command {
	c := &cobra.Command{Use: "diff NAMESPACE NAMESPACE", Short: "Show what the second namespace has that the first has not, or otherwise",
		Args: cobra.ExactArgs(2), Example: "  tapc namespace diff onnx/12 onnx/13"}
	asJSON := jsonFlag(c)
	return a.command(c, func(_ context.Context, args []string) error {
		return a.imports.vocabularies.Diff(a.stdout, args[0], args[1], *asJSON)
	})
}

func (a *app) namespaceCheckCommand() *cobra.Command {
	c := &cobra.Command{Use: "check FILE...", Short: "Hold ONNX models and Amanda graphs to the dictionaries of their namespaces", Args: needFiles(1, 0),
		Example: "  tapc namespace check model.onnx"}
	c.Long = "Hold graphs to the dictionaries of their namespaces: every operator is there at its\nversion, with as many ports, with the attributes and of the element types that it has."
	return a.command(c, func(ctx context.Context, args []string) error {
		var list diag.List
		for _, name := range args {
			text, file, err := a.readFile(ctx, name)
			if err != nil {
				return err
			}
			data, err := text.Bytes()
			if err != nil {
				return err
			}
			f, err := detect(file, text.Data)
			if err != nil {
				return err
			}
			a.sources[file] = source{f, text}
			found, n, err := checkNamespace(data, file, &a.imports)
			if err != nil {
				return err
			}
			list = append(list, found...)
			if !found.HasErrors() {
				a.report(found) // warnings
				a.printf("%s: %d operators, as their namespaces have them\n", name, n)
			}
		}
		return list.Err()
	})
}

// checkNamespace checks one file, and says how many operators it has.
func checkNamespace(data []byte, file string, o *importFlags) (diag.List, int, error) {
	if !isAmanda(data) {
		m, err := onnx.Read(data, file)
		if err != nil {
			return nil, 0, err
		}
		return o.vocabularies.Set().Check(m.Graph, func(domain, op string) bool { return m.Function(domain, op) != nil }), len(m.Graph.Ops), nil
	}
	g, err := readAmanda(data, file, &o.vocabularies)
	if err != nil {
		return nil, 0, err
	}
	fg, err := amanda.Lower(g, filepath.Dir(file), o.vocabularies.Set())
	if err != nil {
		return nil, 0, err
	}
	return o.vocabularies.Set().Check(fg, amanda.IsAdded), len(fg.Ops), nil
}
