// Package timing says what the time of a compilation is spent on: a tree of spans, those of passes and behind them those of what a back end does.
package timing

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"tensortapestry.org/tapc/internal/traceevent"
	"tensortapestry.org/tapc/ir"
)

// Work is what a span of time was spent on.
type Work string

const (
	whole  Work = "pipeline"
	Group  Work = "group"
	Pass   Work = "pass"
	Verify Work = "verify"
	Values Work = "values"
	build  Work = "build"
)

// Span is a time that was spent, with what it consists of. Nodes are those of the graph before and after.
type Span struct {
	Name     string        `json:"name"`
	Work     Work          `json:"work"` // pipeline, group, pass, verify values or build
	Start    time.Duration `json:"start_ns"`
	Time     time.Duration `json:"time_ns"`
	Nodes    [2]int        `json:"nodes"`
	Children []*Span       `json:"children,omitempty"`
}

// Recorder records the spans of passes, which lie within each other.
type Recorder struct {
	now   func() time.Time
	begun time.Time
	root  *Span
	path  []*Span
}

// Begin begins the span of all passes.
func (s *Recorder) Begin(now func() time.Time, g *ir.Graph) {
	s.now, s.begun = now, now()
	s.root = &Span{Name: string(whole), Work: whole, Nodes: [2]int{g.Len()}}
	s.path = []*Span{s.root}
}

// Open begins a span within the innermost one.
func (s *Recorder) Open(name string, w Work, g *ir.Graph) {
	x := &Span{Name: name, Work: w, Start: s.now().Sub(s.begun), Nodes: [2]int{g.Len()}}
	top := s.path[len(s.path)-1]
	top.Children = append(top.Children, x)
	s.path = append(s.path, x)
}

// Close ends the innermost span; g may be nil if the graph was lost.
func (s *Recorder) Close(g *ir.Graph) {
	x := s.path[len(s.path)-1]
	s.path = s.path[:len(s.path)-1]
	x.Time = s.now().Sub(s.begun) - x.Start
	if g != nil {
		x.Nodes[1] = g.Len()
	}
}

// Root gives the span of all passes.
func (s *Recorder) Root() *Span { return s.root }

// Appended is work that comes behind all passes, while it is done.
type Appended struct {
	whole, span *Span
	begun       time.Time
}

// Append begins work that comes behind all passes: what a back end does with the graph.
func (s *Span) Append(name string) *Appended {
	x := &Span{Name: name, Work: build, Start: s.Start + s.Time, Nodes: [2]int{s.Nodes[1], s.Nodes[1]}}
	s.Children = append(s.Children, x)
	return &Appended{whole: s, span: x, begun: time.Now()}
}

// Stage begins the next stage of the work, and ends the one before it.
func (a *Appended) Stage(name string) {
	a.endStage()
	a.span.Children = append(a.span.Children, &Span{Name: name, Work: build, Start: a.span.Start + time.Since(a.begun), Nodes: a.span.Nodes})
}

func (a *Appended) endStage() {
	if n := len(a.span.Children); n > 0 {
		last := a.span.Children[n-1]
		last.Time = a.span.Start + time.Since(a.begun) - last.Start
	}
}

// End ends the work and its last stage.
func (a *Appended) End() {
	a.endStage()
	a.span.Time = time.Since(a.begun)
	a.whole.Time += a.span.Time
}

// WriteTiming writes the times as a tree for people: seconds, share of the whole, name, nodes before and after.
func (s *Span) WriteTiming(w io.Writer) error {
	var b strings.Builder
	b.WriteString("timing:\n   seconds  share  nodes\n")
	s.writeLine(&b, s.Time, 0)
	_, err := io.WriteString(w, b.String())
	return err
}

func (s *Span) writeLine(b *strings.Builder, whole time.Duration, depth int) {
	share := 100.0
	if whole > 0 {
		share = 100 * float64(s.Time) / float64(whole)
	}
	nodes := fmt.Sprint(s.Nodes[1])
	if s.Nodes[0] != s.Nodes[1] {
		nodes = fmt.Sprintf("%d -> %d", s.Nodes[0], s.Nodes[1])
	}
	fmt.Fprintf(b, "%10.6f %5.1f%%  %s%s: %s\n", s.Time.Seconds(), share, strings.Repeat("  ", depth), s.Name, nodes)
	for _, c := range s.Children {
		c.writeLine(b, whole, depth+1)
	}
}

// WriteJSON writes the times as one JSON object, in nanoseconds.
func (s *Span) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(s)
}

// WriteTrace writes the times as a trace for chrome://tracing or Perfetto.
func (s *Span) WriteTrace(w io.Writer) error { return traceevent.Write(w, s.events(nil)) }

func (s *Span) events(to []traceevent.Event) []traceevent.Event {
	to = append(to, traceevent.Event{Name: s.Name, Kind: string(s.Work), Start: float64(s.Start) / 1e3, Time: float64(s.Time) / 1e3, Process: 1, Row: 1,
		Args: map[string]float64{"nodes_before": float64(s.Nodes[0]), "nodes_after": float64(s.Nodes[1])}})
	for _, c := range s.Children {
		to = c.events(to)
	}
	return to
}
