// Package conformance is the kit that every plugin for tapc must pass, whatever language it is written in.
//
// A Check is a value; Checks lists them. "tapc plugin test" and package plugins/plugintest run them over a plugin's program:
// through the host, as tapc does, on a corpus of small graphs and one large one. This package must not import testing. Read
// next: checks.go, then docs/plugins.md.
package conformance

import (
	"context"
	"fmt"
	"time"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/passes/pipeline"
	"tensortapestry.org/tapc/plugins/host"
)

// T takes what a check finds. A *testing.T is one.
type T interface {
	Errorf(format string, args ...any)
	Logf(format string, args ...any)
}

// Check is one thing that is demanded of every plugin.
type Check struct {
	Name string
	Doc  string // one sentence
	Run  func(ctx context.Context, s *Subject, t T)
}

// Subject is the plugin that is checked. Graphs are more graphs for its passes, besides the corpus.
type Subject struct {
	Path   string
	Access host.Access
	Limits host.Limits
	Graphs []*ir.Graph
	Large  int // operations of the large graph; 0 is 20000
}

// Checks lists the checks in the order in which they are run. If the first fails the others mean nothing.
func Checks() []Check {
	return []Check{
		{"start", "It starts and says what it provides within the time that tapc gives it.", checkStart},
		{"describe", "It says the same of itself every time, and has a sentence for every pass.", checkDescribe},
		{"end", "It ends by itself when tapc asks it to, and when tapc is gone.", checkEnd},
		{"passes", "Its passes leave graphs that keep the constraints of their dialect, with the inputs and outputs they had.", checkPasses},
		{"values", "Its passes and rules leave the observed values of a graph as they are.", checkValues},
		{"determinism", "Its passes give the same bytes every time, in one process and in another.", checkDeterminism},
		{"concurrency", "Its passes give the same bytes when they run side by side.", checkConcurrency},
		{"options", "Its passes take every option at its default, and refuse one that they do not have without falling over.", checkOptions},
		{"large", "Its passes take a large graph.", checkLarge},
		{"cancel", "Its passes stop when they are told to.", checkCancel},
		{"kernels", "Its kernel declarations and its rules can be read.", checkTexts},
		{"backends", "Its back ends make the same files every time.", checkBackends},
	}
}

// Duration bounds one check.
const Duration = 2 * time.Minute

// start starts the plugin; nil, with an error told to t, if that fails.
func (s *Subject) start(ctx context.Context, t T) *host.Plugin {
	p, err := host.Start(ctx, s.Path, host.Options{Version: "conformance", Limits: s.Limits, Access: s.Access})
	if err != nil {
		t.Errorf("%v", explained(err))
		return nil
	}
	return p
}

// explained gives an error with the last lines that the plugin wrote.
func explained(err error) string {
	text := err.Error()
	if f, ok := host.IsFault(err); ok {
		for _, n := range f.Diagnostic().Notes {
			text += "\n  " + n.Message
		}
	}
	return text
}

// library gives tapc's kernels and the plugin's.
func library(p *host.Plugin) (*kernels.Library, error) {
	return host.Library(p.Description, kernels.Builtin())
}

// item is a pass, or a set of rules, with a graph that it takes.
type item struct {
	name  string
	graph *ir.Graph
	stage pipeline.Stage
}

func (x item) String() string {
	return fmt.Sprintf("%s over %s (%v)", x.name, x.graph.File, x.stage)
}

// items pairs the plugin's passes with the graphs that they take.
func (s *Subject) items(p *host.Plugin, t T) []item {
	var out []item
	graphs, err := s.graphs(schedule.Host)
	if err != nil {
		t.Errorf("the corpus: %v", err)
		return nil
	}
	for _, pass := range p.Description.Passes {
		for _, g := range graphs {
			if g.stage >= pass.Needs && g.stage <= max(pass.Needs, pass.Upto) {
				out = append(out, item{pass.Name, g.Graph, g.stage})
			}
		}
	}
	return out
}
