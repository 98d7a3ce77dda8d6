package host

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"google.golang.org/grpc"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/passes/pipeline"
	"tensortapestry.org/tapc/plugins/proto"
	"tensortapestry.org/tapc/plugins/stream"
)

// Answer is what came of a pass.
type Answer struct {
	Graph     *ir.Graph // the old one if Unchanged
	Unchanged bool
	Found     diag.List // what the pass reports about the user's graph; with an error in it the graph is the old one
	Counts    []Count
}

// Count is one of a pass's statistics.
type Count struct {
	Name  string
	Value int64
}

// RunPass runs one of the plugin's passes. The graph is left alone; the one in the answer has been decoded within limits and
// satisfies the constraints of its stage, and has the inputs and outputs that it had before. An error is a *Fault, or the
// context's.
func (p *Plugin) RunPass(ctx context.Context, name string, settings []pipeline.Setting, g *ir.Graph) (*Answer, error) {
	part := "pass " + name
	i := slices.IndexFunc(p.Description.Passes, func(x pipeline.Pass) bool { return x.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("plugin %s has no pass %q", p.name, name)
	}
	limited, stop := context.WithTimeoutCause(ctx, p.opts.Limits.Run, errRunLimit)
	defer stop()
	work, cancel := context.WithCancelCause(limited)
	defer cancel(nil)
	call, err := p.service.RunPass(work)
	if err != nil {
		return nil, p.explain(work, part, err)
	}
	go upload(cancel, g, func() error {
		start := &proto.PassStart{Pass: name, Options: settingMessages(settings)}
		return call.Send(&proto.PassInput{Part: &proto.PassInput_Start{Start: start}})
	}, func(chunk []byte) error {
		return call.Send(&proto.PassInput{Part: &proto.PassInput_Graph{Graph: chunk}})
	}, call.CloseSend)
	r := &passReader{call: call, reports: p.newReports(part, g)}
	made, err := r.read(p.opts.Limits.Answer)
	if err != nil {
		return nil, p.explain(work, part, err)
	}
	answer := &Answer{Graph: g, Unchanged: true, Found: r.reports.found, Counts: r.counts()}
	if made == nil || answer.Found.HasErrors() {
		return answer, nil
	}
	answer.Graph, answer.Unchanged = made, false
	made.File, made.ID, made.HasID = g.File, g.ID, g.HasID
	return answer, p.accept(work, part, g, made, p.Description.Passes[i].Gives)
}

// accept verifies a graph that a plugin made.
func (p *Plugin) accept(ctx context.Context, part string, before, after *ir.Graph, gives pipeline.Stage) error {
	stage := max(pipeline.StageOf(before), gives)
	if found := stage.Environment().Verify(ctx, after); found.HasErrors() {
		if context.Cause(ctx) != nil {
			return p.explain(ctx, part, context.Cause(ctx))
		}
		p.end()
		f := p.fault(InvalidGraph, part, stage.String())
		f.Notes = firstOf(found)
		return f
	}
	if difference := compareProgram(before, after); difference != "" {
		p.end()
		return p.fault(ChangedProgram, part, difference)
	}
	return nil
}

// compareProgram says how a graph differs from outside from the one it was made of, or "". Inputs that are not used any more
// may be gone, unless the graph states them; what it states is in the same order.
func compareProgram(before, after *ir.Graph) string {
	old, err := tensorops.ProgramOf(before)
	if err != nil {
		return ""
	}
	now, err := tensorops.ProgramOf(after)
	if err != nil {
		return err.Error()
	}
	inputs, outputs := tensorops.Interface(before)
	if inputs != ir.NoNode && !slices.Equal(faces(before, old.Inputs), faces(after, now.Inputs)) {
		return reordered("inputs", faces(before, old.Inputs), faces(after, now.Inputs))
	}
	if outputs != ir.NoNode && !slices.Equal(faces(before, old.Outputs), faces(after, now.Outputs)) {
		return reordered("outputs", faces(before, old.Outputs), faces(after, now.Outputs))
	}
	was, is := faces(before, old.Inputs), faces(after, now.Inputs)
	for _, x := range is {
		if !slices.Contains(was, x) {
			return fmt.Sprintf("the input %s was not there before", clean(x, 100))
		}
	}
	was, is = faces(before, old.Outputs), faces(after, now.Outputs)
	for _, x := range was {
		if !slices.Contains(is, x) {
			return fmt.Sprintf("the output %s is gone", clean(x, 100))
		}
	}
	for _, x := range is {
		if !slices.Contains(was, x) {
			return fmt.Sprintf("the output %s was not there before", clean(x, 100))
		}
	}
	return ""
}

func reordered(what string, was, is []string) string {
	list := func(names []string) string { return clean(strings.Join(names, ", "), 200) }
	return fmt.Sprintf("the %s were %s, and are %s", what, list(was), list(is))
}

// faces gives what shows of tensors from outside: name, element type and range.
func faces(g *ir.Graph, list []tensorops.Named) []string {
	out := make([]string, len(list))
	for i, x := range list {
		t := tensorops.TensorOf(g, x.Tensor)
		out[i] = fmt.Sprintf("%s (%s %v)", x.Name, t.DType, t.Range)
	}
	return out
}

// passReader reads what a pass answers.
type passReader struct {
	call    grpc.BidiStreamingClient[proto.PassInput, proto.PassOutput]
	reports *reports
	done    *proto.PassDone
}

// read takes the whole answer and gives the graph in it, or nil if it has none.
func (r *passReader) read(limit int64) (*ir.Graph, error) {
	first, err := r.next()
	if err == io.EOF {
		if !r.done.Unchanged && !r.reports.found.HasErrors() {
			return nil, garbage{"it sent no graph and does not say that it left the old one unchanged"}
		}
		return nil, r.end()
	}
	if err != nil {
		return nil, err
	}
	g, err := stream.Receive(func() ([]byte, error) {
		if chunk := first; chunk != nil {
			first = nil
			return chunk, nil
		}
		return r.next()
	}, limit)
	if err != nil {
		return nil, err
	}
	if r.done == nil {
		if _, err := r.next(); err == nil {
			return nil, garbage{"there is more behind the graph"}
		} else if err != io.EOF {
			return nil, err
		}
	}
	if r.done.Unchanged {
		return nil, garbage{"it sent a graph and says that it left the old one unchanged"}
	}
	return g, r.end()
}

// next gives the next chunk of the graph, io.EOF at the regular end. Reports on the way are dealt with.
func (r *passReader) next() ([]byte, error) {
	for r.done == nil {
		m, err := r.call.Recv()
		if err == io.EOF {
			return nil, garbage{"it ended its answer without saying that it is done"}
		}
		if err != nil {
			return nil, err
		}
		switch part := m.Part.(type) {
		case *proto.PassOutput_Graph:
			if len(part.Graph) > 0 {
				return part.Graph, nil
			}
			err = r.reports.take(nil, nil, nil)
		case *proto.PassOutput_Done:
			r.done = part.Done
		case nil: // a report that a later version of the protocol may know
			err = r.reports.take(nil, nil, nil)
		default:
			err = r.reports.take(m.GetProgress(), m.GetDiagnostic(), m.GetLog())
		}
		if err != nil {
			return nil, err
		}
	}
	return nil, io.EOF
}

// end reads the end of the stream.
func (r *passReader) end() error {
	switch _, err := r.call.Recv(); err {
	case io.EOF:
		return nil
	case nil:
		return garbage{"it sent more after it said that it is done"}
	default:
		return err
	}
}

// maxCounts bounds the statistics of one pass.
const maxCounts = 1000

func (r *passReader) counts() []Count {
	var out []Count
	for i, c := range r.done.GetCounts() {
		if i == maxCounts {
			break
		}
		out = append(out, Count{clean(c.GetName(), 60), c.GetValue()})
	}
	return out
}
