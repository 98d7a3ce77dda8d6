// Package pages is the command `tapc view`: what is known of a compiled program, as a page that shows it.
//
// It must not compile or price anything itself. Read next: view/page.
package pages

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"path/filepath"
	"strings"

	"tensortapestry.org/tapc/backends"
	"tensortapestry.org/tapc/cmd/tapc/outputflags"
	"tensortapestry.org/tapc/cmd/tapc/prices"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/internal/release"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/view/figure"
	"tensortapestry.org/tapc/view/page"
)

// Help is the text of --help.
const Help = `Write a page that shows a program: its graph at every stage, from the graph of the file to
the scheduled kernels, with the text of each kernel and the lines that it comes from; when
kernels run, and what is in memory meanwhile. It is one file, which any browser shows
without a network (docs/view.md).

The program is compiled as build would compile it, but not built. With --machine, which
names a machine that tapc knows or a machine file, kernels have the times that they are
thought to take there, and how near these are to their roofs; with --profile, those that they
took.

Two or three files, or one file with several plans (--beside-plan), are shown side by side,
with what differs from the first.`

// Made is what a page is made of.
type Made struct {
	Programs []Program // one, or several side by side
	Plans    json.RawMessage
}

// Program is what a page shows of a program.
type Program struct {
	Name     string          // that it has beside others
	File     string          // that was read
	Text     []byte          // of it, nil if it is none
	Source   *figure.Figure  // of the graph as it was read
	Graph    *ir.Graph       // scheduled
	Prices   *prices.Report  // nil without a machine
	Code     string          // of all kernels, as a back end writes it; "" for none
	Measured map[int]float64 // what steps took, in seconds, by their numbers; nil if nobody measured
}

// Source draws a graph as it was read, before passes change it.
func Source(g *ir.Graph) *figure.Figure { return figure.Operations(g, "As read", true) }

// Write writes the page.
func Write(w io.Writer, m *Made) error {
	p := &page.Page{Version: release.Version, Plans: m.Plans}
	var names []string
	stages := make([][]*figure.Figure, 4)
	for i := range m.Programs {
		x := &m.Programs[i]
		order, err := schedule.Order(x.Graph)
		if err != nil {
			return err
		}
		for k, f := range []*figure.Figure{x.Source, figure.Operations(x.Graph, "Operation Expression", false), figure.Operations(x.Graph, "Application Expression", true),
			figure.Schedule(x.Graph, "Scheduled Kernels")} {
			stages[k] = append(stages[k], f)
		}
		q := page.Program{File: filepath.Base(x.File), Lines: x.lines(), Steps: x.steps(order), Blocks: blocks(x.Graph), Code: x.code(order)}
		if names = append(names, x.Name); len(m.Programs) > 1 {
			apart(&q, x.Name)
		}
		p.Programs = append(p.Programs, q)
		switch {
		case x.Prices != nil:
			p.Machine = x.Prices.Machine
		case x.Measured != nil:
			p.Machine = "as measured"
		}
	}
	p.Title = strings.Join(names, " beside ")
	for _, list := range stages {
		f := list[0]
		if len(list) > 1 {
			f = figure.Beside(names, list)
		}
		p.Stages = append(p.Stages, f)
	}
	return page.Write(w, p)
}

// apart calls the devices of a program so that they are not those of others.
func apart(p *page.Program, name string) {
	for i := range p.Steps {
		p.Steps[i].Device = name + " " + p.Steps[i].Device
	}
	for i := range p.Blocks {
		p.Blocks[i].Device = name + " " + p.Blocks[i].Device
	}
}

// mostLine is how many bytes of a place of the source are shown.
const mostLine = 400

// lines gives the lines of the source that operations come from.
func (m *Program) lines() map[int]string {
	out := map[int]string{}
	if m.Text == nil {
		return out
	}
	all := strings.Split(string(m.Text), "\n")
	for n := range m.Graph.Nodes() {
		places := []ir.Pos{n.Pos}
		if o := n.Origin(); o != nil {
			places = append(places, o.From...)
		}
		for _, at := range places {
			if i := int(at.Line); i > 0 && i <= len(all) {
				out[i] = excerpt(all[i-1:])
			}
		}
	}
	return out
}

// excerpt is the first of some lines, or, where that only opens a bracket, as in JSON, those to the one that closes it; clipped.
func excerpt(lines []string) string {
	end, indent := 1, ""
	if word := strings.TrimSpace(lines[0]); word == "{" || word == "[" {
		indent = lines[0][:strings.Index(lines[0], word)]
		for size := 0; end < len(lines) && size <= mostLine; end++ {
			size += len(lines[end])
			if rest, ok := strings.CutPrefix(lines[end], indent); !ok || rest == strings.TrimLeft(rest, " \t") { // no deeper
				end++
				break
			}
		}
	}
	var text strings.Builder
	for i, l := range lines[:end] {
		if i > 0 {
			text.WriteByte('\n')
		}
		text.WriteString(strings.TrimPrefix(l, indent))
	}
	out := text.String()
	if len(out) > mostLine {
		out = out[:mostLine] + "…"
	}
	return strings.ToValidUTF8(out, "?")
}

// steps gives the kernels and transfers in their order: with the times of a machine, or one long as another. Where several devices work beside each
// other, they run when the walk of the schedule says.
func (m *Program) steps(order []ir.NodeID) []page.Step {
	priced := map[ir.NodeID]int{}
	if m.Prices != nil {
		for i, k := range m.Prices.Kernels {
			priced[k.Node] = i
		}
	}
	steps, at := []page.Step{}, 0.0
	for number, id := range order {
		s := page.Step{Node: id, Name: m.Graph.Node(id).Label, Device: deviceOf(m.Graph, id), Start: at, Time: 1, Measured: m.Measured[number]}
		if k, ok := m.Graph.Node(id).Body.(*schedule.Kernel); ok {
			s.Name = figure.KernelsWord(k.Name)
		}
		s.Name = cmp.Or(s.Name, "transfer")
		if m.Prices != nil || m.Measured != nil {
			s.Time = s.Measured
		}
		if i, ok := priced[id]; ok {
			s.Time, s.Price = m.Prices.Kernels[i].Time.Value, priceOf(m.Prices, i)
		}
		if m.Prices != nil && m.Prices.Times != nil {
			when := m.Prices.Times[id]
			s.Start, s.Time = when.From, when.To-when.From
		}
		at += s.Time
		steps = append(steps, s)
	}
	return steps
}

func priceOf(r *prices.Report, i int) *page.Price {
	k := r.Kernels[i]
	p := &page.Price{Low: k.Time.Low, High: k.Time.High, Roof: k.Roof, Bound: k.Bound, Form: k.Form, Work: k.Work.Operations(), Bytes: k.Work.Bytes(), Terms: []page.Term{}}
	for _, t := range k.Terms {
		p.Terms = append(p.Terms, page.Term{What: t.What, Time: t.Time.Value})
	}
	return p
}

// deviceOf is the name of the device of a kernel, or of the buffer that a transfer fills.
func deviceOf(g *ir.Graph, id ir.NodeID) string {
	device := ir.NoNode
	switch b := g.Node(id).Body.(type) {
	case *schedule.Kernel:
		device = b.Device
	case *schedule.Transfer:
		if n := g.Node(b.To); n != nil {
			if to, ok := n.Body.(*schedule.Buffer); ok {
				device = to.Device
			}
		}
	}
	if n := g.Node(device); n != nil && n.Label != "" {
		return n.Label
	}
	return g.Name(device)
}

// blocks gives the buffers of the arena.
func blocks(g *ir.Graph) []page.Block {
	list := []page.Block{}
	for n := range g.Nodes() {
		b, ok := n.Body.(*schedule.Buffer)
		if !ok || !b.InArena() {
			continue
		}
		name := g.Name(n.ID)
		if t := g.Node(b.Tensor); t != nil && t.Label != "" {
			name = t.Label
		}
		list = append(list, page.Block{Node: n.ID, Name: name, Device: g.Name(b.Device), Offset: b.Offset, Bytes: b.Bytes, First: b.First, Last: b.Last})
	}
	return list
}

// code gives the text of each kernel.
func (m *Program) code(order []ir.NodeID) []page.Code {
	var names []string
	for _, id := range order {
		if k, ok := m.Graph.Node(id).Body.(*schedule.Kernel); ok {
			names = append(names, k.Name)
		}
	}
	return append([]page.Code{}, page.CodeOf(m.Code, names)...)
}

// Text gives the first text that a back end makes of a job, with the options that flags give; "" if it makes none, or what it takes to
// make it is missing.
func Text(ctx context.Context, b *backends.Backend, j *backends.Job, flags *outputflags.Flags) string {
	for i := range b.Outputs {
		o := &b.Outputs[i]
		if o.Text == nil {
			continue
		}
		var err error
		if j.Values, err = flags.Values(b.Name, o, nil, "view"); err != nil {
			return ""
		}
		text, err := o.Text(ctx, j)
		if err != nil {
			return ""
		}
		return text
	}
	return ""
}
