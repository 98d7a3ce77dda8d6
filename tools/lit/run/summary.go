package run

import (
	"encoding/json"
	"fmt"
	"io"
	"sort"
	"strings"
	"time"
)

// result prints the line of one test, and its output where that is wanted.
func (d display) result(out io.Writer, t Test, r Result, done, total int) {
	bad := r.Code.Bad()
	if !bad && !r.Blessed && (d.quiet || d.succinct) && d.verbosity < 2 {
		return
	}
	note := ""
	if r.Blessed {
		note = " (rewritten)"
	}
	fmt.Fprintf(out, "%s: %s (%d of %d)%s\n", r.Code, t.Name, done, total, note)
	if d.verbosity < 2 && (d.verbosity < 1 || !bad) || r.Output == "" {
		return
	}
	bar := strings.Repeat("*", 20)
	fmt.Fprintf(out, "%s TEST '%s' %s %s\n%s\n%s\n", bar, t.Name, outcome(r.Code), bar,
		strings.TrimRight(r.Output, "\n"), bar)
}

func outcome(c Code) string {
	if c.Bad() {
		return "FAILED"
	}
	return "RESULTS"
}

// summary is the end of a run.
type summary struct {
	tests   []Test
	results []Result
	found   int
	show    display
}

func (s *summary) count() map[Code]int {
	out := map[Code]int{}
	for _, r := range s.results {
		out[r.Code]++
	}
	return out
}

func (s *summary) status() int {
	for _, r := range s.results {
		if r.Code.Bad() {
			return 1
		}
	}
	return 0
}

func (s *summary) write(out io.Writer) {
	if s.show.times {
		s.times(out)
	}
	count := s.count()
	for _, code := range Codes {
		if count[code] == 0 || !code.Bad() && code != Skipped {
			continue
		}
		fmt.Fprintf(out, "%s\n%s Tests (%d):\n", strings.Repeat("*", 20), code, count[code])
		for _, name := range s.names(code) {
			fmt.Fprintf(out, "  %s\n", name)
		}
	}
	if s.show.quiet && s.status() == 0 {
		return
	}
	fmt.Fprintf(out, "\nTotal Discovered Tests: %d\n", s.found)
	s.line(out, "EXCLUDED", s.found-len(s.tests))
	for _, code := range Codes {
		s.line(out, string(code), count[code])
	}
}

func (s *summary) line(out io.Writer, name string, n int) {
	if n > 0 {
		fmt.Fprintf(out, "  %-11s: %*d (%.2f%%)\n", name, len(fmt.Sprint(s.found)), n, 100*float64(n)/float64(s.found))
	}
}

func (s *summary) names(code Code) []string {
	var out []string
	for i, r := range s.results {
		if r.Code == code {
			out = append(out, s.tests[i].Name)
		}
	}
	sort.Strings(out)
	return out
}

// times prints the slowest tests and how many took how long.
func (s *summary) times(out io.Writer) {
	order := make([]int, len(s.results))
	for i := range order {
		order[i] = i
	}
	sort.SliceStable(order, func(i, j int) bool { return s.results[order[i]].Elapsed > s.results[order[j]].Elapsed })
	fmt.Fprintln(out, "Slowest Tests:")
	for _, i := range order[:min(len(order), 20)] {
		fmt.Fprintf(out, "  %8.3fs: %s\n", s.results[i].Elapsed.Seconds(), s.tests[i].Name)
	}
	fmt.Fprintln(out, "Tests Times:")
	limits := []time.Duration{10, 100, 1000, 10_000, 100_000}
	from := time.Duration(0)
	for _, limit := range append(limits, 1<<40) {
		n := 0
		for _, r := range s.results {
			if r.Elapsed >= from && r.Elapsed < limit*time.Millisecond {
				n++
			}
		}
		if n > 0 {
			fmt.Fprintf(out, "  from %-8s %5d %s\n", from, n, strings.Repeat("*", (40*n+len(s.results)-1)/len(s.results)))
		}
		from = limit * time.Millisecond
	}
}

// jsonResult is one test in the file of -o.
type jsonResult struct {
	Name    string  `json:"name"`
	Code    Code    `json:"code"`
	Output  string  `json:"output"`
	Elapsed float64 `json:"elapsed"`
}

// writeJSON writes all results, sorted by name.
func (s *summary) writeJSON(path string) error {
	out := struct {
		Tests []jsonResult `json:"tests"`
	}{Tests: []jsonResult{}}
	for i, r := range s.results {
		out.Tests = append(out.Tests, jsonResult{s.tests[i].Name, r.Code, r.Output, r.Elapsed.Seconds()})
	}
	sort.Slice(out.Tests, func(i, j int) bool { return out.Tests[i].Name < out.Tests[j].Name })
	data, err := json.MarshalIndent(out, "", "  ")
	if err != nil {
		return err
	}
	return writeFile(path, append(data, '\n'), 0o666)
}
