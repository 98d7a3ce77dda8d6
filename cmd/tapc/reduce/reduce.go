// Package reduce shrinks graphs that show something, such as a fault of a compiler, to small ones that still show it.
//
// It is delta debugging (A. Zeller, R. Hildebrandt, "Simplifying and Isolating Failure-Inducing Input", IEEE TSE 2002) with
// the edits that a graph allows: drop nodes with what depends on them, merge shards, drop layers, ports, tags, parameters and
// labels, and make dimensions shorter. It must not import a pass or a back end. Read next: nodes.go.
package reduce

import (
	"context"
	"errors"
	"fmt"

	"tensortapestry.org/tapc/ir"
)

// Options say how to reduce. Test is asked whether a graph still shows what is looked for; it must not change the graph.
// Valid, if not nil, is asked first, and what it refuses is not tested. Tests bounds how often Test is asked; 0 is 100 000.
// Log, if not nil, is told of every success.
type Options struct {
	Test  func(context.Context, *ir.Graph) (bool, error)
	Valid func(context.Context, *ir.Graph) bool
	Tests int
	Log   func(what string, g *ir.Graph)
}

// Result is what came of a reduction.
type Result struct {
	Graph *ir.Graph
	Tests int  // that were run
	Full  bool // nothing more can be taken away; false if the bound on tests stopped it
}

// ErrNotShown says that the graph to be reduced does not show what is looked for.
var ErrNotShown = errors.New("the graph does not show what is looked for")

// ErrUnsteady says that a test gave two answers for one graph.
var ErrUnsteady = errors.New("the test does not always give the same answer")

// errBound ends a reduction that has used up its tests.
var errBound = errors.New("out of tests")

// Graph reduces a graph, which it does not change, until no edit that it knows makes it smaller and keeps what it shows. The
// result was tested once more at the end.
func Graph(ctx context.Context, g *ir.Graph, o Options) (*Result, error) {
	if o.Tests == 0 {
		o.Tests = 100_000
	}
	r := &reducer{Options: o, ctx: ctx, graph: g.Clone(), most: o.Tests}
	shown, err := r.ask(r.graph)
	if err == nil && !shown {
		err = ErrNotShown
	}
	if err != nil {
		return nil, err
	}
	err = r.all()
	if err != nil && !errors.Is(err, errBound) {
		return nil, err
	}
	full := err == nil
	r.most++ // for the last test
	if shown, err = r.ask(r.graph); err == nil && !shown {
		err = ErrUnsteady
	}
	return &Result{Graph: r.graph, Tests: r.tests, Full: full}, err
}

// reducer holds the smallest graph so far.
type reducer struct {
	Options
	ctx   context.Context
	graph *ir.Graph
	tests int
	most  int
}

// edit is one kind of reduction: it lists what can be taken away from a graph, and takes some of that away from a copy. An
// item that is gone already, or never was, is passed over. The number of changes tells whether there were any.
type edit struct {
	name  string
	items func(g *ir.Graph) []item
	apply func(g *ir.Graph, items []item) (changes int)
}

// item is a thing that can be taken away: a node and, within it, what the edit's numbers mean.
type item struct {
	node    ir.NodeID
	a, b, c int
}

// edits lists the kinds of reduction, those that take away most first.
var edits = []edit{
	{"drop the schedule", oneIf(hasSchedule), dropSchedule},
	{"drop the applications", oneIf(hasApplications), dropApplications},
	{"drop operations", operations, dropNodes},
	{"drop nodes", nodes, dropNodes},
	{"merge shards", sharded, mergeShards},
	{"drop ports", ports, dropPorts},
	{"drop tags", tags, dropTags},
	{"drop parameters", parameters, dropParameters},
	{"shorten dimensions", extents, shorten},
	{"drop labels", labels, dropLabels},
}

// all applies the edits until none has an effect.
func (r *reducer) all() error {
	for progress := true; progress; {
		progress = false
		for i := range edits {
			done, err := r.edit(&edits[i])
			if err != nil {
				return err
			}
			progress = progress || done
		}
	}
	return nil
}

// edit takes away items in chunks, all at first, then halves, down to single ones.
func (r *reducer) edit(e *edit) (progress bool, err error) {
	items := e.items(r.graph)
	for size := len(items); size > 0; size /= 2 {
		for at := 0; at < len(items); {
			end := min(at+size, len(items))
			done, err := r.try(e, items[at:end])
			if err != nil {
				return progress, err
			}
			if !done {
				at = end
				continue
			}
			progress = true
			items = append(items[:at:at], items[end:]...)
		}
	}
	return progress, nil
}

// try takes items away and keeps the result if it still shows what is looked for.
func (r *reducer) try(e *edit, items []item) (bool, error) {
	candidate := r.graph.Clone()
	n := e.apply(candidate, items)
	if n == 0 || r.Valid != nil && !r.Valid(r.ctx, candidate) {
		return false, context.Cause(r.ctx)
	}
	shown, err := r.ask(candidate)
	if err != nil || !shown {
		return false, err
	}
	r.graph = candidate
	if r.Log != nil {
		r.Log(fmt.Sprintf("%s: %d", e.name, n), candidate)
	}
	return true, nil
}

// ask runs the test.
func (r *reducer) ask(g *ir.Graph) (bool, error) {
	if err := context.Cause(r.ctx); err != nil {
		return false, err
	}
	if r.tests >= r.most {
		return false, errBound
	}
	r.tests++
	return r.Test(r.ctx, g)
}
