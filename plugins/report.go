package plugins

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/plugins/proto"
)

// reporter is where reports go while the work runs.
type reporter interface {
	diagnostic(diag.Diagnostic)
	progress(done, total int, text string)
	log(*proto.Log) error
}

func newWork(r reporter) Work { return Work{Log: slog.New(&logHandler{to: r}), report: r} }

// progressInterval is the least time between two reports that travel.
const progressInterval = 50 * time.Millisecond

// throttle lets through the first report, then one in an interval, and always the last unit.
type throttle struct {
	mu   sync.Mutex
	last time.Time
}

func (t *throttle) take(done, total int, text string) *proto.Progress {
	t.mu.Lock()
	defer t.mu.Unlock()
	if now := time.Now(); done == total && total > 0 || now.Sub(t.last) >= progressInterval {
		t.last = now
		return &proto.Progress{Done: uint64(max(done, 0)), Total: uint64(max(total, 0)), Text: text}
	}
	return nil
}

// logHandler sends slog records to tapc.
type logHandler struct {
	to     reporter
	fields []*proto.Log_Field
	prefix string
}

// Enabled lets every level through: tapc decides what it shows.
func (h *logHandler) Enabled(context.Context, slog.Level) bool { return true }

// Handle sends one record.
func (h *logHandler) Handle(_ context.Context, r slog.Record) error {
	l := &proto.Log{Level: levelOf(r.Level), Message: r.Message, Fields: h.fields[:len(h.fields):len(h.fields)]}
	r.Attrs(func(a slog.Attr) bool {
		l.Fields = appendAttr(l.Fields, h.prefix, a)
		return true
	})
	return h.to.log(l)
}

// WithAttrs gives a handler whose records carry more fields.
func (h *logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	c := *h
	c.fields = h.fields[:len(h.fields):len(h.fields)]
	for _, a := range attrs {
		c.fields = appendAttr(c.fields, h.prefix, a)
	}
	return &c
}

// WithGroup gives a handler whose further fields have a prefix.
func (h *logHandler) WithGroup(name string) slog.Handler {
	c := *h
	c.prefix += name + "."
	return &c
}

func appendAttr(list []*proto.Log_Field, prefix string, a slog.Attr) []*proto.Log_Field {
	v := a.Value.Resolve()
	if v.Kind() != slog.KindGroup {
		return append(list, &proto.Log_Field{Name: prefix + a.Key, Value: v.String()})
	}
	if a.Key != "" {
		prefix += a.Key + "."
	}
	for _, x := range v.Group() {
		list = appendAttr(list, prefix, x)
	}
	return list
}

func levelOf(l slog.Level) proto.Log_Level {
	switch {
	case l < slog.LevelInfo:
		return proto.Log_DEBUG
	case l < slog.LevelWarn:
		return proto.Log_INFO
	case l < slog.LevelError:
		return proto.Log_WARN
	}
	return proto.Log_ERROR
}
