package survey

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"tensortapestry.org/tapc/frontends/foreign"
	"tensortapestry.org/tapc/frontends/mapping"
	"tensortapestry.org/tapc/frontends/mapping/outcome"
	"tensortapestry.org/tapc/ir"
)

// Survey is what can be said of a graph before its sizes are known.
type Survey struct {
	Report  *mapping.Report
	Assumed []Assumed // sizes that were not given
	Graph   *ir.Graph // with these sizes; nil where something is not mapped, or an input has no type or shape
	Err     error     // of everything that is not mapped, or why nothing was
}

// Assumed is a size that a survey assumes.
type Assumed struct {
	Name string // as Dim.Key
	Size int64
}

// guesses are the sizes that a survey tries for what is not given, for first dimensions and for others, until everything is mapped: a
// batch of one, a text or an image, what is too small for either, and ones.
var guesses = [][2]int64{{1, 64}, {1, 224}, {1, 16}, {1, 1}, {8, 8}}

// Look maps a graph whose sizes may not be given, and inputs of which may have no shape: at sizes that are assumed, of which the ones are
// taken at which most is mapped. Options that name what the graph does not have are an error.
func Look(ctx context.Context, fg *foreign.Graph, opt mapping.Options) (*Survey, error) {
	if err := CheckNames(fg, opt.Dims); err != nil {
		return nil, err
	}
	var open []Dim
	for _, d := range Dims(fg) {
		if !d.sized(opt.Dims) {
			open = append(open, d)
		}
	}
	var best *Survey
	for _, guess := range guesses {
		s := look(ctx, fg, opt, open, guess)
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		if best == nil || left(s.Report) < left(best.Report) || best.Graph == nil && s.Graph != nil {
			best = s
		}
		if best.Err == nil || len(open) == 0 {
			break
		}
	}
	if best.Err != nil && best.Report.Total == 0 {
		return nil, best.Err // the graph is not sound
	}
	return best, nil
}

// left is how many operations are not mapped.
func left(p *mapping.Report) int {
	n := p.Blocked
	for _, u := range p.Unmapped {
		n += u.Count
	}
	return n
}

func look(ctx context.Context, fg *foreign.Graph, opt mapping.Options, open []Dim, guess [2]int64) *Survey {
	s := &Survey{}
	opt.Open, opt.Dims = true, maps.Clone(opt.Dims)
	if opt.Dims == nil {
		opt.Dims = map[string]int64{}
	}
	for _, sums := range []bool{false, true} {
		for _, d := range open {
			if strings.Contains(d.Name, "+") == sums {
				opt.Dims[d.Key()] = d.guess(opt.Dims, guess)
			}
		}
	}
	for _, d := range open {
		s.Assumed = append(s.Assumed, Assumed{d.Key(), opt.Dims[d.Key()]})
	}
	s.Graph, s.Report, s.Err = mapping.Map(ctx, fg, opt)
	if errors.Is(s.Err, mapping.ErrOpen) {
		s.Err = nil
	}
	return s
}

// guess gives a size from those for first dimensions and for others, or the sum that the name is.
func (d *Dim) guess(known map[string]int64, sizes [2]int64) int64 {
	n, ok := foreign.SumOf(d.Name, known)
	switch {
	case ok:
		return n
	case strings.HasSuffix(d.Places[0], ":0"):
		return sizes[0]
	}
	return sizes[1]
}

// Write prints a table of what was mapped by which rule, and of what was not and why.
func (s *Survey) Write(w io.Writer) error {
	p := s.Report
	done := 0
	for _, m := range p.Mapped {
		done += m.Count
	}
	all := p.Total + p.Blocked
	var b strings.Builder
	share := 100.0
	if all > 0 {
		share = 100 * float64(done) / float64(all)
	}
	fmt.Fprintf(&b, "%s: %d of %d operations mapped (%.1f %%)\n", p.File, done, all, share)
	for i, a := range s.Assumed {
		lead := " --dim "
		if i == 0 {
			lead = "  assumed: --dim "
		}
		fmt.Fprintf(&b, "%s%s=%d", lead, a.Name, a.Size)
	}
	if len(s.Assumed) > 0 {
		b.WriteString("\n")
	}
	mapped := slices.Clone(p.Mapped)
	slices.SortFunc(mapped, func(x, y outcome.Mapped) int { return cmp.Or(cmp.Compare(x.Op, y.Op), cmp.Compare(x.Rule, y.Rule)) })
	for _, m := range mapped {
		fmt.Fprintf(&b, "  %6d  %-32s %s\n", m.Count, m.Op, m.Rule)
	}
	if len(p.Unmapped) > 0 {
		b.WriteString("not mapped:\n")
	}
	for _, u := range p.Unmapped {
		fmt.Fprintf(&b, "  %6d  %-32s %s: %s [%s]\n", u.Count, u.Op, u.Cause, u.Reason, strings.Join(u.Nodes, ", "))
	}
	if p.Blocked > 0 {
		fmt.Fprintf(&b, "  %6d  operations wait for those\n", p.Blocked)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
