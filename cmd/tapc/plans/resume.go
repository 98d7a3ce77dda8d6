package plans

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"tensortapestry.org/tapc/internal/jsonfile"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/search"
)

// The forms of JSON of what a search goes on with.
type (
	state struct {
		Restarts int      `json:"restarts"`
		Idle     int      `json:"idle"`
		Barren   int      `json:"barren"`
		Renewed  int      `json:"renewed"`
		Nearest  *float64 `json:"nearest,omitempty"`
		Rates    []rate   `json:"rates"`
		Parents  []parent `json:"parents"`
		Seen     string   `json:"seen"` // hashes of trials, 8 bytes each, the oldest first
	}
	rate struct {
		Name   string  `json:"name"`
		Gained float64 `json:"gained"`
		Of     float64 `json:"of"`
	}
	parent struct {
		From  string       `json:"from"`
		Round int          `json:"round"`
		Trial search.Trial `json:"trial"`
	}
)

// stateOf writes what a search knows; nil if it went through all plans.
func stateOf(m *search.Memory) *state {
	if m == nil {
		return nil
	}
	s := &state{Restarts: m.Restarts, Idle: m.Idle, Barren: m.Barren, Renewed: m.Renewed, Rates: []rate{}, Parents: []parent{}}
	if m.Started {
		s.Nearest = &m.Nearest
	}
	for _, r := range m.Rates {
		s.Rates = append(s.Rates, rate{r.Mutator.Name, r.Gained, r.Weight})
	}
	for _, p := range m.Parents {
		s.Parents = append(s.Parents, parent{p.From, p.Round, p.Trial})
	}
	var bytes []byte
	for _, h := range m.Seen {
		bytes = binary.LittleEndian.AppendUint64(bytes, h)
	}
	s.Seen = base64.StdEncoding.EncodeToString(bytes)
	return s
}

// resume reads a frontier file: its points and, unless another search is asked for, what it goes on with.
func (r *Result) resume(path string) error {
	data, err := jsonfile.Read(path)
	if err != nil {
		return err
	}
	return r.resumeFrom(path, data, r.Space.Genes())
}

// resumeFrom reads the text of a frontier file, for a space of some genes.
func (r *Result) resumeFrom(path string, data []byte, genes []int) (err error) {
	var f struct {
		file
		State *state `json:"state"`
	}
	if err := jsonfile.Decode(data, &f); err != nil {
		return diag.Errorf("TAP2906", "plan", diag.Location{File: path}, "this is not a frontier: %v", err)
	}
	refuse := func(what, want, found string) error {
		return diag.Errorf("TAP2907", "plan", diag.Location{File: path}, "the frontier is of another %s", what).Want(want, found)
	}
	switch {
	case f.Version != Version:
		return refuse("version", fmt.Sprint(Version), fmt.Sprint(f.Version))
	case f.Digest != r.digest:
		return refuse("graph, machine, number of devices, set of permissions or space", r.digest, f.Digest)
	}
	for i, p := range f.Points {
		if err := checkTrial(path, fmt.Sprintf("/points/%d/trial", i), p.Trial, genes); err != nil {
			return err
		}
		r.from.points = append(r.from.points, search.Point{Trial: p.Trial, From: p.From, Round: p.Round})
	}
	seed := &r.flags.running.seed
	if !r.flags.set.Changed("seed") {
		*seed = f.Seed
	}
	if f.State == nil || f.Seed != *seed || !slices.Equal(f.Objectives, r.flags.objectives) {
		r.from.rounds = f.Rounds
		return nil
	}
	r.from.memory, err = memoryOf(path, &f.file, f.State, genes)
	return err
}

// checkTrial refuses what is no trial of a space of some genes.
func checkTrial(path, pointer string, t search.Trial, genes []int) error {
	bad := len(t) != len(genes)
	for k := 0; !bad && k < len(t); k++ {
		bad = int(t[k]) >= genes[k]
	}
	if bad {
		return diag.Errorf("TAP2906", "plan", diag.Location{File: path, Pointer: pointer}, "this is no trial of the space").
			Want(fmt.Sprintf("%d choices, each below the number of its values", len(genes)), fmt.Sprint(len(t)))
	}
	return nil
}

// memoryOf reads what a search goes on with.
func memoryOf(path string, f *file, s *state, genes []int) (*search.Memory, error) {
	bad := func(pointer, what, want, found string) error {
		return diag.Errorf("TAP2906", "plan", diag.Location{File: path, Pointer: pointer}, "%s", what).Want(want, found)
	}
	bytes, err := base64.StdEncoding.DecodeString(s.Seen)
	if err != nil || len(bytes)%8 != 0 {
		return nil, bad("/state/seen", "these are no hashes of trials", "a multiple of 8 bytes, in base 64", fmt.Sprintf("%d letters", len(s.Seen)))
	}
	for _, x := range []struct {
		pointer string
		n       int
	}{{"/rounds", f.Rounds}, {"/tried", f.Tried}, {"/state/restarts", s.Restarts}, {"/state/idle", s.Idle}, {"/state/barren", s.Barren}, {"/state/renewed", s.Renewed}} {
		if x.n < 0 {
			return nil, bad(x.pointer, "a number of what happened is below nothing", "0 or more", fmt.Sprint(x.n))
		}
	}
	m := &search.Memory{Round: f.Rounds, Tried: f.Tried, Restarts: s.Restarts, Idle: s.Idle, Barren: s.Barren, Renewed: s.Renewed}
	if s.Nearest != nil {
		m.Nearest, m.Started = *s.Nearest, true
	}
	for i, x := range s.Rates {
		if !(x.Gained > 0 && x.Of > 0) || math.IsInf(x.Gained/x.Of, 0) || math.IsNaN(x.Gained/x.Of) {
			return nil, bad(fmt.Sprintf("/state/rates/%d", i), "a rate is no number", "gained and of above 0", fmt.Sprint(x.Gained, x.Of))
		}
		rate := search.Rate{Mutator: search.Mutator{Name: x.Name}, Gained: x.Gained, Weight: x.Of}
		for _, u := range f.Mutators {
			if u.Name == x.Name {
				rate.Used, rate.Applied = u.Used, u.Gained
			}
		}
		m.Rates = append(m.Rates, rate)
	}
	for i, p := range s.Parents {
		if err := checkTrial(path, fmt.Sprintf("/state/parents/%d/trial", i), p.Trial, genes); err != nil {
			return nil, err
		}
		m.Parents = append(m.Parents, search.Point{Trial: p.Trial, From: p.From, Round: p.Round})
	}
	for i := 0; i < len(bytes); i += 8 {
		m.Seen = append(m.Seen, binary.LittleEndian.Uint64(bytes[i:]))
	}
	return m, nil
}
