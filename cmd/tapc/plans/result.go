package plans

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"tensortapestry.org/tapc/cmd/tapc/progress"
	"tensortapestry.org/tapc/cost/machine"
	"tensortapestry.org/tapc/dialects/application/planfile"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/search"
	"tensortapestry.org/tapc/search/layouts"
	"tensortapestry.org/tapc/search/variants"
	"tensortapestry.org/tapc/search/walk"
)

// Version is the version of frontier files.
const Version = 1

// Result is what a search found.
type Result struct {
	File     string
	Space    *variants.Space
	Frontier search.Frontier
	State    *search.State
	Proof    *layouts.Proof
	searched search.Space // with what plugins add
	extended bool
	flags    *Flags
	walked   []walk.Result // the points of the frontier, as they are simulated
	from     earlier
	digest   string
}

// earlier is a search that this one goes on from: its points, and what else it knew, or, of a file that does not say it, how many rounds it had.
type earlier struct {
	points []search.Point
	memory *search.Memory
	rounds int
}

// Format writes a cost of an objective.
func Format(objective string, v float64) string {
	if objective == layouts.Time {
		return machine.Seconds.Format(v)
	}
	return machine.Bytes.Format(v)
}

// words say how a search ended.
var words = map[string]string{"all": "all plans were priced", "rounds": "the rounds that were asked for", "time": "the time budget was over",
	"settled": "restarts gained nothing more", "interrupted": "it was interrupted", "failed": "a plugin failed"}

// Print writes the frontier as a table.
func (r *Result) Print(w io.Writer) error {
	fmt.Fprintf(w, "%s: %s\n", r.File, r.Space.Describe())
	fmt.Fprintf(w, "%d plans priced in %d rounds: %s\n\n", r.State.Tried, r.State.Round, words[r.State.Why])
	if err := r.table(w, math.MaxInt); err != nil {
		return err
	}
	fmt.Fprintln(w)
	for k, o := range r.flags.objectives {
		best := r.Frontier.Points[r.Frontier.Best(k)].Price.Costs[k]
		fmt.Fprintf(w, "%s: %s, and no plan of this space below %s%s\n", o, Format(o, best), Format(o, r.Proof.Bounds[k]), gap(best, r.Proof.Bounds[k]))
	}
	_, err := io.WriteString(w, r.agreement())
	return err
}

// gap says how far the best is from a bound.
func gap(best, bound float64) string {
	switch {
	case best <= bound*(1+1e-9)+1e-12:
		return ": the optimum"
	case bound <= 0:
		return ""
	}
	return fmt.Sprintf(", a gap of %.2f %%", 100*(best/bound-1))
}

// table writes so many points at most.
func (r *Result) table(w io.Writer, most int) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	heading := strings.Join(r.flags.objectives, "\t")
	if r.walked != nil {
		heading += "\tsimulated\t"
	}
	fmt.Fprintf(t, "\t%s\tmesh\tround\t  found by\n", heading)
	knee := r.Frontier.Knee()
	step := max(1, (len(r.Frontier.Points)+most-1)/max(most, 1))
	if most == math.MaxInt {
		step = 1
	}
	for i := 0; i < len(r.Frontier.Points); i += step {
		p := r.Frontier.Points[i]
		fmt.Fprintf(t, "%d\t", i+1)
		for k, o := range r.flags.objectives {
			fmt.Fprintf(t, "%s\t", Format(o, p.Price.Costs[k]))
		}
		if r.walked != nil {
			fmt.Fprintf(t, "%s\t%s\t", machine.Seconds.Format(r.walked[i].Time), machine.Bytes.Format(r.walked[i].Memory))
		}
		mark := ""
		if i == knee {
			mark = ", the knee"
		}
		if made := r.Space.Decided(p.Trial); made != "" {
			mark += "; " + made
		}
		fmt.Fprintf(t, "%s\t%d\t  %s%s\n", meshText(r.Space.Mesh(p.Trial)), p.Round, p.From, mark)
	}
	return t.Flush()
}

func meshText(mesh []int64) string {
	var parts []string
	for _, n := range mesh {
		if n > 1 {
			parts = append(parts, fmt.Sprint(n))
		}
	}
	if parts == nil {
		return "1"
	}
	return strings.Join(parts, "x")
}

// The forms of JSON.
type (
	file struct {
		Version    int       `json:"version"`
		Graph      string    `json:"graph"`
		Digest     string    `json:"digest"`
		Machine    string    `json:"machine"`
		Devices    int       `json:"devices"`
		Objectives []string  `json:"objectives"`
		Space      string    `json:"space"`
		Allow      string    `json:"allow"`
		Seed       uint64    `json:"seed"`
		Rounds     int       `json:"rounds"`
		Tried      int       `json:"tried"`
		Ended      string    `json:"ended"`
		Proof      proof     `json:"proof"`
		Mutators   []mutator `json:"mutators"`
		Points     []point   `json:"points"`
	}
	proof struct {
		Bounds  map[string]float64 `json:"bounds"`
		Optimal bool               `json:"optimal"`
	}
	mutator struct {
		Name   string `json:"name"`
		Used   int    `json:"used"`
		Gained int    `json:"gained"`
	}
	point struct {
		Costs map[string]float64 `json:"costs"`
		Mesh  []int64            `json:"mesh"`
		From  string             `json:"from"`
		Round int                `json:"round"`
		Trial search.Trial       `json:"trial"`
		Walk  map[string]float64 `json:"simulated"`
		Plan  json.RawMessage    `json:"plan,omitempty"`   // as a plan file
		Fault string             `json:"unsaid,omitempty"` // why a plan file can not say it
	}
)

// JSON writes the frontier file, with the plan of each point.
func (r *Result) JSON(w io.Writer, lib *kernels.Library) error {
	f := r.flags
	out := file{Version, r.File, r.digest, f.machine, r.Space.Devices(), f.objectives, strings.Join(f.space, ","), f.allow.Set.String(), f.running.seed,
		r.from.rounds + r.State.Round, r.State.Tried, r.State.Why, proof{map[string]float64{}, r.Proof.Exact}, []mutator{}, []point{}}
	for k, o := range f.objectives {
		out.Proof.Bounds[o] = r.Proof.Bounds[k]
	}
	for _, m := range r.State.Rates {
		out.Mutators = append(out.Mutators, mutator{m.Mutator.Name, m.Used, m.Applied})
	}
	for i, p := range r.Frontier.Points {
		x := point{Costs: map[string]float64{}, Mesh: r.Space.Mesh(p.Trial), From: p.From, Round: p.Round, Trial: p.Trial}
		for k, o := range f.objectives {
			x.Costs[o] = p.Price.Costs[k]
		}
		x.Walk = map[string]float64{layouts.Time: r.walked[i].Time, layouts.Memory: r.walked[i].Memory}
		var text bytes.Buffer
		if plan, err := r.planOf(i, lib); err != nil {
			x.Fault = err.Error()
		} else if err := planfile.Write(&text, plan); err != nil {
			return err
		}
		x.Plan = text.Bytes()
		out.Points = append(out.Points, x)
	}
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
	return e.Encode(struct {
		*file
		State *state `json:"state,omitempty"`
	}{&out, stateOf(r.State.Memory)})
}

// walk simulates the points of the frontier.
func (r *Result) walk() error {
	for _, p := range r.Frontier.Points {
		w, err := r.Space.Walk(p.Trial)
		if err != nil {
			return err
		}
		r.walked = append(r.walked, w)
	}
	return nil
}

// agreement says how many neighbours of the frontier, by time, the simulation has in the order of the prices.
func (r *Result) agreement() string {
	k := slices.Index(r.flags.objectives, layouts.Time)
	if k < 0 || len(r.walked) < 2 {
		return ""
	}
	order := make([]int, len(r.walked))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(r.Frontier.Points[a].Price.Costs[k], r.Frontier.Points[b].Price.Costs[k])
	})
	same := 0
	for i, n := range order[1:] {
		if r.walked[order[i]].Time <= r.walked[n].Time {
			same++
		}
	}
	return fmt.Sprintf("simulated, with moves beside operations, %d of %d neighbours by time keep their order\n", same, len(order)-1)
}

// live shows a table while a search runs.
type live struct {
	to     io.Writer
	result *Result
	lines  int
	shown  int // the round that was shown last
}

// liveRows is how many points a live table has, and liveRounds how many rounds lie between two.
const (
	liveRows   = 12
	liveRounds = 8
)

// show draws the table over the one before.
func (l *live) show(s *search.State) {
	if s.Round > 1 && s.Round < l.shown+liveRounds {
		return
	}
	l.shown = s.Round
	r := *l.result
	r.State, r.Frontier = s, s.Frontier
	var b strings.Builder
	l.end()
	fmt.Fprintf(&b, "round %d, %d plans priced, %d on the frontier\n", s.Round, s.Tried, len(s.Frontier.Points))
	_ = r.table(&b, liveRows)
	for k, o := range r.flags.objectives {
		if i := s.Frontier.Best(k); i >= 0 {
			best := s.Frontier.Points[i].Price.Costs[k]
			fmt.Fprintf(&b, "%s %s%s\n", o, Format(o, best), gap(best, r.Proof.Bounds[k]))
		}
	}
	l.lines = strings.Count(b.String(), "\n")
	_, _ = io.WriteString(l.to, b.String())
}

// line tells programs of a round, as often as the table is drawn.
func (l *live) line(s *search.State) {
	if s.Round > 1 && s.Round < l.shown+liveRounds {
		return
	}
	l.shown = s.Round
	progress.Line(l.to, s.Round, max(-1, l.result.flags.running.rounds-s.Round), fmt.Sprintf("%d plans priced, %d on the frontier", s.Tried, len(s.Frontier.Points)))
}

// end takes the table away.
func (l *live) end() {
	if l.lines > 0 {
		fmt.Fprintf(l.to, "\x1b[%dA\x1b[J", l.lines)
		l.lines = 0
	}
}
