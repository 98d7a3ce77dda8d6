package propagate

import (
	"cmp"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"tensortapestry.org/tapc/cost/collective"
	"tensortapestry.org/tapc/cost/machine"
	"tensortapestry.org/tapc/cost/reshard"
	"tensortapestry.org/tapc/dialects/application/planfile"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
)

// Transfer is what devices need of a tensor for operations and do not hold, or what they are to hold of a result and did not compute. Bytes are those
// that arrive at all devices. A halo needs no other layout.
type Transfer struct {
	Operation, Tensor string
	Also              []string    // further operations that read what it brings
	Readers           []ir.NodeID // the operations; of a result the one that gives it
	Held              float64     // bytes that a device has of what it brings
	Of                ir.NodeID   // the tensor
	Result            bool        // of the operation; an input otherwise
	From, To          string      // layouts
	Bytes             *big.Int
	Halo              bool
	Reason            string
	Ways              []Way // how it may be done, the one that is taken first; what instead of it comes behind
	At                diag.Location
	Notes             []diag.Note // the annotations that do not agree
}

// Way is one way to do what a transfer does. Without a machine Seconds is 0, and nothing is Sent.
type Way struct {
	Words   string
	Steps   []reshard.Step  // nil for what is done to other tensors instead
	Bytes   float64         // that arrive at all devices, at least
	Sent    machine.Traffic // that pass links, as its algorithms send them: all devices together
	Seconds machine.Figure
	Terms   []Term // of Seconds
}

// Term is a part of what a way takes.
type Term struct {
	What    string
	Seconds float64
}

// mover finds the transfers of a propagation, on a place if there is a machine.
type mover struct {
	p     *propagation
	place *reshard.Place // nil without one
}

// Diagnostic says it to the user.
func (t *Transfer) Diagnostic(s diag.Severity) diag.Diagnostic {
	code, what, of, who := "TAP0843", "reshard", "", t.Operation
	if t.Halo {
		code, what, of = "TAP0844", "exchange", " halos of"
	}
	if n := len(t.Also); n > 0 {
		who = strings.Join(append([]string{who}, t.Also[:n-1]...), ", ") + " and " + t.Also[n-1]
	} else {
		what += "s"
	}
	text := fmt.Sprintf("%s %s%s %s: %s → %s, %v bytes%s: %s", who, what, of, t.Tensor, t.From, t.To, t.Bytes, t.Ways[0].time(), t.Reason)
	if len(t.Ways) > 1 {
		text += fmt.Sprintf("; otherwise %.0f bytes%s", t.Ways[1].Bytes, t.Ways[1].time())
	}
	return diag.Diagnostic{Code: code, Constraint: constraint, Severity: s, Location: t.At, Notes: t.Notes, Message: text}
}

// time writes how a way does it, and what that takes.
func (w Way) time() string {
	if w.Seconds.Value > 0 {
		return fmt.Sprintf(", %s by %s", machine.Seconds.Format(w.Seconds.Value), w.Words)
	}
	return " by " + w.Words
}

// price gives the ways to do what a transfer does, the best first: by time where there is a machine, by bytes otherwise.
func (m *mover) price(o *operation, x *operand, t *Transfer) ([]Way, error) {
	bytes, _ := t.Bytes.Float64()
	if t.Halo {
		return m.halo(o, x, bytes)
	}
	l := m.p.tensors[x.sel.Tensor]
	var list []Way
	for i, steps := range m.p.ways(o, x, reshard.Layout{Dims: l.dims, Partial: l.partial}) {
		ways, err := m.carry(steps)
		if err != nil {
			return nil, err
		}
		if i == 0 && len(ways) > 0 {
			ways[0].Bytes = bytes
		}
		list = append(list, ways...)
	}
	if len(list) == 0 { // a selection of a part of a tensor has no layout of its own: its devices get what they lack
		return m.halo(o, x, bytes)
	}
	instead, err := m.instead(o, x)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(list, func(a, b Way) int {
		return cmp.Or(cmp.Compare(a.Seconds.Value, b.Seconds.Value), cmp.Compare(a.Bytes, b.Bytes))
	})
	if instead != nil {
		list = append(list[:1:1], *instead)
	}
	return list, nil
}

// carry gives the ways to carry steps out: by the two fastest algorithms, where they are one step and there is a machine.
func (m *mover) carry(steps []reshard.Step) ([]Way, error) {
	w := Way{Words: m.words(steps, nil), Steps: steps, Bytes: reshard.Arrive(m.p.plan.Mesh, steps)}
	if m.place == nil {
		return []Way{w}, nil
	}
	var chosen []string
	for _, x := range steps {
		best := collective.Price{}
		if x.Kind != reshard.Slice && m.p.plan.Mesh.Parts(x.Axes) > 1 {
			all, err := m.place.Algorithms(x)
			if err != nil {
				return nil, err
			}
			best = all[0]
			w.Terms = append(w.Terms, m.terms(x, best)...)
		}
		w.Sent = w.Sent.With(m.sent(x, best))
		t := best.Seconds
		w.Seconds = machine.Figure{Value: w.Seconds.Value + t.Value, Low: w.Seconds.Low + t.Low, High: w.Seconds.High + t.High}
		chosen = append(chosen, best.Algorithm)
	}
	w.Words = m.words(steps, chosen)
	list := []Way{w}
	if len(steps) == 1 && steps[0].Kind != reshard.Slice {
		all, err := m.place.Algorithms(steps[0])
		if err != nil {
			return nil, err
		}
		for _, x := range all[1:min(len(all), 2)] {
			w.Seconds, w.Words, w.Sent, w.Terms = x.Seconds, m.words(steps, []string{x.Algorithm}), m.sent(steps[0], x), m.terms(steps[0], x)
			list = append(list, w)
		}
	}
	return list, nil
}

// terms are those of a step by an algorithm: the latency of its steps, and its bytes.
func (m *mover) terms(s reshard.Step, p collective.Price) []Term {
	return []Term{{fmt.Sprintf("latency of %g steps of the %s", p.Steps, s.Kind), p.Latency},
		{fmt.Sprintf("%.0f bytes that a device sends", p.Bytes), p.Seconds.Value - p.Latency}}
}

// sent is what all devices of the mesh send together in a step: those of all groups.
func (m *mover) sent(s reshard.Step, p collective.Price) machine.Traffic {
	n := m.p.plan.Mesh.Devices()
	return p.Traffic().Times(float64(n / max(1, m.p.plan.Mesh.Parts(s.Axes))))
}

// words names steps: "all-gather along t (ring), slice along s".
func (m *mover) words(steps []reshard.Step, algorithms []string) (text string) {
	for i, s := range steps {
		if i > 0 {
			text += ", "
		}
		text += string(s.Kind) + " along " + m.p.plan.Mesh.Names(s.Axes)
		if len(algorithms) > 0 && algorithms[i] != "" {
			text += " (" + algorithms[i] + ")"
		}
	}
	return text
}

// halo is what neighbours exchange.
func (m *mover) halo(o *operation, x *operand, bytes float64) ([]Way, error) {
	var axes planfile.Axes
	for _, d := range append(slices.Clone(o.axes), m.p.tensors[x.sel.Tensor].dims...) {
		axes = append(axes, without(d, axes)...)
	}
	slices.Sort(axes)
	step := reshard.Step{Kind: collective.Exchange, Axes: axes, Dim: -1, Bytes: bytes / float64(m.p.plan.Mesh.Devices())}
	ways, err := m.carry([]reshard.Step{step})
	if len(ways) > 0 {
		ways[0].Bytes = bytes
	}
	return ways, err
}

// instead is what could be done to other tensors of an operation: its inputs gathered where its partial results are combined, or combined where it is passed on that they are partial.
func (m *mover) instead(o *operation, x *operand) (*Way, error) {
	if !x.out || len(o.gives()) == 0 {
		return nil, nil
	}
	w := Way{Words: "gathering what it reads"}
	if len(o.reducing()) == 0 {
		w.Words = "combining what it reads"
	}
	for i := range o.operands {
		in := &o.operands[i]
		if in.out {
			continue
		}
		from, to := m.p.there(o, in), m.p.there(o, in)
		for k, j := range in.dims {
			if j >= o.rank {
				to.Dims[k] = nil
			}
		}
		from.Partial = m.p.tensors[in.sel.Tensor].partial
		if steps := first(reshard.Ways(m.p.plan.Mesh, m.p.bytes(in), from, to)); steps != nil {
			ways, err := m.carry(steps)
			if err != nil {
				return nil, err
			}
			w.Bytes, w.Sent = w.Bytes+ways[0].Bytes, w.Sent.With(ways[0].Sent)
			t := ways[0].Seconds
			w.Seconds = machine.Figure{Value: w.Seconds.Value + t.Value, Low: w.Seconds.Low + t.Low, High: w.Seconds.High + t.High}
			w.Terms = append(w.Terms, ways[0].Terms...)
		}
	}
	return &w, nil
}
