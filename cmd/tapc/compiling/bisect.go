package compiling

import (
	"context"
	"fmt"

	"tensortapestry.org/tapc/cmd/tapc/app"
	"tensortapestry.org/tapc/cmd/tapc/guide"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/passes/pipeline"
)

// bisection looks for the rewrite that turns a good result of a pipeline into a bad one.
type bisection struct {
	flags *PassFlags
	p     pipeline.Pipeline
	g     *ir.Graph
	judge *Judge
	said  string // by the command with the rewrite that is found
}

// Bisect prints the first rewrite with which the command fails (or the pipeline itself) and without which it does not.
func Bisect(ctx context.Context, a *app.App, f *PassFlags, p pipeline.Pipeline, g *ir.Graph, command string) error {
	j, remove, err := NewJudge(a, command, f.Loader(g, p.Paths()))
	if err != nil {
		return err
	}
	defer remove()
	quiet := *f
	quiet.print, quiet.Report, quiet.dumpDir, quiet.reproducers = printFlags{}, reportFlags{}, "", ""
	b := &bisection{flags: &quiet, p: p, g: g, judge: j}
	all, last, err := b.good(ctx, f.Fuel)
	switch {
	case err != nil:
		return err
	case all:
		return fmt.Errorf("nothing to find: the command succeeds after all %d rewrites", last.Applied)
	}
	none, _, err := b.good(ctx, 0)
	switch {
	case err != nil:
		return err
	case !none:
		return fmt.Errorf("nothing to find: the command fails without any rewrite%s", guide.Said(", and says:", j.said))
	}
	return b.search(ctx, last.Applied)
}

// search halves the distance between a number of rewrites that is good, 0, and one that is bad.
func (b *bisection) search(ctx context.Context, bad int) error {
	most, good := bad, 0
	var found *pipeline.Result
	for good+1 < bad || found == nil {
		n := (good + bad + 1) / 2
		if good+1 == bad {
			n = bad // to know which rewrite it is
		}
		ok, result, err := b.good(ctx, n)
		if err != nil {
			return err
		}
		if ok {
			good = n
		} else {
			bad, found, b.said = n, result, b.judge.said
		}
		if good >= bad {
			return fmt.Errorf("the command does not always say the same: it failed with %d rewrites, and now it does not", bad)
		}
	}
	b.flags.App.Printf("rewrite %d of %d: %v (%d runs)\n--fuel=%d is good, --fuel=%d is bad\n", bad, most, found.Last, b.judge.runs, good, bad)
	b.flags.App.Printf("%s%s\n", b.blame(found.Last), guide.Said("\nwith it, the command says:", b.said))
	return nil
}

// blame says whose rule it is.
func (b *bisection) blame(x pipeline.Application) string {
	for i := range b.p.Steps {
		if s := &b.p.Steps[i]; s.Pass != nil && s.Pass.Name == x.Pass && s.Supplied(x) {
			return "the rule is yours, from " + x.Source
		}
	}
	return "the rule is one of the pass: unless the command asks for too much, tapc is at fault"
}

// good says whether the result with so much fuel is good. A fault of a pass is bad.
func (b *bisection) good(ctx context.Context, fuel int) (bool, *pipeline.Result, error) {
	b.flags.Fuel = fuel
	result, err := b.flags.RunPasses(ctx, b.p, b.g.Clone())
	if cause := context.Cause(ctx); cause != nil {
		return false, nil, cause
	}
	if err != nil {
		if diag.ExitStatus(err) != diag.ExitInternal {
			return false, nil, err
		}
		b.judge.runs++
		b.judge.said = err.Error()
		return false, result, nil
	}
	ok, err := b.judge.Good(ctx, result.Graph)
	return ok, result, err
}
