package prices

import (
	"fmt"
	"io"
	"math"
	"strings"

	"tensortapestry.org/tapc/cost/price"
	"tensortapestry.org/tapc/cost/recompute"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
)

// tensorMemory is a buffer that holds a tensor or a part of it.
type tensorMemory struct {
	Tensor  string     `json:"tensor"`
	Device  string     `json:"device"`
	Space   string     `json:"space"`
	Bytes   int64      `json:"bytes"`
	From    string     `json:"from,omitempty"` // the first step that touches it
	First   int        `json:"first_step,omitempty"`
	To      string     `json:"to,omitempty"` // and the last
	Last    int        `json:"last_step,omitempty"`
	Steps   int        `json:"steps"`
	Arena   int64      `json:"arena_bytes,omitempty"`
	Again   *againJSON `json:"again,omitempty"`
	NoOther string     `json:"no_alternative,omitempty"`
}

// againJSON is what it would be if the tensor were computed again for the step that reads it last.
type againJSON struct {
	Kernel string        `json:"kernel"`
	Before string        `json:"before"`
	Arena  int64         `json:"arena_bytes"`
	Fewer  int64         `json:"fewer_bytes"`
	More   float64       `json:"more_seconds"` // of all kernels, one after the other
	Why    []wayTermJSON `json:"differences"`
}

// ExplainTensor writes where a tensor is in memory, why, and what computing it again for the step that reads it last would take and save: the differences add up to that of the time.
func (r *Report) ExplainTensor(w io.Writer, name string, asJSON bool) error {
	tensor, err := tensorNamed(r.graph, name)
	if err != nil {
		return err
	}
	lives, steps, err := recompute.Lives(r.graph, tensor)
	if err != nil {
		return err
	}
	list := []tensorMemory{}
	for _, l := range lives {
		m, err := r.tensorMemory(l, steps)
		if err != nil {
			return err
		}
		list = append(list, m)
	}
	if asJSON {
		return indented(w, list)
	}
	if len(list) == 0 {
		_, err = fmt.Fprintf(w, "%s is nowhere in memory: the kernel that computes it reads it at once\n", r.graph.Name(tensor))
	}
	for _, m := range list {
		writeTensor(w, m)
	}
	return err
}

// tensorNamed gives the tensor of a name or a label.
func tensorNamed(g *ir.Graph, name string) (ir.NodeID, error) {
	var names []string
	for n := range g.Nodes() {
		if _, ok := n.Body.(*tensorops.Tensor); !ok {
			continue
		}
		if n.Label == strings.TrimPrefix(name, "%") && n.Label != "" || g.Name(n.ID) == name {
			return n.ID, nil
		}
		names = append(names, n.Label)
	}
	d := diag.Errorf("TAP2811", "cost", diag.Location{}, "the schedule has no tensor %q", name)
	if near, ok := diag.Nearest(name, names); ok {
		d = d.WithHint("did you mean %q?", near)
	}
	return ir.NoNode, d
}

// tensorMemory says what is known of a buffer.
func (r *Report) tensorMemory(l *recompute.Life, steps int) (m tensorMemory, err error) {
	g := r.graph
	b := schedule.BufferOf(g, l.Buffer)
	m = tensorMemory{Tensor: g.Name(b.Tensor), Device: g.Node(b.Device).Label, Space: b.Space.String(), Bytes: b.Bytes, Steps: steps}
	order, err := schedule.Order(g)
	if err != nil {
		return m, err
	}
	if l.From >= 0 {
		m.From, m.First, m.To, m.Last = g.Name(order[l.From]), l.From+1, g.Name(order[l.To]), l.To+1
	}
	switch {
	case b.Aliases():
		under := schedule.BufferOf(g, b.Over)
		m.Bytes, m.Space = 0, fmt.Sprintf("in place, in the %s of %s", under.Space, g.Node(under.Device).Label)
	case b.Space == schedule.Arena:
		m.Arena = schedule.Held(g)[b.Device].Arena
	}
	c, kernel, why, err := recompute.Again(g, l)
	if err != nil || why != "" {
		m.NoOther = string(why)
		return m, err
	}
	before, err := r.kernelsOf(g)
	if err != nil {
		return m, err
	}
	after, err := r.kernelsOf(c)
	if err != nil {
		return m, err
	}
	m.Again = &againJSON{Kernel: g.Name(l.Writers[0]), Before: m.To, Arena: schedule.Held(c)[b.Device].Arena, Why: []wayTermJSON{}}
	m.Again.Fewer = m.Arena - m.Again.Arena
	times := map[ir.NodeID]float64{}
	for _, k := range before {
		times[k.Node] = k.Time.Value
	}
	for _, k := range after {
		more, what := k.Time.Value-times[k.Node], c.Name(k.Node)
		if k.Node == kernel {
			what = m.Again.Kernel + ", again"
		}
		if m.Again.More += more; more != 0 {
			m.Again.Why = append(m.Again.Why, wayTermJSON{what, more})
		}
	}
	return m, nil
}

// kernelsOf prices the kernels of a schedule, each as what its device takes while no other works.
func (r *Report) kernelsOf(g *ir.Graph) ([]price.Kernel, error) {
	s, _, err := ofThreads(g, r.on, r.settings)
	if err != nil {
		return nil, err
	}
	s.Others = nil
	return price.Program(g, r.on, s)
}

func writeTensor(w io.Writer, m tensorMemory) {
	fmt.Fprintf(w, "%s: %d bytes of %s, %s\n", m.Tensor, m.Bytes, m.Device, m.Space)
	if m.From != "" {
		fmt.Fprintf(w, "  from step %d, %s, to step %d, %s, of %d\n", m.First, m.From, m.Last, m.To, m.Steps)
	}
	if m.Again == nil {
		fmt.Fprintf(w, "  nothing else: %s\n", m.NoOther)
		return
	}
	word := "more"
	if m.Again.More < 0 {
		word = "less"
	}
	fmt.Fprintf(w, "  would be %d bytes of arena, not %d, if %s were carried out again before step %d\n", m.Again.Arena, m.Arena, m.Again.Kernel, m.Last)
	fmt.Fprintf(w, "  %d bytes fewer, %s %s\n", m.Again.Fewer, seconds(math.Abs(m.Again.More)), word)
	for _, t := range m.Again.Why {
		fmt.Fprintf(w, "  %10s  %s\n", signed(t.Seconds), t.What)
	}
}
