package prices

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"text/tabwriter"

	"tensortapestry.org/tapc/cost/machine"
	"tensortapestry.org/tapc/cost/price"
	"tensortapestry.org/tapc/internal/traceevent"
)

// maxRows is how many kernels the table has; all are in the JSON.
const maxRows = 40

// Print writes a table of the kernels, those that take longest first, and the totals.
func (r *Report) Print(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "time\tat least\tat most\tpart\tof roof\toperations\tbytes\tunits\t  kernel\n")
	order := r.longest()
	for _, i := range order[:min(len(order), maxRows)] {
		k := r.Kernels[i]
		fmt.Fprintf(t, "%s\t%s\t%s\t%.1f %%\t%.0f %%\t%s\t%s\t%d\t  %s: %s, bound by %s\n", seconds(k.Time.Value), seconds(k.Time.Low), seconds(k.Time.High),
			100*k.Time.Value/r.Time.Value, 100*k.Roof/k.Time.Value, amount(k.Work.Operations()), machine.Bytes.Format(k.Work.Bytes()), k.Units, r.Names[i], k.Form, k.Bound)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if more := len(order) - maxRows; more > 0 {
		fmt.Fprintf(w, "… and %d kernels more (--json has all)\n", more)
	}
	operations, bytes := r.totals()
	fmt.Fprintf(w, "\nmachine %s, %d kernels, all on the critical path\n", r.Machine, len(r.Kernels))
	fmt.Fprintf(w, "time        %s, from %s to %s\n", seconds(r.Time.Value), seconds(r.Time.Low), seconds(r.Time.High))
	fmt.Fprintf(w, "operations  %s, %s\n", amount(operations), machine.PerSecond.Format(operations/r.Time.Value))
	fmt.Fprintf(w, "bytes       %s, %s\n", machine.Bytes.Format(bytes), machine.BytesASecond.Format(bytes/r.Time.Value))
	if len(r.Memory) > 0 {
		fmt.Fprintf(w, "memory      %d bytes at most, about %d of them code\n", r.memory(), r.code())
	}
	if r.Joules > 0 {
		fmt.Fprintf(w, "energy      %.4g J\n", r.Joules)
	}
	return nil
}

func seconds(x float64) string { return machine.Seconds.Format(x) }

// amount writes a number of operations.
func amount(x float64) string {
	text := machine.PerSecond.Format(x)
	return text[:len(text)-len(machine.PerSecond)]
}

// The forms of JSON.
type (
	reportJSON struct {
		Machine    string       `json:"machine"`
		Time       intervalJSON `json:"seconds"`
		Operations float64      `json:"operations"`
		Bytes      float64      `json:"bytes"`
		Memory     int64        `json:"memory_bytes,omitempty"`
		Joules     float64      `json:"joules,omitempty"`
		Kernels    []kernelJSON `json:"kernels"`
		Critical   []string     `json:"critical_path"`
	}
	intervalJSON struct {
		Value float64 `json:"value"`
		Low   float64 `json:"low"`
		High  float64 `json:"high"`
	}
	kernelJSON struct {
		Node       string       `json:"node"`
		Kernel     string       `json:"kernel"`
		Form       string       `json:"form"`
		Units      int64        `json:"units"`
		Time       intervalJSON `json:"seconds"`
		Roof       float64      `json:"roof_seconds"`
		Bound      string       `json:"bound_by"`
		Products   float64      `json:"products"`
		Operations float64      `json:"operations"`
		Bytes      float64      `json:"bytes"`
		Terms      []termJSON   `json:"terms"`
		Other      *otherJSON   `json:"other,omitempty"`
	}
	otherJSON struct {
		Form  string        `json:"form"`
		Units int64         `json:"units"`
		Time  intervalJSON  `json:"seconds"`
		Terms []termJSON    `json:"terms"`
		More  float64       `json:"more_seconds"`
		Why   []wayTermJSON `json:"differences"`
	}
	memoryJSON struct {
		Bytes int64      `json:"bytes"`
		Terms []partJSON `json:"terms"`
	}
	partJSON struct {
		What  string `json:"what"`
		Bytes int64  `json:"bytes"`
	}
	termJSON struct {
		What string       `json:"what"`
		Time intervalJSON `json:"seconds"`
	}
)

// JSON writes all that is known.
func (r *Report) JSON(w io.Writer) error {
	operations, bytes := r.totals()
	out := reportJSON{Machine: r.Machine, Time: intervalJSON(r.Time), Operations: operations, Bytes: bytes, Memory: r.memory(), Joules: r.Joules, Kernels: []kernelJSON{}, Critical: []string{}}
	for i := range r.Kernels {
		out.Kernels = append(out.Kernels, r.kernelOf(i))
	}
	for _, i := range r.Critical {
		out.Critical = append(out.Critical, r.Names[i])
	}
	return indented(w, out)
}

// kernelOf gives the form of a kernel.
func (r *Report) kernelOf(i int) kernelJSON {
	k := r.Kernels[i]
	x := kernelJSON{r.Names[i], k.Name, k.Form, k.Units, intervalJSON(k.Time), k.Roof, k.Bound, k.Work.Products, k.Work.Operations(), k.Work.Bytes(), termsOf(&k), nil}
	if o := k.Other; o != nil {
		x.Other = &otherJSON{o.Form, o.Units, intervalJSON(o.Time), termsOf(o), o.Time.Value - k.Time.Value, []wayTermJSON{}}
		for _, t := range k.Beside() {
			x.Other.Why = append(x.Other.Why, wayTermJSON{t.What, t.Time.Value})
		}
	}
	return x
}

// termsOf gives the forms of the terms of a kernel.
func termsOf(k *price.Kernel) []termJSON {
	list := []termJSON{}
	for _, t := range k.Terms {
		list = append(list, termJSON{t.What, intervalJSON(t.Time)})
	}
	return list
}

// indented writes JSON for people, too.
func indented(w io.Writer, v any) error {
	to := json.NewEncoder(w)
	to.SetIndent("", "  ")
	return to.Encode(v)
}

// Trace writes when each kernel runs, as a trace for chrome://tracing or Perfetto.
func (r *Report) Trace(w io.Writer) error {
	var events []traceevent.Event
	names := []traceevent.Name{{Process: 1, Name: r.Machine}}
	at := 0.0
	for i, k := range r.Kernels {
		for unit := range k.Units {
			if len(names) <= int(unit)+1 {
				names = append(names, traceevent.Name{Process: 1, Row: int(unit) + 1, Name: fmt.Sprintf("unit %d", unit)})
			}
			events = append(events, traceevent.Event{Name: r.Names[i], Kind: k.Form, Start: 1e6 * at, Time: 1e6 * k.Time.Value, Process: 1, Row: int(unit) + 1,
				Args: map[string]float64{"operations": k.Work.Operations(), "bytes": k.Work.Bytes()}})
		}
		at += k.Time.Value
	}
	return traceevent.Write(w, events, names...)
}

// Explain writes of the kernels of a name, or of all, why they take what they take.
func (r *Report) Explain(w io.Writer, name string, asJSON bool) error {
	found, err := r.named(name)
	if err != nil {
		return err
	}
	if asJSON {
		out := []kernelJSON{}
		for _, i := range found {
			out = append(out, r.kernelOf(i))
		}
		return indented(w, out)
	}
	for _, i := range found {
		k := r.Kernels[i]
		fmt.Fprintf(w, "%s: %s, from %s to %s, on %d units as %s\n", r.Names[i], seconds(k.Time.Value), seconds(k.Time.Low), seconds(k.Time.High), k.Units, k.Form)
		for _, t := range k.Terms {
			writeTerm(w, &k, t)
		}
		if err := writeOther(w, &k); err != nil {
			return err
		}
	}
	return nil
}

// writeOther writes by what else a kernel could be carried out, and where the times differ: the differences of the terms add up to that of the times.
func writeOther(w io.Writer, k *price.Kernel) error {
	o := k.Other
	if o == nil {
		_, err := fmt.Fprintf(w, "  no other config has another price\n")
		return err
	}
	fmt.Fprintf(w, "  would be %s, from %s to %s, on %d units by %s\n", seconds(o.Time.Value), seconds(o.Time.Low), seconds(o.Time.High), o.Units, o.Form)
	for _, t := range o.Terms {
		writeTerm(w, o, t)
	}
	word := "more"
	if o.Time.Value < k.Time.Value {
		word = "less"
	}
	fmt.Fprintf(w, "  %s %s\n", seconds(math.Abs(o.Time.Value-k.Time.Value)), word)
	for _, t := range k.Beside() {
		fmt.Fprintf(w, "  %10s  %s\n", signed(t.Time.Value), t.What)
	}
	return nil
}

// signed writes a difference of times.
func signed(x float64) string {
	if x < 0 {
		return "-" + seconds(-x)
	}
	return seconds(x)
}

func writeTerm(w io.Writer, k *price.Kernel, t price.Term) {
	fmt.Fprintf(w, "  %10s  %5.1f %%  %s\n", seconds(t.Time.Value), 100*t.Time.Value/k.Time.Value, t.What)
}

// ExplainMemory writes what the program has in memory at most, part by part; of a target whose programs do not state that, what devices hold by the schedule.
func (r *Report) ExplainMemory(w io.Writer, asJSON bool) error {
	list, of := r.Memory, "at most"
	if len(list) == 0 {
		list, of = r.held, "on devices: tensors and workspaces alone"
	}
	all := bytesOf(list)
	if asJSON {
		out := memoryJSON{Bytes: all, Terms: []partJSON{}}
		for _, t := range list {
			out.Terms = append(out.Terms, partJSON{t.What, t.Bytes})
		}
		return indented(w, out)
	}
	fmt.Fprintf(w, "%d bytes %s\n", all, of)
	for _, t := range list {
		if t.Bytes > 0 {
			fmt.Fprintf(w, "  %12d  %5.1f %%  %s\n", t.Bytes, 100*float64(t.Bytes)/float64(all), t.What)
		}
	}
	return nil
}
