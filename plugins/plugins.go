// Package plugins is what the author of a plugin for tapc imports.
//
// A plugin is a program whose main function calls Serve with a Plugin: a list of passes, kernel declarations, rewrite rules
// and back ends. tapc starts the program, asks it what it provides, and runs its passes by streaming graphs to it. A pass
// sees the graph through the same package ir as tapc's own. Nothing here starts a process or trusts one: that is
// plugins/host, which this package must not import. Read next: docs/plugins.md, then plugins/examples/linear-relu.
package plugins

import (
	"context"
	"log/slog"
	"math/rand/v2"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/passes/pipeline"
)

// Plugin is what a program provides. Name and Version are required, and at least one of the lists.
type Plugin struct {
	Name     string // lower-case words joined by hyphens
	Version  string // semantic version, such as 1.2.0
	Doc      string // one sentence
	Passes   []Pass
	Kernels  []Text // kernel declarations, in the language of tapc's own
	Rules    []Text // rewrite rules, in the language of tapc's own; each set becomes a pass
	Backends []Backend
	Mutators []Mutator // of searches for plans
	Terms    []Term    // of the costs of plans
}

// Pass is a pass over a graph, declared as tapc's own are. The zero stages stand for Operation Expression.
type Pass struct {
	Name    string            // lower-case words joined by hyphens
	Doc     string            // one sentence
	Needs   pipeline.Stage    // the earliest stage that it takes
	Upto    pipeline.Stage    // the latest stage that it takes, if later than Needs
	Gives   pipeline.Stage    // what the graph is afterwards, if later than before
	Options []pipeline.Option // of any type but Path
	Run     func(ctx context.Context, p *Context) error
}

// Text is a named set of declarations that tapc reads and runs itself.
type Text struct {
	Name string
	Doc  string
	Text string
}

// Backend makes files of a graph of Scheduled Kernels.
type Backend struct {
	Name    string
	Doc     string
	Devices []schedule.DeviceType // what the graphs that it takes are scheduled for; any if empty
	Options []pipeline.Option
	Emit    func(ctx context.Context, e *Emission) error
}

// Space is what a search for plans goes through: a trial has a value for each gene, below the number of the gene's values.
type Space struct {
	Genes   []Gene
	Devices int64
	Machine string
}

// Gene is one decision. Values are in words: of an operation or a tensor, along which dimension each axis of the mesh goes, as "x=m, y=-".
type Gene struct {
	Name   string
	Values []string
}

// Mutator changes trials of a search for plans. Mutate changes a trial in place and says whether it applied; what it does must depend on its arguments alone. It may
// run at the same time for several trials.
type Mutator struct {
	Name   string // lower-case words joined by hyphens
	Doc    string // one sentence
	On     string // what it applies to, in words
	Mutate func(ctx context.Context, s *Space, r *rand.Rand, trial []int) bool
}

// Term is added to one of the costs of plans: its Objective is "time" in seconds, "memory" in bytes of one device, or "sent" in bytes that a device sends. No cost is
// negative.
type Term struct {
	Name      string
	Doc       string
	Objective string
	Cost      func(ctx context.Context, s *Space, trial []int) (float64, error)
}

// Work is what passes and back ends have in common: the graph, their options and the ways to report.
type Work struct {
	Graph *ir.Graph
	// Log goes to tapc as structured records; tapc shows them with --verbose.
	Log *slog.Logger

	settings settings
	report   reporter
}

// Context is one run of a pass. The pass changes Graph in place or replaces it.
type Context struct {
	Work
	unchanged bool
	counts    []count
}

// Unchanged says that the pass left the graph as it was, which saves sending it back.
func (c *Context) Unchanged() { c.unchanged = true }

// Count adds to one of the pass's statistics, which tapc lists with --stats.
func (c *Context) Count(name string, n int64) {
	for i := range c.counts {
		if c.counts[i].name == name {
			c.counts[i].value += n
			return
		}
	}
	c.counts = append(c.counts, count{name, n})
}

type count struct {
	name  string
	value int64
}

// Emission is one run of a back end. Files are sent as they are written, one after the other.
type Emission struct {
	Work
	Name    string // of the program
	Version string // of tapc
	send    func(name string, executable bool, content []byte) error
}

// File sends a whole file; name has no directories.
func (e *Emission) File(name string, executable bool, content []byte) error {
	return e.send(name, executable, content)
}

// Report gives tapc a finding about the graph; Graph.At gives its location. A pass that has reported an error fails.
func (w *Work) Report(d diag.Diagnostic) { w.report.diagnostic(d) }

// Progress says that done of total units are done; total is 0 if it is not known. It may be called often: few calls travel.
func (w *Work) Progress(done, total int, text string) { w.report.progress(done, total, text) }
