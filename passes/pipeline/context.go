package pipeline

import (
	"context"
	"log/slog"
	"runtime"
	"slices"
	"sync"

	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/permission"
	"tensortapestry.org/tapc/passes/rewrite"
)

// Context is what a pass works with. It is used by one goroutine.
type Context struct {
	Graph *ir.Graph    // may be changed and may be replaced
	Stage Stage        // what the graph is
	Dir   string       // directory that names of data files in the graph are relative to
	Log   *slog.Logger // for people who ask what a pass does; never nil

	pass *Pass
	OptionValues
	fuel *rewrite.Fuel // nil is any number
	run  *run
	left left
}

// left says that nobody waits for a pass any more. It then ends where it next turns to its context.
type left struct {
	mu  sync.Mutex
	yes bool
}

// leave returns when the pass is not at its run, and will not be.
func (c *Context) leave() {
	c.left.mu.Lock()
	c.left.yes = true
	c.left.mu.Unlock()
}

// with gives a pass its run, unless nobody waits for the pass.
func (c *Context) with(use func(r *run)) {
	c.left.mu.Lock()
	defer c.left.mu.Unlock()
	if c.left.yes {
		runtime.Goexit()
	}
	use(c.run)
}

// Count adds to a counter of the pass. Counters that stay 0 are not shown.
func (c *Context) Count(counter string, n int) {
	if n != 0 {
		c.with(func(r *run) { r.result.Stats.add(c.pass.Name, counter, n) })
	}
}

// Remark tells the user something that is not an error; severity Error becomes Warning.
func (c *Context) Remark(d diag.Diagnostic) {
	d.Severity = max(d.Severity, diag.Warning)
	c.with(func(r *run) {
		if r.Report != nil {
			r.Report(d)
		}
	})
}

// Disabled says whether the user turned a rule off.
func (c *Context) Disabled(rule string) bool { return slices.Contains(c.run.Disable, rule) }

// Take asks whether one change by a rule may happen at a node, and counts it: false if the rule is disabled or the fuel is
// used up. Passes built on package rewrite use Rewrites instead.
func (c *Context) Take(rule string, node ir.NodeID) bool {
	if c.Disabled(rule) || !c.fuel.Take() {
		return false
	}
	c.applied(rule, node, "")
	return true
}

// Rewrites gives the options for the rewrite driver: fuel, disabled rules and the count of what happens.
func (c *Context) Rewrites() rewrite.Options {
	return rewrite.Options{Fuel: c.fuel, Disable: c.run.Disable, Load: c.run.Load,
		Trace: func(x rewrite.Change) { c.applied(x.Rule, x.Root, x.Source) }}
}

// Allow gives the permissions of AllowOption.
func (c *Context) Allow() (permission.Set, error) {
	set, err := permission.Parse(c.Text(AllowOption.Name))
	if err != nil {
		return 0, diag.Usage("%s{%v}: %w", c.pass.Name, Setting{AllowOption.Name, c.Text(AllowOption.Name)}, err)
	}
	return set, nil
}

// applied notes one change, just before or after it happens. That it used fuel is counted at the end of the pass.
func (c *Context) applied(rule string, node ir.NodeID, source string) {
	last := Application{Pass: c.pass.Name, Rule: rule, Node: c.Graph.Name(node), Source: source}
	c.with(func(r *run) {
		r.result.Last = last
		r.result.Rules[rule]++
	})
	c.Count(rule, 1)
}

// Offered notes that a choice has a branch of a rule, beside the one that makes the choice.
func (c *Context) Offered(rule string) { c.with(func(r *run) { r.result.Rules[rule]++ }) }

// Verify verifies the graph against the constraints of its stage. A graph that an earlier pass made is that pass's fault.
func (c *Context) Verify(ctx context.Context) error {
	return c.run.verify(ctx, c.Graph, c.Stage, c.run.changed)
}
