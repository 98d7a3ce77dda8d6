package tune

import (
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"tensortapestry.org/tapc/backends/tune"
	"tensortapestry.org/tapc/cmd/tapc/progress"
)

// table writes what was found of each kernel when it is known.
type table struct {
	out   io.Writer
	log   io.Writer // may show progress, on the terminal that out may be too
	list  []*tune.Result
	done  int
	width int // of names
	races int
	err   error
}

// flusher is a stream that holds back what is written until it is told.
type flusher interface{ Flush() error }

func (t *table) printf(format string, args ...any) {
	if t.err == nil {
		_, t.err = io.WriteString(t.log, "") // takes a line of progress away
	}
	if t.err == nil {
		_, t.err = fmt.Fprintf(t.out, format, args...)
	}
	if f, ok := t.out.(flusher); ok && t.err == nil {
		t.err = f.Flush()
	}
}

// longest is how much of a kernel's name is shown.
const longest = 40

func nameOf(r *tune.Result) string {
	if name := []rune(r.Kernel.Name); len(name) > longest {
		return string(name[:longest-1]) + "…"
	}
	return r.Kernel.Name
}

func (t *table) begin(list []*tune.Result, on string) {
	t.list, t.width = list, len("kernel")
	kernels := 0
	for _, r := range list {
		t.width = max(t.width, len([]rune(nameOf(r))))
		kernels += len(r.Nodes)
	}
	t.printf("%d kernels, %d different, on %s\n", kernels, len(list), on)
	t.printf("%-*s  times     races  gain\n", t.width, "kernel")
	if m, ok := t.log.(*progress.Meter); ok {
		names := make([]string, len(list))
		for i, r := range list {
			names[i] = nameOf(r)
		}
		m.Plan(names...)
	}
	t.next()
}

// next shows which kernel is tuned, if progress is shown.
func (t *table) next() {
	if m, ok := t.log.(*progress.Meter); ok && t.done < len(t.list) {
		m.Begin(nameOf(t.list[t.done]))
	}
}

// row writes what was found of a kernel.
func (t *table) row(r *tune.Result) {
	t.races += r.Measured
	t.printf("%-*s  %5d  %8d  %s\n", t.width, nameOf(r), len(r.Nodes), r.Measured, found(r))
	t.done++
	t.next()
}

// found says what is known of a kernel.
func found(r *tune.Result) string {
	if r.Reason != "" {
		return "not tuned: " + r.Reason
	}
	what := fmt.Sprintf("none in %d candidates", len(r.Entry.Trials))
	if r.Tuned() {
		what = fmt.Sprintf("%s: %s", gain(r), r.Kernel.Words(r.Entry.Best()))
	}
	if !r.Complete() {
		what += "; not all is measured"
	}
	if r.Complete() && r.Measured == 0 {
		what += "; from the cache"
	}
	return what
}

// gain says how much faster the chosen config of a kernel is than the default.
func gain(r *tune.Result) string {
	g := r.Entry.Gain
	return fmt.Sprintf("%.2f times as fast (%.1f µs, sure to %.4g %%)", 1/g.Ratio, 1e6*g.Seconds, math.Floor(1e4*g.Sure)/100)
}

// trial says how a race ended.
func trial(x tune.Trial) string {
	switch x.Outcome {
	case tune.Refused:
		return fmt.Sprintf("%s: refused: %s", x.Says, strings.SplitN(x.Reason, "\n", 2)[0])
	default:
		return fmt.Sprintf("%s: %s: %.3f of the time in %d rounds", x.Says, x.Outcome, x.Ratio, x.Rounds)
	}
}

// end writes the summary.
func (t *table) end(took time.Duration) error {
	tuned, open := 0, 0
	for _, r := range t.list {
		if r.Tuned() {
			tuned += len(r.Nodes)
		}
		if r.Entry != nil && !r.Complete() {
			open++
		}
	}
	t.printf("%d races in %.1f s; %d kernel%s faster than by default%s\n", t.races, took.Seconds(), tuned, plural(tuned), before(t.list))
	if open > 0 {
		t.printf("the time was over before all of %d kernel%s was measured: tapc tune goes on there\n", open, plural(open))
	}
	return t.err
}

// before says what tuned kernels took and take, together.
func before(list []*tune.Result) string {
	was, is := 0.0, 0.0
	for _, r := range list {
		if r.Tuned() {
			n := float64(len(r.Nodes))
			is, was = is+n*r.Entry.Gain.Seconds, was+n*r.Entry.Gain.Seconds/r.Entry.Gain.Ratio
		}
	}
	if is == 0 {
		return ""
	}
	return fmt.Sprintf(", which take %.4g µs instead of %.4g", 1e6*is, 1e6*was)
}

// tell says what --tuned changes.
func tell(to io.Writer, list []*tune.Result) error {
	kernels, changed, looked := 0, 0, 0
	var b strings.Builder
	for _, r := range list {
		kernels += len(r.Nodes)
		if r.Entry != nil && len(r.Entry.Trials) > 0 {
			looked += len(r.Nodes)
		}
		if !r.Tuned() {
			continue
		}
		changed += len(r.Nodes)
		fmt.Fprintf(&b, "  %s: %s: %s instead of %s\n", nameOf(r), gain(r), r.Kernel.Words(r.Entry.Best()), r.Kernel.Words(r.Entry.DefaultConfig()))
	}
	head := fmt.Sprintf("tapc: tuned: %d of %d kernel%s changed%s", changed, kernels, plural(kernels), before(list))
	if looked < kernels {
		head += fmt.Sprintf("; %d by default, as tapc tune did not measure them here", kernels-looked)
	}
	_, err := io.WriteString(to, head+"\n"+b.String())
	return err
}

func plural(n int) string {
	if n == 1 {
		return ""
	}
	return "s"
}
