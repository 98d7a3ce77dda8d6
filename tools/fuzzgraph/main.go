// Fuzzgraph makes random graphs of the kernel library, takes them through the passes, builds and runs them, and compares every
// output with the reference evaluator's.
//
//	go run ./tools/fuzzgraph -for 1h
//	go run ./tools/fuzzgraph -for 1h -together 20 -processors native,x86-64,x86-64-v3
//
// A graph is a function of its seed. One that differs, or makes tapc fail, is made smaller and written to a folder, with its
// inputs and the command that runs it; the exit status is 1. Read next: graph.go.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"tensortapestry.org/tapc/ir/diag"
)

type settings struct {
	seed, count uint64
	duration    time.Duration
	backend     string
	folder      string
	corpus      string
	processors  string
	ops         int
	together    uint64
	keepGoing   bool
}

func main() {
	var s settings
	flag.Uint64Var(&s.seed, "seed", 1, "seed of the first graph; the others have the numbers after it")
	flag.Uint64Var(&s.count, "count", 0, "stop after this many graphs; 0 is no limit")
	flag.DurationVar(&s.duration, "for", time.Minute, "start no graph after this time")
	flag.StringVar(&s.backend, "backend", "cpu", "what runs the schedules: cpu, or reference, which needs no compiler")
	flag.StringVar(&s.folder, "folder", "fuzzgraph-failures", "folder that failing graphs are written to")
	flag.StringVar(&s.corpus, "write", "", "write the declared cases and -count random graphs, with inputs, to folders in this one, and run none")
	flag.IntVar(&s.ops, "ops", 24, "operations in a graph, at most")
	flag.StringVar(&s.processors, "processors", strings.Join(usualProcessors, ","), "processors that programs are built for; the seed of a graph says which")
	flag.Uint64Var(&s.together, "together", 1, "graphs in a program, which is then built in less time a graph")
	flag.BoolVar(&s.keepGoing, "keep-going", false, "go on after a failure")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ok, err := true, error(nil)
	if s.corpus != "" {
		err = s.writeCorpus(s.corpus)
	} else {
		ok, err = s.run(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "fuzzgraph:", err)
		os.Exit(diag.ExitUsage)
	}
	if !ok {
		os.Exit(diag.ExitInput)
	}
}

// run makes and tries graphs until time or number run out; ok is false if one failed.
func (s *settings) run(ctx context.Context) (ok bool, err error) {
	run, err := backendNamed(s.backend, strings.Split(s.processors, ","))
	if err != nil {
		return false, err
	}
	ok = true
	var total tally
	start, said := time.Now(), time.Now()
	for n := uint64(0); (s.count == 0 || n < s.count) && time.Since(start) < s.duration && ctx.Err() == nil; n += max(s.together, 1) {
		first, end := s.seed+n, s.seed+n+max(s.together, 1)
		if s.count > 0 {
			end = min(end, s.seed+s.count)
		}
		var list []*graph
		for seed := first; seed < end; seed++ {
			g, err := generate(seed, s.ops)
			if err != nil {
				ok = false
				fmt.Printf("seed %d: %v\n", seed, err)
				continue
			}
			list = append(list, g)
		}
		failed, err := s.tryTogether(ctx, run, list, &total)
		if err != nil {
			return false, err
		}
		if ok = ok && !failed; !ok && !s.keepGoing {
			break
		}
		if time.Since(said) > time.Minute {
			said = time.Now()
			fmt.Printf("%v: %v\n", time.Since(start).Round(time.Second), &total)
		}
	}
	fmt.Printf("%v: %v\n", time.Since(start).Round(time.Second), &total)
	return ok, nil
}

// tryTogether tries graphs in one program, and if that fails each alone. What fails, which is all of them if none does so alone, is made smaller and saved.
func (s *settings) tryTogether(ctx context.Context, run backend, list []*graph, total *tally) (failed bool, err error) {
	if len(list) == 0 {
		return false, nil
	}
	g := joined(list)
	fault := g.try(ctx, run, total)
	if fault == nil || ctx.Err() != nil {
		return false, nil
	}
	if len(list) > 1 {
		for _, one := range list {
			alone, err := s.tryTogether(ctx, run, []*graph{one}, nil)
			if err != nil {
				return true, err
			}
			failed = failed || alone
		}
		if failed {
			return true, nil
		}
	}
	fmt.Printf("seed %d: %v\n", g.seed, fault)
	small := g.reduce(ctx, run)
	dir := filepath.Join(s.folder, fmt.Sprint(g.seed))
	if err := small.save(dir, small.try(ctx, run, nil)); err != nil {
		return true, err
	}
	fmt.Printf("seed %d: reduced to %d of %d operations, in %s\n", g.seed, small.kept(), len(g.steps), dir)
	return true, nil
}

// tally counts what has been compared.
type tally struct {
	graphs, operations, compared, unstable int
	kernels                                map[string]bool
}

func (t *tally) add(g *graph, compared, unstable int) {
	if t.kernels == nil {
		t.kernels = map[string]bool{}
	}
	t.graphs += g.joins
	t.operations += g.kept()
	t.compared += compared
	t.unstable += unstable
	for _, s := range g.steps {
		t.kernels[s.decl.Name] = true
	}
}

// String says how much was compared, and how much could not be because rounding decides it.
func (t *tally) String() string {
	return fmt.Sprintf("%d graphs, %d operations of %d kernels, %d numbers compared, %d left out", t.graphs, t.operations, len(t.kernels), t.compared, t.unstable)
}
