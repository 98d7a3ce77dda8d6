package run

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sort"
)

// apply selects and orders tests.
func (p selection) apply(found []Test, h *history) []Test {
	var out []Test
	for _, t := range found {
		if p.filter != nil && !p.filter.MatchString(t.Name) || p.filterOut != nil && p.filterOut.MatchString(t.Name) {
			continue
		}
		out = append(out, t)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	if p.shards > 0 {
		var mine []Test
		for i := p.shard - 1; i < len(out); i += p.shards {
			mine = append(mine, out[i])
		}
		out = mine
	}
	switch p.order {
	case "random":
		rand.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	case "smart":
		sort.SliceStable(out, func(i, j int) bool { return h.before(out[i].Name, out[j].Name) })
	}
	return out
}

// history remembers the last run, for the smart order.
type history struct {
	path  string
	Tests map[string]past `json:"tests"`
}

type past struct {
	Failed  bool    `json:"failed"`
	Seconds float64 `json:"seconds"`
}

// historyName is the file, in the output directory, that holds the history.
const historyName = ".lit-history.json"

// readHistory reads the history; there being none, or a damaged one, is no error.
func readHistory(dir string) *history {
	h := &history{path: filepath.Join(dir, historyName)}
	data, err := os.ReadFile(h.path)
	if err != nil || json.Unmarshal(data, h) != nil || h.Tests == nil {
		h.Tests = map[string]past{}
	}
	return h
}

// before puts failed tests first and then those that took longest; new tests come before all that passed.
func (h *history) before(a, b string) bool {
	x, oldX := h.Tests[a]
	y, oldY := h.Tests[b]
	switch {
	case x.Failed != y.Failed:
		return x.Failed
	case oldX != oldY:
		return !oldX
	}
	return x.Seconds > y.Seconds
}

func (h *history) update(tests []Test, results []Result) error {
	for i, r := range results {
		if r.Code != Skipped {
			h.Tests[tests[i].Name] = past{r.Code.Bad(), r.Elapsed.Seconds()}
		}
	}
	data, err := json.Marshal(h)
	if err != nil {
		return err
	}
	return writeFile(h.path, data, 0o666)
}

// writeFile writes a file beside its place and then moves it there.
func writeFile(path string, data []byte, perm os.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".lit-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(data)
	if err == nil {
		err = f.Chmod(perm)
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
