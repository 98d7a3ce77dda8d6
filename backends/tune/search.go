package tune

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"tensortapestry.org/tapc/backends"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/ir/permission"
	"tensortapestry.org/tapc/ir/tensorfile"
	"tensortapestry.org/tapc/passes/tile"
)

// reach is how many times the price of the default a candidate may have that is measured, unless all are.
const reach = 2

// candidate is a config that may be measured.
type candidate struct {
	*schedule.Config
	price float64 // in seconds, as the model has it
	text  string
}

// reference is the program whose values others must have.
type reference struct {
	backends.KernelProgram
	values map[string]tensorfile.Tensor // nil until they are asked for
}

// search looks for the best config of one kernel.
type search struct {
	kernel  *Kernel
	chooser tile.Chooser
	lab     backends.Lab
	all     bool           // also what the model thinks is hopeless
	allow   permission.Set // of the kernel's device
	stop    func() bool
	tried   func(Trial) error // keeps each

	queue   []candidate
	known   map[string]bool
	codes   map[string]bool            // of what was measured
	prices  map[string]float64         // by the shape of configs
	shapes  map[schedule.Algorithm]int // how many the back end lists
	entry   *Entry
	first   *reference // the default
	present backends.KernelProgram
}

// prepare fills the queue with what the back end offers and what is beside the default.
func (s *search) prepare() error {
	a, def := s.kernel.Analysis(), s.entry.defaultConfig
	listed := s.chooser.Candidates(a)
	s.known, s.prices, s.codes, s.shapes = map[string]bool{}, map[string]float64{}, map[string]bool{}, map[schedule.Algorithm]int{}
	var found []candidate
	for i := range listed {
		c := &listed[i]
		if c.Config != nil && !s.valid(c.Config) || c.Config == nil && c.Refused != nil {
			continue
		}
		e, err := s.chooser.Price(a, c)
		if err != nil {
			return err
		}
		if c.Config == nil {
			c.Config = &schedule.Config{Target: def.Target}
		}
		s.note(c.Config, e.Seconds)
		found = append(found, candidate{Config: c.Config, price: e.Seconds})
	}
	s.known[textOf(def)] = true
	for _, t := range s.entry.Trials {
		s.known[t.Config] = true
	}
	s.add(found...)
	s.around(def)
	for _, t := range s.entry.Trials {
		if c, err := readConfig(t.Config); err == nil && t.Outcome == Faster { // what was found so far, of which it goes on
			s.around(c)
		}
	}
	return nil
}

// note remembers what the model says of a config that the back end lists.
func (s *search) note(c *schedule.Config, seconds float64) {
	x := shape(c)
	if s.prices[x] == 0 && !bare(c) {
		s.shapes[c.Stages[0].Algorithm]++
	}
	if s.prices[x] == 0 || seconds < s.prices[x] {
		s.prices[x] = seconds
	}
}

// priceOf is what the model says of a neighbour of a config: the price of what is listed with its inner loops or, where there is none, as much as the config's. Where
// the back end lists many inner loops for an algorithm, it lists all that fit the registers, and another is hopeless.
func (s *search) priceOf(n, of *schedule.Config) float64 {
	const many = 4
	price, ok := s.prices[shape(n)]
	if !ok && s.shapes[n.Stages[0].Algorithm] >= many {
		return math.Inf(1)
	}
	return cmp.Or(price, s.prices[shape(of)])
}

// around adds the neighbours of a config, of which one without stages has none.
func (s *search) around(c *schedule.Config) {
	if bare(c) {
		return
	}
	a := s.kernel.Analysis()
	var found []candidate
	for _, n := range neighbours(c, a.Kernel) {
		if bare(n) || !s.valid(n) || s.known[textOf(n)] {
			continue
		}
		found = append(found, candidate{Config: n, price: s.priceOf(n, c)})
	}
	s.add(found...)
}

// add puts candidates that are new in the queue, the cheapest first.
func (s *search) add(list ...candidate) {
	for _, c := range list {
		c.text = textOf(c.Config)
		if !s.known[c.text] && (s.all || c.price <= reach*s.prices[shape(s.entry.defaultConfig)]) {
			s.known[c.text] = true
			s.queue = append(s.queue, c)
		}
	}
	slices.SortStableFunc(s.queue, func(a, b candidate) int { return cmp.Or(cmp.Compare(a.price, b.price), cmp.Compare(a.text, b.text)) })
}

// run measures what is in the queue until that is empty or the time is over. The entry has what was found, also after an error.
func (s *search) run(ctx context.Context) (err error) {
	if err := s.prepare(); err != nil {
		return err
	}
	s.entry.Complete, s.entry.All = false, false
	defer func() {
		if s.first != nil {
			s.first.Remove()
		}
		if s.present != nil {
			s.present.Remove()
		}
	}()
	for len(s.queue) > 0 && !s.stop() {
		if err := s.start(ctx); err != nil {
			return err
		}
		c := s.queue[0]
		s.queue = s.queue[1:]
		if err := s.try(ctx, c); err != nil {
			return err
		}
	}
	if len(s.queue) == 0 {
		s.entry.Complete, s.entry.All = true, s.all
	}
	return s.confirm(ctx)
}

// start builds the default and the present choice, once.
func (s *search) start(ctx context.Context) (err error) {
	if s.first == nil {
		p, err := s.build(ctx, s.entry.defaultConfig)
		if err != nil {
			return err
		}
		s.first = &reference{KernelProgram: p}
	}
	if s.present == nil {
		s.present, err = s.build(ctx, s.entry.chosen)
	}
	return err
}

// build builds what others are measured beside.
func (s *search) build(ctx context.Context, c *schedule.Config) (backends.KernelProgram, error) {
	code, err := s.lab.Code(s.kernel.With(c))
	if err != nil {
		return nil, err
	}
	s.codes[code] = true
	return s.lab.Build(ctx, s.kernel.With(c))
}

// errSame is why a config is refused that says the same as one before.
var errSame = errors.New("it is the same code as that of another")

// try builds a candidate and races it against the present choice.
func (s *search) try(ctx context.Context, c candidate) error {
	t := Trial{Config: c.text, Says: s.kernel.Words(c.Config)}
	p, err := s.measure(ctx, c.Config, &t)
	if err != nil {
		return err
	}
	if t.Outcome == Faster {
		s.present, p = p, s.present
		s.entry.chosen, s.entry.Gain = c.Config, Verdict{}
	}
	if p != nil {
		p.Remove()
	}
	s.entry.Trials = append(s.entry.Trials, t)
	if t.Outcome == Faster {
		s.around(c.Config)
	}
	return s.tried(t)
}

// measure races a config against the present choice, and writes down what its trial gave. One that cannot be built, or has other values, is refused.
func (s *search) measure(ctx context.Context, c *schedule.Config, t *Trial) (p backends.KernelProgram, err error) {
	t.Code, err = s.lab.Code(s.kernel.With(c))
	if err == nil && s.codes[t.Code] {
		err = errSame
	}
	if err == nil {
		s.codes[t.Code] = true
		p, err = s.lab.Build(ctx, s.kernel.With(c))
	}
	if err == nil {
		err = s.agrees(ctx, p)
	}
	if err != nil {
		t.Verdict = Verdict{Outcome: Refused, Reason: err.Error()}
		return p, s.fault(ctx, err)
	}
	t.Verdict, err = race(ctx, s.present, p)
	return p, err
}

// agrees says why a program has not the values of the default.
func (s *search) agrees(ctx context.Context, p backends.KernelProgram) (err error) {
	if s.first.values == nil {
		if s.first.values, err = s.first.Values(ctx); err != nil {
			return fmt.Errorf("%w: %w", backends.ErrNoMeasure, err)
		}
	}
	got, err := p.Values(ctx)
	if err != nil {
		return err
	}
	return backends.Agree(s.first.values, got, s.allow)
}

// fault gives the error of a candidate that is none of the candidate's: the run was ended, or the default, built and run again, fails as well, as on a full disk.
func (s *search) fault(ctx context.Context, err error) error {
	if ended := context.Cause(ctx); ended != nil {
		return ended
	}
	switch {
	case errors.Is(err, backends.ErrNoMeasure):
		return err
	case errors.Is(err, errSame), errors.Is(err, backends.ErrValues):
		return nil
	}
	again, failed := s.lab.Build(ctx, s.kernel.With(s.entry.defaultConfig))
	if failed == nil {
		failed = s.agrees(ctx, again)
		again.Remove()
	}
	switch ended := context.Cause(ctx); {
	case ended != nil:
		return ended
	case failed != nil:
		return fmt.Errorf("%w: %w", backends.ErrNoMeasure, failed)
	}
	return nil
}

// confirm races the present choice, if it is another, once more against the default, as it was found by looking for the fastest. What is not sure to be faster is
// given up.
func (s *search) confirm(ctx context.Context) error {
	e := s.entry
	if textOf(e.chosen) == textOf(e.defaultConfig) || e.Gain.Outcome == Faster {
		return nil
	}
	if err := s.start(ctx); err != nil {
		return err
	}
	v, err := race(ctx, s.first, s.present)
	if err != nil {
		return err
	}
	if e.Gain = v; v.Outcome != Faster {
		e.chosen, e.Gain = e.defaultConfig, Verdict{}
	}
	return nil
}
