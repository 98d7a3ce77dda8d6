// Package calibrate measures the machine that it runs on, and writes down what it found as a machine file: rates of products, arithmetic and
// functions, bandwidths of caches and memory, and what it takes to begin.
//
// What is measured are programs that the CPU back end makes of small graphs, so a rate is what such programs reach, not what the processor
// could. It must not be used for tests, whose results would depend on time. Read next: probes.go.
package calibrate

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"tensortapestry.org/tapc/cost/machine"
	"tensortapestry.org/tapc/cost/sample"
	"tensortapestry.org/tapc/internal/filecache"
	"tensortapestry.org/tapc/ir/diag"
)

// codeFailed is the code of an error of a program that is measured, or of a machine that does not say what it is.
const codeFailed = "TAP2821"

// Options of Measure.
type Options struct {
	Dir      string        // for programs
	Budget   time.Duration // that measuring takes at most, unless leastRounds take longer; building comes on top
	Tapc     string        // the compiler that builds them
	Target   string        // of the configs that their kernels have
	Devices  int64         // into which the cores are divided; 1 if it is 0
	Reuse    bool          // programs that are in Dir, of the same graphs, are not built again
	Together int           // so many cores are looked at together, as those of devices that compute side by side are, of which one thread runs on the slowest; 1 if it is 0
	Often    float64       // the part of all looks at which cores are as fast as they usually are, at least; a quarter if it is 0
	Wait     time.Duration // that is spent at most on waiting for cores to be as fast as they usually are
	Watch    Watcher       // is told how far the work is; nil for nobody
}

// Watcher is told of steps that will come, and of each that begins.
type Watcher interface {
	Plan(steps ...string)
	Begin(step string)
}

// nobody watches.
type nobody struct{}

func (nobody) Plan(...string) {}
func (nobody) Begin(string)   {}

// stepBuild names the step that builds the program of a probe.
func stepBuild(list []probe, i int) string {
	return fmt.Sprintf("building program %d of %d, %s", i+1, len(list), list[i].graph.Name)
}

func stepRound(r int) string {
	return fmt.Sprintf("measuring, round %d of at most %d", r+1, mostRounds)
}

// leastRounds are those that are measured whatever time they take: two halves can be compared.
const leastRounds = 2

// mostRounds is how often each probe runs, in turns with the others: many short runs, as what another machine does on the other thread of a core changes within some ten milliseconds. Each is a process
// of its own: pages of one push each other out of the second cache, those of the next do not (a transpose 200 × 200 takes 8 or 13.5 µs on Zen 3).
const mostRounds = 25

// perRun is how long a run of a probe measures, and together where threads share it: until a program knows that calling its other threads pays may take
// 20 ms, which is what it pays at most for one that comes late.
const (
	perRun   = 5 * time.Millisecond
	together = 60 * time.Millisecond
)

// Milliseconds that a program runs before it is measured, and where threads share it.
const (
	warmUp         = 5
	warmUpTogether = 30
)

// leastRuns is how often a program runs at least to be measured, and before its time is known.
const leastRuns = 5

// Runs is how often a program of a time runs to be measured for so long; longer if threads share it.
func Runs(seconds float64, threads int64, alone, shared time.Duration) int {
	if threads > 1 {
		alone = shared
	}
	return min(max(int(alone.Seconds()/seconds), leastRuns), 20000)
}

// Measure measures this machine. Divided is the same machine with its cores divided into the devices that the options ask for.
func Measure(ctx context.Context, o Options) (m, divided *machine.Machine, err error) {
	r, err := Begin(ctx, o)
	if err == nil {
		err = r.rounds(ctx)
	}
	if err != nil {
		return nil, nil, err
	}
	return r.Conclude()
}

// Run is a measurement, a round at a time: so that what is compared with it can be measured in turns with it.
type Run struct {
	options Options
	machine *machine.Machine
	probes  []probe
	cores   []int         // on which programs run, from the first
	counted int           // paces
	from    []float64     // of paces of one state what that may begin with, at least, sorted
	to      []float64     // and at most
	fastest float64       // of the paces that are usual
	hops    []float64     // how far cores were apart
	hopped  time.Time     // at the last of them
	apart   float64       // as they usually are
	wait    time.Duration // that is left
}

// Begin builds what a machine is measured by.
func Begin(ctx context.Context, o Options) (*Run, error) {
	m, err := found(o.Target)
	if err != nil {
		return nil, err
	}
	if o.Watch == nil {
		o.Watch = nobody{}
	}
	if _, err := m.Divide(max(o.Devices, 1), machine.Link{}, machine.Figure{}); err != nil {
		return nil, err
	}
	list := probes(&m.Devices[0])
	if n := max(o.Devices, min(m.Devices[0].Units, 2)); n > 1 {
		list = append(list, links(n)...)
	}
	if o.Devices > 1 {
		list = append(list, beside(o.Devices)...)
	}
	for i := range list {
		o.Watch.Plan(stepBuild(list, i))
	}
	for r := range leastRounds {
		o.Watch.Plan(stepRound(r))
	}
	group, building := errgroup.WithContext(ctx)
	group.SetLimit(runtime.NumCPU())
	env := objectsIn(o.Dir)
	for i := range list {
		p := &list[i]
		if j := slices.IndexFunc(list[:i], func(q probe) bool { return q.plan == p.plan && q.graph.Text() == p.graph.Text() }); j >= 0 {
			p.program = list[j].program // on other threads
			continue
		}
		p.program = filepath.Join(o.Dir, fmt.Sprintf("probe%d", i))
		if o.Reuse && p.built() {
			continue
		}
		group.Go(func() error { return p.build(building, o.Tapc, env) }) // waits until few are being built
		o.Watch.Begin(stepBuild(list, i))
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return &Run{options: o, machine: m, probes: list, cores: cores(), wait: o.Wait}, nil
}

// Round measures each probe once more. The state behind some is that before the next on as many threads.
func (r *Run) Round(ctx context.Context) error {
	if err := r.census(ctx); err != nil {
		return err
	}
	var before State
	for list := r.probes; len(list) > 0; {
		var times []float64
		threads := list[0].threads
		states, err := r.steady(ctx, before, threads, func() error {
			times = nil
			for begin := time.Now(); len(times) == 0 || len(times) < len(list) && list[len(times)].threads == threads && time.Since(begin) < between; {
				t, err := r.measure(ctx, &list[len(times)])
				if err != nil {
					return err
				}
				times = append(times, t)
			}
			return nil
		})
		if err != nil {
			return err
		}
		for i, t := range times {
			list[i].times, list[i].states = append(list[i].times, t), append(list[i].states, states)
		}
		if before, list = states[1], list[len(times):]; len(list) > 0 && list[0].threads != threads {
			before = State{}
		}
	}
	return nil
}

// Sample measures a program as a probe is measured in a round. It gives the states of the cores before and behind it, too.
func (r *Run) Sample(ctx context.Context, program string, runs int, threads int64) (t float64, states [2]State, err error) {
	states, err = r.steady(ctx, State{}, threads, func() (err error) {
		t, err = r.Time(ctx, program, runs, threads)
		return err
	})
	return t, states, err
}

// Conclude gives the machine of the rounds so far, as one device and divided: of each probe by the times at which the cores were as they usually were.
func (r *Run) Conclude() (m, divided *machine.Machine, err error) {
	one, list := *r.machine, slices.Clone(r.probes)
	one.Devices = slices.Clone(one.Devices)
	cpu := &one.Devices[0]
	cpu.Caches = slices.Clone(cpu.Caches)
	for i := range list {
		list[i].times = r.usual(&list[i])
	}
	conclude(cpu, list)
	one.Doc = fmt.Sprintf("Measured by tapc calibrate. Two halves of the same runs differ by %.1f %% on average.", 100*(same(list)-1))
	if r.options.Devices < 2 {
		return &one, &one, nil
	}
	divided, err = one.Divide(r.options.Devices, linked(list, cpu.Launch.Value), paceOf(list, r.options.Devices, cpu.Region.Value))
	return &one, divided, err
}

// Median is the middle one of several times, the later of two; 0 of none.
func Median(times []float64) float64 {
	if len(times) == 0 {
		return 0
	}
	return slices.Sorted(slices.Values(times))[len(times)/2]
}

// built says whether the program of a probe is there, made of the same graph by the same plan.
func (p *probe) built() bool {
	graph, err := os.ReadFile(p.program + ".tap")
	plan, _ := os.ReadFile(p.program + ".json") // a probe without a plan has none
	_, e := os.Stat(p.program)
	return err == nil && e == nil && string(graph) == p.graph.Text() && string(plan) == p.plan
}

// build makes the program of a probe.
func (p *probe) build(ctx context.Context, tapc string, env []string) error {
	if p.plan == "" {
		return build(ctx, tapc, p.graph, p.program, env)
	}
	plan := p.program + ".json"
	if err := os.WriteFile(plan, []byte(p.plan), 0o666); err != nil {
		return err
	}
	flags := []string{"--plan=" + plan}
	if p.what == copying { // which layout does without
		flags = append(flags, "--disable=layout")
	}
	return build(ctx, tapc, p.graph, p.program, env, flags...)
}

// objectsIn gives the environment of compilers whose programs have most of their objects, the run-time library's, in common: where there is no cache for them, these are kept in a folder of the programs'.
func objectsIn(dir string) []string {
	cache, err := filecache.Open()
	if err != nil {
		return append(os.Environ(), filecache.Variable+"="+filepath.Join(dir, "objects"))
	}
	cache.Close()
	return os.Environ()
}

// build makes a program of a graph, which it leaves beside it, by a tapc with an environment and flags.
func build(ctx context.Context, tapc string, g *sample.Graph, path string, env []string, flags ...string) error {
	if err := os.WriteFile(path+".tap", []byte(g.Text()), 0o666); err != nil {
		return err
	}
	c := exec.CommandContext(ctx, tapc, append([]string{"build", path + ".tap", "-o", path}, flags...)...)
	c.Env = env
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) } // it ends its compiler, and takes away what it made
	c.WaitDelay = 10 * time.Second
	if out, err := c.CombinedOutput(); err != nil {
		return failed("building the program %q, which is measured: %s", g.Name, said(out, err))
	}
	return nil
}

// failed is an error of the machine, which does not let something be measured.
func failed(format string, args ...any) error {
	return &diag.StatusError{Status: diag.ExitInternal, Err: diag.Errorf(codeFailed, "calibrate", diag.Location{}, format, args...)}
}

// said is what a program says of its failure, without the words that its own messages begin with; the error if it says nothing.
func said(out []byte, err error) string {
	return cmp.Or(strings.TrimPrefix(strings.TrimSpace(string(out)), "tapc: error: "), fmt.Sprint(err))
}

// rounds measures all probes in turns, until the budget has no room for one more that takes as long as the last, or all rounds are done; there are leastRounds of them at least.
func (r *Run) rounds(ctx context.Context) error {
	begin := time.Now()
	end, last := begin.Add(r.options.Budget), begin
	for n := range mostRounds {
		now := time.Now()
		took := now.Sub(last)
		last = now
		if n >= leastRounds {
			if now.Add(took).After(end) {
				break
			}
			r.options.Watch.Plan(stepRound(n))
		}
		r.options.Watch.Begin(stepRound(n))
		if err := r.Round(ctx); err != nil {
			return err
		}
	}
	return nil
}

// measure gives the seconds of a probe now.
func (r *Run) measure(ctx context.Context, p *probe) (float64, error) {
	switch p.what {
	case copying:
		return copied(ctx, p.program, p.threads)
	case lasting:
		return r.summed(ctx, p.program)
	}
	n := leastRuns
	if t := Best(p.times); t > 0 {
		n = Runs(t, p.threads, perRun, together)
	}
	return r.Time(ctx, p.program, n, p.threads)
}

// Time runs a program so many times, and gives the 10th percentile of their seconds.
func Time(ctx context.Context, program string, runs int, threads int64) (float64, error) {
	return timeOn(ctx, nil, program, runs, threads, warmUpOn(threads))
}

// Time gives what the function of the same name does, on the first cores of the run.
func (r *Run) Time(ctx context.Context, program string, runs int, threads int64) (float64, error) {
	return timeOn(ctx, r.first(threads), program, runs, threads, warmUpOn(threads))
}

// first gives the cores that so many threads run on.
func (r *Run) first(threads int64) []int { return r.cores[:min(threads, int64(len(r.cores)))] }

// warmUpOn is how many milliseconds a program runs on so many threads before it is measured.
func warmUpOn(threads int64) int {
	if threads > 1 {
		return warmUpTogether
	}
	return warmUp
}

// timeOn runs a program on some cores, on any if they are none.
func timeOn(ctx context.Context, cores []int, program string, runs int, threads int64, warm int) (float64, error) {
	c := exec.CommandContext(ctx, program, "--random", "1", "--bench", strconv.Itoa(runs), "--warm-up", strconv.Itoa(warm), "--threads", strconv.FormatInt(threads, 10))
	return find(c, cores, tenth)
}

// summed runs a program on the first core of the run, and gives the mean time that its sum took in a run.
func (r *Run) summed(ctx context.Context, program string) (float64, error) {
	c := exec.CommandContext(ctx, program, "--random", "1", "--bench", strconv.Itoa(whileRuns), "--warm-up", strconv.Itoa(warmUp), "--profile", "--threads", "1")
	return find(c, r.first(1), sumOf)
}

// whileRuns is how often that program runs, and sumOf finds what its sum took.
const whileRuns = 10

var sumOf = regexp.MustCompile(`(\S+) ms +\S+ % +step \d+: op:sum`)

// find runs a program on some cores, and gives the time that is found in what it says.
func find(c *exec.Cmd, cores []int, what *regexp.Regexp) (float64, error) {
	c.WaitDelay = time.Second
	var text bytes.Buffer
	c.Stdout, c.Stderr = &text, &text
	err := startOn(c, cores)
	if err == nil {
		err = c.Wait()
	}
	found := what.FindSubmatch(text.Bytes())
	if err != nil || found == nil {
		return 0, failed("running a program that is measured: %s", said(text.Bytes(), err))
	}
	ms, err := strconv.ParseFloat(string(found[1]), 64)
	return ms / 1e3, err
}

var tenth = regexp.MustCompile(`p10 (\S+) ms`)

// Best is the least of several times; 0 of none.
func Best(times []float64) float64 {
	if len(times) == 0 {
		return 0
	}
	return slices.Min(times)
}

// rate is how many things are done in a second at the usual time; its bounds are the rate at the median, and a little more than at the best.
func (p *probe) rate(things float64) machine.Figure {
	usual := Usual(p.times)
	return machine.Figure{Value: things / usual, Low: things / max(usual, Median(p.times)), High: things / Best(p.times) * 1.02}
}

// Usual is the lower quartile of several times, and of three or more no less than the second least, since the least may be of a moment in which a core was faster than it usually is, as where
// another machine leaves the other thread of the same core alone; the least of fewer, 0 of none.
func Usual(times []float64) float64 {
	if len(times) < 3 {
		return Best(times)
	}
	return slices.Sorted(slices.Values(times))[max(1, (len(times)-1)/4)]
}

// Halves is by which factor the usual time of the even rounds and that of the odd ones differ; false where one of them has none.
func Halves(times []float64) (factor float64, ok bool) {
	var half [2][]float64
	for i, t := range times {
		half[i%2] = append(half[i%2], t)
	}
	if len(half[1]) == 0 {
		return 1, false
	}
	return Usual(half[0]) / Usual(half[1]), true
}

// same is the geometric mean of how much the even rounds and the odd ones differ, of those probes that have both.
func same(list []probe) float64 {
	sum, n := 0.0, 0
	for _, p := range list {
		if f, ok := Halves(p.times); ok {
			sum += math.Abs(math.Log(f))
			n++
		}
	}
	return math.Exp(sum / float64(max(n, 1)))
}

// found is what the system says of the machine: cores, caches and memory. Kernels have configs for a target.
func found(target string) (*machine.Machine, error) {
	m := &machine.Machine{Format: machine.Format, Name: "measured", Source: "tapc calibrate: programs that tapc builds, the lower quartile of several rounds",
		Localities: []machine.Locality{{Name: "machine", Members: []machine.Member{{Of: "cpu", Count: 1}}}}}
	d := machine.Device{Name: "cpu", Kind: kind, Target: target, Units: units()}
	var err error
	if d.Memory, err = memory(); err == nil {
		d.Caches, err = caches()
	}
	if err != nil {
		return nil, failed("the system does not say what this machine has: %v", err)
	}
	m.Devices = []machine.Device{d}
	return m, nil
}
