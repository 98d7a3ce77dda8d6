package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/wire"
	"tensortapestry.org/tapc/passes/pipeline"
	"tensortapestry.org/tapc/plugins/confine"
	"tensortapestry.org/tapc/plugins/proto"
	"tensortapestry.org/tapc/plugins/stream"
)

// The causes with which tapc ends calls by itself.
var (
	errRunLimit   = errors.New("the time for one run is over")
	errStartLimit = errors.New("the time to start is over")
)

// crashPatience is how long the end of a process may lag behind the end of its connection.
const crashPatience = 2 * time.Second

// clockSlack is by how much a plugin may be earlier in saying that a deadline has passed.
const clockSlack = 200 * time.Millisecond

// garbage is an answer that breaks the protocol.
type garbage struct{ what string }

func (g garbage) Error() string { return g.what }

// Call makes a call of the service within the time of one run. An error is a *Fault, or the context's; one of check is that of an answer that breaks the protocol.
func (p *Plugin) Call(ctx context.Context, part string, call func(ctx context.Context, c proto.PluginClient) error, check func() string) error {
	limited, stop := context.WithTimeoutCause(ctx, p.opts.Limits.Run, errRunLimit)
	defer stop()
	if err := call(limited, p.service); err != nil {
		return p.explain(limited, part, err)
	}
	if bad := check(); bad != "" {
		return p.explain(limited, part, garbage{bad})
	}
	return nil
}

// explain turns an error of a call into the fault that explains it best, or into the context's error if that was why. The
// plugin is stopped.
func (p *Plugin) explain(ctx context.Context, part string, err error) error {
	if code := status.Code(err); code == codes.Canceled || code == codes.DeadlineExceeded {
		if end, ok := ctx.Deadline(); ok && time.Until(end) < clockSlack { // the plugin saw the end a little earlier
			<-ctx.Done()
		}
	}
	switch cause := context.Cause(ctx); {
	case p.flooded.Load() || cause == nil:
	case cause == errRunLimit:
		p.end()
		return p.fault(TimedOut, part, fmt.Sprintf("it was stopped after %v", p.opts.Limits.Run))
	case cause == errStartLimit:
		p.end()
		return p.fault(NoAnswer, part, fmt.Sprintf("it printed a handshake, and did not answer its first call within %v", p.opts.Limits.Start))
	default:
		return cause
	}
	if status.Code(err) == codes.Unavailable { // most likely its process ended
		select {
		case <-p.child.Done:
		case <-time.After(crashPatience):
		}
	}
	if fault := p.explainEnd(part); fault != nil {
		return fault
	}
	if fault := p.endNow(part); fault != nil {
		return fault
	}
	return p.explainError(part, err)
}

// explainEnd gives the fault of a process that has ended by itself or for a limit; nil if it runs, or was stopped for a fault
// that shows elsewhere.
func (p *Plugin) explainEnd(part string) *Fault {
	if p.flooded.Load() {
		return p.fault(Flooded, part, fmt.Sprintf("more than %d bytes to standard error", p.opts.Limits.Stderr))
	}
	if p.stopped.Load() {
		return nil
	}
	select {
	case <-p.child.Done:
	default:
		return nil
	}
	return p.explainOutcome(part)
}

// endNow ends the plugin by force. If its process had ended by itself before, which tapc learns late where the machine is busy, it gives
// the fault of that; else nil.
func (p *Plugin) endNow(part string) *Fault {
	stopped := p.stopped.Load()
	p.end()
	select {
	case <-p.child.Done:
	default:
		return nil
	}
	if fault := p.explainEnd(part); fault != nil || stopped || !p.child.End.ByItself() {
		return fault
	}
	return p.explainOutcome(part)
}

// explainOutcome gives the fault of a process that has ended.
func (p *Plugin) explainOutcome(part string) *Fault {
	select {
	case <-p.tail.done:
	case <-time.After(drainTime):
	}
	end := p.child.End
	switch {
	case end.Reason == "processes":
		return p.fault(OutOfMemory, part, fmt.Sprintf("more than %d processes at a time", p.opts.Limits.Processes))
	case end.Reason == "files":
		return p.fault(OutOfSpace, part, fmt.Sprintf("more than %d bytes, or %d files", p.opts.Limits.FileSize, confine.MaxFiles))
	case end.Reason == "memory" || end.RSS >= p.opts.Limits.Memory/4*3:
		return p.fault(OutOfMemory, part, fmt.Sprintf("it had %d MiB of %d MiB when %v", end.RSS>>20, p.opts.Limits.Memory>>20, end))
	case end.CPU >= p.opts.Limits.CPU:
		return p.fault(OutOfProcessorTime, part, fmt.Sprintf("%v of %v", end.CPU.Round(time.Millisecond), p.opts.Limits.CPU))
	}
	return p.fault(Crashed, part, end.String())
}

// explainError gives the fault for an error of a plugin whose process goes on.
func (p *Plugin) explainError(part string, err error) *Fault {
	var limit *stream.LimitError
	var bad garbage
	var undecoded *wire.Error
	switch {
	case errors.As(err, &limit):
		return p.fault(TooLarge, part, limit.Error())
	case errors.As(err, &bad):
		return p.fault(Garbage, part, bad.what)
	case errors.As(err, &undecoded):
		return p.fault(Garbage, part, clean("its graph can not be decoded: "+undecoded.Error(), 400))
	}
	text := clean(status.Convert(err).Message(), 400)
	switch status.Code(err) {
	case codes.ResourceExhausted:
		return p.fault(TooLarge, part, text)
	case codes.Aborted:
		return p.fault(Crashed, part, text)
	case codes.Internal, codes.Unimplemented, codes.Unavailable, codes.DataLoss:
		return p.fault(Garbage, part, text)
	}
	return p.fault(Failed, part, text)
}

// maxNotes bounds the findings that a fault lists, and the notes of each.
const maxNotes = 10

// firstOf gives the first findings of a list, and their notes, as texts.
func firstOf(list diag.List) []string {
	var out []string
	for i, d := range list {
		if i == maxNotes {
			return append(out, fmt.Sprintf("and %d more", len(list)-i))
		}
		out = append(out, clean(d.Error(), 1000))
		for _, n := range d.Notes[:min(len(d.Notes), maxNotes)] {
			out = append(out, clean(n.Message, 1000))
		}
	}
	return out
}

// reports takes what a plugin reports while it works, within limits.
type reports struct {
	plugin *Plugin
	part   string
	graph  *ir.Graph // that locations refer to
	left   int
	found  diag.List
}

func (p *Plugin) newReports(part string, g *ir.Graph) *reports {
	return &reports{plugin: p, part: part, graph: g, left: p.opts.Limits.Reports}
}

// maxFindings bounds the diagnostics of one run that are kept.
const maxFindings = 1000

// take deals with one report; all but one of the arguments are nil.
func (r *reports) take(progress *proto.Progress, d *proto.Diagnostic, l *proto.Log) error {
	if r.left--; r.left < 0 {
		return &stream.LimitError{What: "reports", Max: int64(r.plugin.opts.Limits.Reports)}
	}
	switch {
	case progress != nil && r.plugin.opts.Progress != nil:
		r.plugin.opts.Progress(r.plugin.name, r.part, progress.Done, progress.Total, clean(progress.Text, 100))
	case d != nil && len(r.found) < maxFindings:
		r.found = append(r.found, r.diagnostic(d))
	case l != nil:
		r.log(l)
	}
	return nil
}

var logLevels = map[proto.Log_Level]slog.Level{proto.Log_DEBUG: slog.LevelDebug, proto.Log_INFO: slog.LevelInfo,
	proto.Log_WARN: slog.LevelWarn, proto.Log_ERROR: slog.LevelError}

// maxFields bounds the fields of a log record.
const maxFields = 50

func (r *reports) log(l *proto.Log) {
	args := []any{"part", r.part}
	for i, f := range l.Fields {
		if i == maxFields {
			break
		}
		args = append(args, clean(f.GetName(), 60), clean(f.GetValue(), 400))
	}
	r.plugin.opts.Log.Log(context.Background(), logLevels[l.Level], clean(l.Message, 1000), args...)
}

// diagnostic makes a plugin's finding fit to be shown.
func (r *reports) diagnostic(m *proto.Diagnostic) diag.Diagnostic {
	d := m.Diag(func(number uint32, field string) diag.Location {
		if n := r.graph.Node(ir.NodeID(min(number, 1<<31-1))); n != nil {
			return r.graph.At(n, clean(field, 200))
		}
		return diag.Location{}
	})
	for _, s := range []*string{&d.Code, &d.Constraint} {
		*s = clean(*s, 60)
	}
	for _, s := range []*string{&d.Message, &d.Expected, &d.Found, &d.Hint} {
		*s = clean(*s, 1000)
	}
	if d.Constraint == "" {
		d.Constraint = r.plugin.name
	}
	r.place(&d.Location)
	if len(d.Notes) > maxNotes {
		d.Notes = d.Notes[:maxNotes]
	}
	for i := range d.Notes {
		d.Notes[i].Message = clean(d.Notes[i].Message, 1000)
		r.place(&d.Notes[i].Location)
	}
	return d
}

// place makes a location fit to be shown; it is always one in the graph's own file.
func (r *reports) place(at *diag.Location) {
	if *at == (diag.Location{}) {
		return
	}
	at.File, at.Pointer, at.Node = r.graph.File, clean(at.Pointer, 300), clean(at.Node, 200)
}

// settingMessages gives settings as they travel.
func settingMessages(list []pipeline.Setting) []*proto.Setting {
	out := make([]*proto.Setting, len(list))
	for i, s := range list {
		out[i] = &proto.Setting{Name: s.Name, Value: s.Value}
	}
	return out
}

// upload sends the first message of a call and the graph behind it, in a goroutine of its own, as the plugin may answer
// before it has read everything. An error of the connection shows on the receiving side; one of the graph ends the call.
func upload(cancel context.CancelCauseFunc, g *ir.Graph, start func() error, chunk func([]byte) error, closeSend func() error) {
	err := start()
	if err == nil {
		err = stream.Send(g, chunk)
	}
	switch {
	case err == nil:
		closeSend()
	case !errors.Is(err, io.EOF) && status.Code(err) == codes.Unknown:
		cancel(fmt.Errorf("the graph can not be sent to a plugin: %w", err))
	}
}
