package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"tensortapestry.org/tapc/backends/constants"
	"tensortapestry.org/tapc/backends/cpu"
	"tensortapestry.org/tapc/backends/cpu/toolchain"
	"tensortapestry.org/tapc/dialects"
	dialect "tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/frontends/onnx"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/permission"
	"tensortapestry.org/tapc/ir/tensorfile"
	"tensortapestry.org/tapc/ir/text"
	"tensortapestry.org/tapc/passes/bind"
	"tensortapestry.org/tapc/passes/lower"
	"tensortapestry.org/tapc/passes/rewrite"
	"tensortapestry.org/tapc/passes/simplify"
	"tensortapestry.org/tapc/passes/standard"
)

// compile builds a library from a graph in the text form or an ONNX model, with the passes that tapc build runs, and prints what it may
// do to numbers.
func compile(ctx context.Context, s settings) error {
	file, data := s.args[0], ""
	if len(s.args) > 1 {
		data = s.args[1]
	}
	g, err := read(ctx, file)
	if err != nil {
		return err
	}
	if data != "" {
		if _, err := bind.Run(g, data); err != nil {
			return err
		}
	}
	if err := schedule(ctx, g, s.allow); err != nil {
		return err
	}
	fmt.Println(dialect.Allowed(g))
	cc, err := toolchain.FindCompiler(ctx)
	if err != nil {
		return err
	}
	name := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
	src, err := cpu.Prepare(g, name, "bench")
	if err != nil {
		return err
	}
	if os.Getenv("TAPC_SHOW") != "" {
		text, err := cpu.Emit(g, name, "bench")
		if err != nil {
			return err
		}
		fmt.Fprintln(os.Stderr, text.C)
	}
	loader := &constants.Loader{Dir: filepath.Dir(file), Allowed: []string{data, file}}
	defer loader.Close()
	load := func(c tensorops.Const) (tensorfile.Tensor, error) {
		return loader.Load(c, tensorops.TensorOf(g, c.Tensor))
	}
	return cpu.BuildLibrary(ctx, cc, src, load, s.compile, cpu.Options{Version: "bench", CPU: s.cpu})
}

// read reads a graph; models are read as tapc reads them.
func read(ctx context.Context, file string) (*ir.Graph, error) {
	source, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	if filepath.Ext(file) != ".onnx" {
		return text.Read(source, file, dialects.Registry())
	}
	m, err := onnx.Read(source, file)
	if err != nil {
		return nil, err
	}
	g, _, err := onnx.Import(ctx, m, onnx.Options{Library: kernels.Builtin()})
	return g, err
}

// schedule takes a graph from the Operation Expression to Scheduled Kernels.
func schedule(ctx context.Context, g *ir.Graph, allow permission.Set) error {
	if _, err := simplify.Run(ctx, g, nil, rewrite.Options{Allow: allow}); err != nil {
		return err
	}
	return standard.Run(g, kernels.Builtin(), lower.Options{Allow: allow}, cpu.Choosers()...)
}
