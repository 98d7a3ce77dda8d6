package prices

import (
	"fmt"
	"io"
	"math/big"
	"strings"
	"text/tabwriter"

	"tensortapestry.org/tapc/cost/machine"
	"tensortapestry.org/tapc/cost/sharded"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/passes/propagate"
)

// Priced is what the command prints.
type Priced interface {
	Print(w io.Writer) error
	JSON(w io.Writer) error
	Trace(w io.Writer) error
}

// Mesh is what is known of a program over the devices of a mesh.
type Mesh struct{ *sharded.Report }

// Sent is how many bytes pass links.
func (m Mesh) Sent() (sum float64) {
	for _, link := range m.Links() {
		sum += m.Result.Links[link]
	}
	return sum
}

// arrived is how many bytes transfers bring to all devices together: an algorithm may send more.
func (m Mesh) arrived() *big.Int {
	sum := new(big.Int)
	for i := range m.Transfers {
		sum.Add(sum, m.Transfers[i].Bytes)
	}
	return sum
}

// Print writes the totals and the critical path.
func (m Mesh) Print(w io.Writer) error {
	r := m.Result
	fmt.Fprintf(w, "machine %s, %d devices, %d kernels on the first\n", m.Machine, m.Devices, m.Kernels)
	fmt.Fprintf(w, "time        %s, from %s to %s\n", seconds(r.Seconds), seconds(m.Time.Low), seconds(m.Time.High))
	fmt.Fprintf(w, "idle        %.1f %% of the devices' time\n", 100*r.Idle())
	fmt.Fprintf(w, "operations  %s on all devices\n", amount(m.Operations))
	fmt.Fprintf(w, "memory      %.0f bytes at most on a device: tensors alone\n", m.Peak())
	if len(m.Transfers) > 0 {
		fmt.Fprintf(w, "transfers   %d, by which %v bytes arrive\n", len(m.Transfers), m.arrived())
	}
	for _, link := range m.Links() {
		fmt.Fprintf(w, "link        %s: %.0f bytes\n", link, r.Links[link])
	}
	if m.Joules > 0 {
		fmt.Fprintf(w, "energy      %.4g J\n", m.Joules)
	}
	fmt.Fprintf(w, "\n")
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "begins\tends\ttakes\t  critical path\n")
	for _, i := range r.Critical {
		fmt.Fprintf(t, "%s\t%s\t%s\t  %s\n", seconds(r.Start[i]), seconds(r.End[i]), seconds(r.End[i]-r.Start[i]), m.Names[i])
	}
	return t.Flush()
}

type (
	meshJSON struct {
		Machine    string             `json:"machine"`
		Devices    int64              `json:"devices"`
		Time       intervalJSON       `json:"seconds"`
		Idle       float64            `json:"idle"`
		Operations float64            `json:"operations"`
		Peak       []float64          `json:"peak_bytes"`
		Busy       []float64          `json:"busy_seconds"`
		Links      map[string]float64 `json:"link_bytes"`
		Joules     float64            `json:"joules,omitempty"`
		Transfers  []transferJSON     `json:"transfers"`
		Critical   []string           `json:"critical_path"`
	}
	transferJSON struct {
		Operation string    `json:"operation"`
		Also      []string  `json:"also,omitempty"`
		Tensor    string    `json:"tensor"`
		From      string    `json:"from"`
		To        string    `json:"to"`
		Bytes     string    `json:"bytes"`
		Reason    string    `json:"reason"`
		Ways      []wayJSON `json:"ways"`
	}
	wayJSON struct {
		Way   string             `json:"way"`
		Bytes float64            `json:"bytes"`
		Sent  float64            `json:"sent_bytes"`
		Links map[string]float64 `json:"link_bytes,omitempty"`
		Time  intervalJSON       `json:"seconds"`
		Terms []wayTermJSON      `json:"terms"`
	}
	wayTermJSON struct {
		What    string  `json:"what"`
		Seconds float64 `json:"seconds"`
	}
)

// JSON writes all that is known.
func (m Mesh) JSON(w io.Writer) error {
	r := m.Result
	out := meshJSON{Machine: m.Machine, Devices: m.Devices, Time: intervalJSON(m.Time), Idle: r.Idle(), Operations: m.Operations, Peak: r.Peak, Busy: r.Busy,
		Links: r.Links, Joules: m.Joules, Transfers: []transferJSON{}, Critical: []string{}}
	for i := range m.Transfers {
		out.Transfers = append(out.Transfers, transferOf(&m.Transfers[i]))
	}
	for _, i := range r.Critical {
		out.Critical = append(out.Critical, m.Names[i])
	}
	return indented(w, out)
}

// transferOf gives the form of a transfer.
func transferOf(t *propagate.Transfer) transferJSON {
	x := transferJSON{Operation: t.Operation, Also: t.Also, Tensor: t.Tensor, From: t.From, To: t.To, Bytes: t.Bytes.String(), Reason: t.Reason}
	for _, way := range t.Ways {
		y := wayJSON{way.Words, way.Bytes, way.Sent.Bytes(), map[string]float64{}, intervalJSON{way.Seconds.Value, way.Seconds.Low, way.Seconds.High}, []wayTermJSON{}}
		for _, l := range way.Sent {
			y.Links[l.Link] = l.Bytes
		}
		for _, term := range way.Terms {
			y.Terms = append(y.Terms, wayTermJSON(term))
		}
		x.Ways = append(x.Ways, y)
	}
	return x
}

// Trace writes when each kernel and each flow runs.
func (m Mesh) Trace(w io.Writer) error { return m.Walk.Trace(w) }

// Explain writes of the transfers of a tensor or operation, or of all, why they are there, what they take and what the alternative would.
func (m Mesh) Explain(w io.Writer, name string, asJSON bool) error {
	var names []string
	found := []*propagate.Transfer{}
	for i := range m.Transfers {
		t := &m.Transfers[i]
		names = append(names, t.Tensor, t.Operation)
		if name == "" || fmt.Sprintf("tensor %q", name) == t.Tensor || fmt.Sprintf("operation %q", name) == t.Operation {
			found = append(found, t)
		}
	}
	switch {
	case len(found) == 0 && name != "":
		return diag.Errorf("TAP2853", "cost", diag.Location{}, "the plan needs no transfer of %q", name).Want("a tensor or an operation of a transfer", strings.Join(names, ", "))
	case asJSON:
		out := []transferJSON{}
		for _, t := range found {
			out = append(out, transferOf(t))
		}
		return indented(w, out)
	case len(found) == 0:
		_, err := fmt.Fprintln(w, "nothing is transferred")
		return err
	}
	for _, t := range found {
		if err := explain(w, t); err != nil {
			return err
		}
	}
	return nil
}

// explain writes one: the terms of each way add up to its time, and the difference to the next is theirs.
func explain(w io.Writer, t *propagate.Transfer) error {
	verb := "before"
	if t.Result {
		verb = "behind"
	}
	fmt.Fprintf(w, "%s: %s → %s, %v bytes, %s %s\n  because %s\n", t.Tensor, t.From, t.To, t.Bytes, verb, t.Operation, t.Reason)
	for _, n := range t.Notes {
		fmt.Fprintf(w, "  %s: %s\n", n.Location, n.Message)
	}
	for i, way := range t.Ways {
		word := "is"
		if i > 0 {
			word = "would be"
		}
		fmt.Fprintf(w, "  %s %s: %s, %s\n", word, way.Words, seconds(way.Seconds.Value), sent(way.Sent))
		for _, x := range way.Terms {
			fmt.Fprintf(w, "  %12s  %s\n", seconds(x.Seconds), x.What)
		}
	}
	if len(t.Ways) > 1 {
		saved, word := t.Ways[1].Seconds.Value-t.Ways[0].Seconds.Value, "saved"
		if saved < 0 {
			saved, word = -saved, "more than that"
		}
		_, err := fmt.Fprintf(w, "  %s %s\n", seconds(saved), word)
		return err
	}
	return nil
}

// sent says how many bytes pass which links.
func sent(t machine.Traffic) string {
	switch len(t) {
	case 0:
		return "0 bytes sent"
	case 1:
		return fmt.Sprintf("%.0f bytes sent on %s", t[0].Bytes, t[0].Link)
	}
	var parts []string
	for _, l := range t {
		parts = append(parts, fmt.Sprintf("%.0f on %s", l.Bytes, l.Link))
	}
	return fmt.Sprintf("%.0f bytes sent: %s", t.Bytes(), strings.Join(parts, ", "))
}
