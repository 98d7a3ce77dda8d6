// Package tune finds configs of the kernels of a schedule by measuring: for each kernel, by itself, it builds programs by what the back end offers and by what is
// beside the choice so far, races them against it, and keeps what is surely faster than the default in a cache, from which builds take it.
//
// Times decide here and nowhere else, so no test may depend on what it finds: a lab of a back end (backends.Lab) is what measures, and tests have one of their own.
// Sums are taken in the same order by all that is chosen, unless another is allowed: programs whose values differ in a bit are refused. The package knows no back
// end. Read next: search.go, race.go, neighbours.go; backends/cpu/lab.go and backends/cuda/lab.go are labs.
package tune

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"tensortapestry.org/tapc/backends"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/permission"
	"tensortapestry.org/tapc/passes/tile"
)

// Result is what is known of a kernel when it was tuned, or could not be.
type Result struct {
	Entry    *Entry // nil if it cannot be
	Kernel   *Kernel
	Nodes    []ir.NodeID // of the kernels that are equal to it
	Measured int         // races now
	Reason   string      // why it is not tuned
	price    float64
	key      []string
	all      bool // of Settings
}

// Tuned says whether the kernel has a config that is surely faster than the default.
func (r *Result) Tuned() bool { return r.Entry != nil && r.Entry.Gain.Outcome == Faster }

// Complete says whether there is nothing left to measure.
func (r *Result) Complete() bool {
	return r.Entry != nil && r.Entry.Complete && (r.Entry.All || !r.all)
}

// Settings are those of a run.
type Settings struct {
	Store  Store
	Warn   func(diag.Diagnostic)
	Budget time.Duration // for all kernels; 0 is no end
	All    bool          // measure also what the model thinks is hopeless
	Trial  func(*Result, Trial)
	Done   func(*Result)
	Lab    backends.Lab     // what measures
	Now    func() time.Time // nil is the clock
}

// Kernels finds the kernels of a graph that are for a processor, equal ones once, with what the cache has of them. Those that the model thinks take longest
// together come first.
func Kernels(g *ir.Graph, s Settings) ([]*Result, error) {
	device, _ := s.Lab.Chooser().Target()
	var out []*Result
	known := map[string]*Result{}
	for n := range g.Nodes() {
		body, ok := n.Body.(*schedule.Kernel)
		if !ok || g.Node(body.Device).Body.(*schedule.Device).Type != device {
			continue
		}
		r, text, err := s.kernel(g, n)
		if err != nil {
			return nil, err
		}
		if same := known[text]; same != nil && text != "" {
			same.Nodes = append(same.Nodes, n.ID)
			continue
		}
		r.all = s.All
		if known[text] = r; r.Reason == "" {
			err = s.recall(r)
		}
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	slices.SortStableFunc(out, func(x, y *Result) int { return cmp.Compare(y.total(), x.total()) })
	return out, nil
}

// total is what the model thinks that all kernels of a result take.
func (r *Result) total() float64 { return r.price * float64(len(r.Nodes)) }

// kernel takes a kernel out of a graph, and gives its text, "" if it cannot be tuned.
func (s Settings) kernel(g *ir.Graph, n *ir.Node) (*Result, string, error) {
	r := &Result{Nodes: []ir.NodeID{n.ID}, Kernel: &Kernel{Name: n.Body.(*schedule.Kernel).Name}}
	k, err := Isolate(g, n.ID)
	if err != nil {
		r.Reason = err.Error()
		return r, "", nil
	}
	r.Kernel = k
	if s.byDefault(k) == nil {
		_, target := s.Lab.Chooser().Target()
		r.Reason = "the schedule has no config of it for " + target
		return r, "", nil
	}
	text, err := k.Text(s.byDefault(k))
	return r, text, err
}

// byDefault gives the config that a kernel has in the schedule, one without stages where it has none and can do without, or else nil.
func (s Settings) byDefault(k *Kernel) *schedule.Config {
	_, target := s.Lab.Chooser().Target()
	if c := k.Body().For(target); c != nil {
		return c
	}
	for _, c := range s.Lab.Chooser().Candidates(k.Analysis()) {
		if c.Config == nil && c.Refused == nil {
			return &schedule.Config{Target: target}
		}
	}
	return nil
}

// recall looks for a kernel in the cache.
func (s Settings) recall(r *Result) (err error) {
	def := s.byDefault(r.Kernel)
	if r.key, err = key(s.Lab, r.Kernel, def); err != nil {
		return err
	}
	if r.price, err = price(s.Lab.Chooser(), r.Kernel, def); err != nil {
		return err
	}
	if r.Entry = look(s.Store, r.key, s.Warn); r.Entry == nil || r.stale(s.Lab) {
		r.Entry = &Entry{Format: Format, Kernel: r.Kernel.Name, Key: r.key, defaultConfig: def, chosen: def}
	}
	return nil
}

// key is what figures of a kernel hold for: what its lab says, the code by its default, which changes with the back end's templates, and the kernel as text, with the
// layouts of its buffers and what it may do to numbers.
func key(lab backends.Lab, k *Kernel, def *schedule.Config) ([]string, error) {
	holds, err := lab.Holds()
	if err != nil {
		return nil, err
	}
	text, err := k.Text(def)
	if err != nil {
		return nil, err
	}
	code, err := lab.Code(k.With(def))
	return append(holds, "code "+code, "kernel "+digest(text)), err
}

// stale says whether what an entry chose is no longer written as it was measured, or cannot be.
func (r *Result) stale(lab backends.Lab) bool {
	if r.Entry.Code == "" {
		return false
	}
	if !bare(r.Entry.chosen) {
		if _, err := lab.Chooser().Check(r.Kernel.Analysis(), r.Entry.chosen); err != nil {
			return true
		}
	}
	code, err := lab.Code(r.Kernel.With(r.Entry.chosen))
	return err != nil || code != r.Entry.Code
}

// price is what the model thinks that a kernel takes by its default.
func price(chooser tile.Chooser, k *Kernel, def *schedule.Config) (float64, error) {
	a, least := k.Analysis(), 0.0
	list := chooser.Candidates(a)
	for i := range list {
		c := &list[i]
		if c.Config != nil && state(chooser, a, c.Config) != nil || c.Config == nil && c.Refused != nil {
			continue
		}
		e, err := chooser.Price(a, c)
		if err != nil {
			return 0, err
		}
		if c.Config == nil && bare(def) || c.Config != nil && textOf(c.Config) == textOf(def) {
			return e.Seconds, nil
		}
		least = cmp.Or(least, e.Seconds)
	}
	return least, nil
}

// state writes into a config what workspaces the kernel needs by it, or says why it cannot be carried out.
func state(chooser tile.Chooser, a *nest.Analysis, c *schedule.Config) (err error) {
	c.Workspaces, err = chooser.Check(a, c)
	return err
}

// Run tunes kernels, one after the other. Each may take its part of the budget that is left, as the model's prices are. What was found is in the cache after each
// race, so that nothing is lost when a run is interrupted.
func Run(ctx context.Context, list []*Result, s Settings) error {
	if s.Now == nil {
		s.Now = time.Now
	}
	end, left := s.Now().Add(s.Budget), 0.0
	for _, r := range list {
		left += r.total()
	}
	for _, r := range list {
		until := end
		if now := s.Now(); left > 0 {
			until = now.Add(time.Duration(float64(end.Sub(now)) * min(1, r.total()/left)))
		}
		left -= r.total()
		if r.Entry != nil {
			r.forget(s.Lab)
		}
		if r.Reason == "" && !r.Complete() {
			if err := s.tune(ctx, r, until); err != nil {
				return err
			}
		}
		s.Done(r)
	}
	return nil
}

// forget leaves out trials of C that is written otherwise now: they are to be measured again.
func (r *Result) forget(lab backends.Lab) {
	had := len(r.Entry.Trials)
	r.Entry.Trials = slices.DeleteFunc(r.Entry.Trials, func(t Trial) bool {
		c, err := readConfig(t.Config)
		if err != nil {
			return true
		}
		code, _ := lab.Code(r.Kernel.With(c)) // "" where there is none
		return code != t.Code
	})
	if len(r.Entry.Trials) < had {
		r.Entry.Complete = false
	}
}

// tune tunes a kernel until some time.
func (s Settings) tune(ctx context.Context, r *Result, until time.Time) error {
	x := &search{kernel: r.Kernel, chooser: s.Lab.Chooser(), lab: s.Lab, all: s.All, entry: r.Entry, allow: r.Kernel.allow(),
		stop: func() bool { return s.Budget > 0 && !s.Now().Before(until) }}
	x.tried = func(t Trial) error {
		r.Measured++
		s.Trial(r, t)
		return s.keep(r)
	}
	err := x.run(ctx)
	if err == nil && (r.Measured > 0 || r.Complete()) {
		err = s.keep(r)
	}
	return err
}

// allow gives the permissions of a kernel's device.
func (k *Kernel) allow() permission.Set {
	return k.Graph.Node(k.Body().Device).Body.(*schedule.Device).Allow
}

// keep writes an entry.
func (s Settings) keep(r *Result) error {
	e := r.Entry
	if e.Code == "" || e.Chosen != textOf(e.chosen) {
		var err error
		if e.Code, err = s.Lab.Code(r.Kernel.With(e.chosen)); err != nil {
			return err
		}
	}
	text, err := e.text()
	if err != nil {
		return fmt.Errorf("the entry of %s: %w", r.Kernel.Name, err)
	}
	if err := s.Store.Put(keyOf(r.key), text); err != nil {
		return fmt.Errorf("%w, as it cannot be kept: %w", backends.ErrNoMeasure, err)
	}
	return nil
}

// Apply gives the kernels of a graph the configs that were found for them, and says how many it changed.
func Apply(g *ir.Graph, list []*Result) (changed int) {
	for _, r := range list {
		if !r.Tuned() {
			continue
		}
		for _, id := range r.Nodes {
			give(g.Node(id).Body.(*schedule.Kernel), r.Entry.chosen)
			changed++
		}
	}
	return changed
}
