// Package machines is the command `tapc machine`: machines that tapc knows, and files.
// Read next: cost/machine.
package machines

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"tensortapestry.org/tapc/cmd/tapc/progress"
	"tensortapestry.org/tapc/cost/calibrate"
	"tensortapestry.org/tapc/cost/collective"
	"tensortapestry.org/tapc/cost/machine"
	"tensortapestry.org/tapc/ir/diag"
)

// Help is the text of --help.
const Help = `Print machine files: which devices a machine has, what they do in a second, and the links
between them. Without a name, list those that tapc knows; with one, print its file, to be
changed for a machine of your own; with the path of a file, check it and print it again.
Each figure says where it is from. --collective prices one by the algorithms that there are.`

// CalibrateHelp is the text of --help of `tapc calibrate`.
const CalibrateHelp = `Measure this machine and write a machine file: what programs of tapc reach with products,
arithmetic and functions, on one core and on all, what they move from each cache and from
memory, and what kernels and threads take to begin. It takes less than a minute, and a C
compiler. Bounds are those of the rounds' own differences: measure while nothing else runs.
With --devices the machine has so many devices of one host, each with its part of the cores:
what --devices of build makes of it, with the link that copies between them are.`

// Calibrate measures this machine, divided into so many devices, by programs that this tapc builds, whose kernels have configs for a target. How far it is, it says on a stream as a flag has it.
func Calibrate(ctx context.Context, target string, devices int64, stderr io.Writer, f *progress.Flag) (m *machine.Machine, err error) {
	if devices < 1 {
		return nil, diag.Usage("--devices=%d: expected at least one device", devices)
	}
	tapc, err := os.Executable()
	if err != nil {
		return nil, diag.Fault("%w", err)
	}
	dir, err := os.MkdirTemp("", "tapc-")
	if err != nil {
		return nil, diag.Fault("%w", err)
	}
	defer os.RemoveAll(dir)
	meter := progress.New(stderr, f.Form(stderr))
	defer func() { meter.End(err == nil) }()
	_, m, err = calibrate.Measure(ctx, calibrate.Options{Dir: dir, Budget: 42 * time.Second, Tapc: tapc, Target: target, Devices: devices, Together: int(devices), Wait: 10 * time.Second, Watch: meter})
	return m, err
}

// List writes which machines tapc knows.
func List(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, name := range machine.Presets() {
		m, err := machine.Preset(name)
		if err != nil {
			return err
		}
		fmt.Fprintf(t, "%s\t%d\t%s\n", name, m.Layout().Devices(), m.Doc)
	}
	return t.Flush()
}

// Print writes the file of a machine, once it is checked.
func Print(w io.Writer, name string, check func(*machine.Machine) error) error {
	if !strings.ContainsAny(name, "./") {
		text, err := machine.Text(name)
		if err != nil {
			return err
		}
		_, err = w.Write(text)
		return err
	}
	m, err := machine.Find(name)
	if err == nil {
		err = check(m)
	}
	if err != nil {
		return err
	}
	return m.Write(w)
}

// CheckCollective says what is wrong with a value of --collective, KIND=SIZE.
func CheckCollective(text string) error {
	kind, size, _ := strings.Cut(text, "=")
	if !slices.Contains(collective.Kinds, kind) {
		return diag.Unknown("collective", kind, collective.Kinds)
	}
	if bytes, err := machine.Bytes.Parse(size); err != nil || bytes == 0 {
		return diag.Usage("--collective=%s: expected KIND=SIZE, such as %s=%q", text, kind, "1 GB")
	}
	return nil
}

// Collectives writes what a collective, given as KIND=SIZE, takes by each algorithm among the devices of the machine's first kind: those that are
// nearest to the first of them, and all.
func Collectives(w io.Writer, name, text string) error {
	m, err := machine.Find(name)
	if err != nil {
		return err
	}
	kind, size, _ := strings.Cut(text, "=")
	bytes, err := machine.Bytes.Parse(size)
	if err != nil {
		return err
	}
	layout := m.Layout()
	all := layout.Named(m.Devices[0].Name)
	for i, group := range [][]int64{layout.Near(all), all} {
		if i == 1 && len(group) == len(layout.Near(all)) {
			break
		}
		prices, err := collective.Of(layout, collective.Kind(kind), group, bytes)
		if err != nil {
			return err
		}
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
		fmt.Fprintf(t, "%d devices\ttime\tat least\tat most\tsteps\tsent by each\t  sent by all\n", len(group))
		for _, p := range prices {
			var sent []string
			for _, l := range p.Traffic() {
				sent = append(sent, machine.Bytes.Format(l.Bytes)+" on "+l.Link)
			}
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%g\t%s\t  %s\n", p.Algorithm, machine.Seconds.Format(p.Seconds.Value), machine.Seconds.Format(p.Seconds.Low),
				machine.Seconds.Format(p.Seconds.High), p.Steps, machine.Bytes.Format(p.Bytes), strings.Join(sent, ", "))
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	return nil
}

// Schema writes the JSON schema of machine files.
func Schema(w io.Writer) error {
	_, err := w.Write(machine.Schema())
	return err
}
