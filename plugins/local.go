package plugins

import (
	"context"
	"fmt"

	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/passes/pipeline"
	"tensortapestry.org/tapc/plugins/proto"
)

// Outcome is what came of a pass that Call ran.
type Outcome struct {
	Graph     *ir.Graph
	Unchanged bool      // the pass said so
	Found     diag.List // what it reported
	Counts    map[string]int64
}

// Call runs a pass in this process, for unit tests of it: over the graph itself, which the pass may change. The error is the
// pass's own, or one of the settings.
func (p *Pass) Call(ctx context.Context, g *ir.Graph, given ...pipeline.Setting) (*Outcome, error) {
	messages := make([]*proto.Setting, len(given))
	for i, s := range given {
		messages[i] = &proto.Setting{Name: s.Name, Value: s.Value}
	}
	values, err := newSettings(p.Options, messages)
	if err != nil {
		return nil, fmt.Errorf("pass %s: %w", p.Name, err)
	}
	out := &Outcome{Counts: map[string]int64{}}
	c := &Context{Work: newWork((*localReporter)(out))}
	c.Graph, c.settings = g, values
	if err := p.Run(ctx, c); err != nil {
		return nil, err
	}
	out.Graph, out.Unchanged = c.Graph, c.unchanged
	for _, n := range c.counts {
		out.Counts[n.name] = n.value
	}
	return out, nil
}

// localReporter keeps diagnostics and drops the rest.
type localReporter Outcome

func (r *localReporter) diagnostic(d diag.Diagnostic) { r.Found = append(r.Found, d) }
func (r *localReporter) progress(int, int, string)    {}
func (r *localReporter) log(*proto.Log) error         { return nil }
