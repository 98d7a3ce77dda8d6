// Command gengraph writes a large generated graph to standard output:
//
//	gengraph -shape chain -ops 100000 -format tap > big.tap
//
// The same options always give the same bytes. Formats: tap (text), loom (Loom JSON), mlir (the same operations as an MLIR module).
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"tensortapestry.org/tapc/tools/gengraph/gen"
)

func main() {
	if err := run(os.Args[1:], os.Stdout, os.Stderr); err != nil {
		if err != flag.ErrHelp {
			fmt.Fprintln(os.Stderr, "gengraph:", err)
		}
		os.Exit(2)
	}
}

func run(args []string, stdout, stderr io.Writer) error {
	var o gen.Options
	fs := flag.NewFlagSet("gengraph", flag.ContinueOnError)
	fs.SetOutput(stderr)
	shape := fs.String("shape", string(gen.Chain), "chain, wide (chains of 1000 side by side), sharded (a chain cut into shards) or, as text only, "+
		strings.Join(gen.TextShapes(), ", "))
	format := fs.String("format", "tap", "tap, loom or mlir")
	fs.IntVar(&o.Ops, "ops", 1000, "number of operations")
	fs.IntVar(&o.Shards, "shards", 4, "shards of each operation, for sharded")
	fs.Int64Var(&o.Extent, "extent", 16, "extent of both dimensions of every tensor")
	fs.Uint64Var(&o.Seed, "seed", 1, "another seed gives another graph of the same kind")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if fs.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", fs.Arg(0))
	}
	if *format == "tap" && slices.Contains(gen.TextShapes(), *shape) {
		return gen.WriteText(stdout, *shape, o.Ops)
	}
	o.Shape = gen.Shape(*shape)
	sink, err := gen.NewSink(*format, stdout)
	if err != nil {
		return err
	}
	return gen.Generate(o, sink)
}
