// Command scale races "tapc opt --passes=simplify,cse" against "mlir-opt --canonicalize --cse" on generated modules with the
// same operations, and prints a table of wall-clock times, their ratio and the peak memory of both.
//
//	go run ./tools/bench/scale -ops 1000,10000,100000 -rounds 5
//
// With -build it times the whole way to the C program, for graphs that hang together in every way that has been slow:
//
//	go run ./tools/bench/scale -build all -ops 10000,100000 -rounds 1
//
// Rounds are interleaved and medians are given, so that a machine that is busy for a while harms both alike. Both programs
// read a file, verify after reading and after each pass, and write a file. mlir-opt is looked for on the path and, where it is
// missing, fetched with apt-get from Debian's mlir-19-tools into a temporary directory; the table is printed without it if that
// fails too, with the reason.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"

	"tensortapestry.org/tapc/tools/gengraph/gen"
)

// settings are what the command line asks for.
type settings struct {
	ops    []int
	rounds int
	shape  gen.Shape
	format string
	tapc   string
	mlir   string
	passes string
	shapes []string // to build instead of racing
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "scale:", err)
		os.Exit(1)
	}
}

func parse(args []string, stderr io.Writer) (settings, error) {
	var s settings
	fs := flag.NewFlagSet("scale", flag.ContinueOnError)
	fs.SetOutput(stderr)
	ops := fs.String("ops", "1000,10000,100000", "numbers of operations, with commas")
	shape := fs.String("shape", string(gen.Wide), "chain or wide (chains of 1000 side by side, functions for mlir-opt)")
	fs.IntVar(&s.rounds, "rounds", 5, "runs of each program on each module")
	fs.StringVar(&s.format, "format", "tap", "what tapc reads and writes: tap or loom")
	fs.StringVar(&s.tapc, "tapc", "", "the tapc to run; built from this tree if empty")
	fs.StringVar(&s.mlir, "mlir-opt", "", "the mlir-opt to run; looked for and fetched if empty")
	fs.StringVar(&s.passes, "passes", "simplify,cse", "tapc's passes")
	build := fs.String("build", "", `time "tapc build --emit=c" on graphs of these shapes instead: all, or names with commas`)
	if err := fs.Parse(args); err != nil {
		return s, err
	}
	if *build != "" {
		var err error
		if s.shapes, err = shapesOf(*build); err != nil {
			return s, err
		}
	}
	s.shape = gen.Shape(*shape)
	for _, text := range strings.Split(*ops, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil || n < 1 || n > 10_000_000 {
			return s, fmt.Errorf("-ops: expected numbers from 1 to 10000000, found %q", text)
		}
		s.ops = append(s.ops, n)
	}
	if s.rounds < 1 || fs.NArg() > 0 {
		return s, fmt.Errorf("expected at least one round and no arguments")
	}
	return s, nil
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	s, err := parse(args, stderr)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "scale-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if s.shapes != nil {
		return s.build(ctx, dir, stdout)
	}
	runners, err := s.runners(ctx, dir, stderr)
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%-9s %10s %10s %10s %12s %9s %9s\n", "ops", runners[0].name, "MLIR", "ratio", "ns/op", "MiB", "MLIR MiB")
	for _, n := range s.ops {
		if err := s.race(ctx, dir, n, runners); err != nil {
			return err
		}
		printRow(stdout, n, runners)
	}
	return nil
}

// runners gives tapc and, if there is one, mlir-opt.
func (s *settings) runners(ctx context.Context, dir string, stderr io.Writer) ([]*runner, error) {
	tapc, err := s.findTapc(ctx, dir)
	if err != nil {
		return nil, err
	}
	suffix := map[string]string{"tap": ".tap", "loom": ".loom.json"}[s.format]
	out := []*runner{{name: "tapc", input: "in" + suffix, format: s.format,
		args: func(in string) []string {
			return []string{tapc, "opt", "--passes=" + s.passes, in, "-o", filepath.Join(dir, "out"+suffix)}
		}}}
	mlir, env, err := findMLIR(ctx, s.mlir, dir)
	if err != nil {
		fmt.Fprintln(stderr, "scale: without mlir-opt:", err)
		return out, nil
	}
	return append(out, &runner{name: "mlir-opt", input: "in.mlir", format: "mlir", env: env,
		args: func(in string) []string {
			return []string{mlir, "--canonicalize", "--cse", in, "-o", filepath.Join(dir, "out.mlir")}
		}}), nil
}

func printRow(w io.Writer, n int, rs []*runner) {
	ours := median(rs[0].seconds)
	fmt.Fprintf(w, "%-9d %9.3fs ", n, ours)
	if len(rs) == 1 {
		fmt.Fprintf(w, "%10s %10s %12.0f %9.0f %9s\n", "-", "-", ours*1e9/float64(n), median(rs[0].mib), "-")
		return
	}
	theirs := median(rs[1].seconds)
	fmt.Fprintf(w, "%9.3fs %10.2f %12.0f %9.0f %9.0f\n", theirs, ours/theirs, ours*1e9/float64(n), median(rs[0].mib), median(rs[1].mib))
}
