package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"tensortapestry.org/tapc/backends/cpu"
	"tensortapestry.org/tapc/internal/outputfile"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/passes/pipeline"
)

// release is the version that programs carry.
const release = "0.1.0"

const buildHelp = `Compile a graph file to an executable.

The program needs neither tapc nor Go; PROGRAM --help says what it takes. Constants
that the graph names in data files beside it, or that --bind names, travel inside or,
with --weights=file, in a file beside the program, PROGRAM.weights. What the program has
in memory at most is known (PROGRAM --describe); it ends with exit status 3 before it
begins where that cannot be had.

--emit=lib writes a shared library to -o instead, and --emit=obj an object file to link
into a program of your own (with -pthread -lm). Beside either stands its C header, -o with
.h for its suffix: functions that create an instance, run it on your buffers, describe
it and destroy it, and what each buffer holds.

--emit also stops earlier and writes what there is then, to -o or standard output:
  operations    the verified Operation Expression
  applications  the Application Expression, after sharding
  schedule      the Scheduled Kernels
  c             the C program (--target=cpu)
  cuda          the CUDA kernels (--target=cuda)
Without a C compiler, build says what to install and ends with exit status 3.`

var emits = []string{"exe", "lib", "obj", "operations", "applications", "schedule", "c", "cuda"}

func (a *app) buildCommand() *cobra.Command {
	c := &cobra.Command{Use: "build FILE -o PROGRAM", Short: "Compile a graph file to an executable", Long: buildHelp, Args: needFiles(1, 1),
		Example: "  tapc build model.loom.json -o model\n  tapc build model.tap --shard 'op:linear=2x2' -o model\n" +
			"  tapc build model.onnx --emit=lib --cpu=portable -o libmodel.so\n  tapc build model.loom.json --target=cuda --emit=cuda -o model.cu"}
	f := a.addCompileFlags(c)
	out := c.Flags().StringP("output", "o", "", "file to write; \"-\" is standard output")
	emit := c.Flags().String("emit", "exe", "what to write: exe, lib, obj, operations, applications, schedule, c or cuda")
	c.Flags().StringVar(&f.backend, "backend", "", "let this back end of a plugin write its files into the directory -o")
	c.Flags().StringVar(&f.target, "target", "cpu", "what the program runs on: cpu or cuda")
	c.Flags().StringVar(&f.weights, "weights", "embed", "where constants go: embed, into the program; or file, to a file beside it that the program maps")
	complete(c, "weights", weightWords)
	complete(c, "emit", emits)
	complete(c, "target", targets)
	return a.command(c, func(ctx context.Context, args []string) error {
		if err := oneOf("--emit", *emit, emits); err != nil {
			return err
		}
		if err := oneOf("--target", f.target, targets); err != nil {
			return err
		}
		if err := oneOf("--weights", f.weights, weightWords); err != nil {
			return err
		}
		return a.build(ctx, args[0], *out, *emit, f)
	})
}

func (a *app) build(ctx context.Context, file, out, emit string, f *compileFlags) error {
	binary := emit == "exe" || emit == "lib" || emit == "obj"
	switch {
	case binary && out == "":
		return diag.Usage("build needs -o PROGRAM")
	case binary && f.backend == "" && out == stdName:
		return diag.Usage("--emit=%s needs the name of a file: -o FILE", emit)
	case f.backend != "" && (emit != "exe" || out == stdName):
		return diag.Usage("--backend writes files into the directory -o, and does not go with --emit")
	case binary && f.target == "cuda" && f.backend == "":
		return diag.Usage("--target=cuda gives kernels so far, not programs: use --emit=cuda")
	case f.weights == "file" && (emit != "exe" || f.backend != ""):
		return diag.Usage("--weights=file is for programs, and does not go with --emit=%s or --backend", emit)
	case emit == "c" && f.target != "cpu" || emit == "cuda" && f.target != "cuda":
		return diag.Usage("--emit=%s does not go with --target=%s", emit, f.target)
	}
	if out == "" {
		out = stdName
	}
	if binary && f.backend == "" {
		if err := outputfile.Check(out); err != nil {
			return err
		}
	}
	var cc *cpu.Compiler
	if binary && f.backend == "" {
		var err error
		if cc, err = cpu.FindCompiler(ctx); err != nil {
			return err
		}
	}
	c, err := a.compile(ctx, file, f, lastStage(emit))
	if err != nil {
		return err
	}
	defer c.loader.Close()
	if f.backend != "" {
		return a.buildWith(ctx, c, f.backend, programName(file), out)
	}
	switch emit {
	case "exe", "lib", "obj":
		return c.binary(ctx, programName(file), out, emit, cc)
	case "c", "cuda":
		text, err := c.sourceText(ctx, programName(file))
		if err != nil {
			return err
		}
		return a.writeFile(ctx, out, func(w io.Writer) error { _, err := io.WriteString(w, text); return err })
	}
	return a.store(ctx, out, "", c.g, c.loader, shown{})
}

// lastStage gives the stage that an output is written at.
func lastStage(emit string) pipeline.Stage {
	switch emit {
	case "operations":
		return pipeline.OperationExpression
	case "applications":
		return pipeline.ApplicationExpression
	}
	return pipeline.ScheduledKernels
}
