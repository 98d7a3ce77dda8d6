package explore_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/plugins/explore"
	"tensortapestry.org/tapc/plugins/host"
	"tensortapestry.org/tapc/plugins/plugintest"
	"tensortapestry.org/tapc/plugins/proto"
	"tensortapestry.org/tapc/search"
)

func TestMain(m *testing.M) {
	plugintest.Main(m)
}

// sums is a space whose trials cost the sum of their values, and the sum of what is left of each.
type sums struct{ genes []int }

func (s sums) Genes() []int { return s.genes }

func (s sums) Price(t search.Trial) search.Price {
	a, b := 1.0, 1.0
	for i, v := range t {
		a, b = a+float64(v), b+float64(s.genes[i]-int(v))*float64(i+1)
	}
	return search.Price{Costs: []float64{a, b}}
}

func space() *explore.Space {
	s := sums{slices.Repeat([]int{5}, 8)}
	x := &explore.Space{Space: s, Devices: 2, Machine: "m", Objectives: []string{"time", "memory"}}
	for range s.genes {
		x.Genes = append(x.Genes, &proto.Space_Gene{Name: "g", Values: []string{"a", "b", "c", "d", "e"}})
	}
	return x
}

func start(t *testing.T, path string, limit time.Duration) explore.Source {
	t.Helper()
	p, err := host.Start(t.Context(), path, host.Options{Limits: host.Limits{Run: limit}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return explore.Source{About: p.Description, Open: func(context.Context) (*host.Plugin, error) { return p, nil }}
}

// A plugin takes part in a search: its mutator is drawn and its term is in the costs, and what comes out is a function of the seed, in another process and on other workers too.
// A plugin that dies or lies ends the search with its fault, and what was found before it is there.
func TestPluginsTakePart(t *testing.T) {
	lies := plugintest.Build(t, "testdata/lies")
	run := func(name string, limit time.Duration, workers int) (*search.State, error) {
		path := filepath.Join(t.TempDir(), name)
		if err := os.Link(lies, path); err != nil {
			t.Fatal(err)
		}
		x, said, err := explore.Extend(t.Context(), []explore.Source{start(t, path, limit)}, space())
		if err != nil {
			return nil, err
		}
		if said != "lies 1.0.0\n" {
			t.Errorf("%q", said)
		}
		s := search.Run(t.Context(), x, search.Options{Rounds: 12, Trials: 64, Workers: workers, Seed: 3})
		return s, s.Fault
	}
	first, err := run("good", time.Minute, 1)
	if err != nil || first.Round != 12 {
		t.Fatalf("%v, round %d", err, first.Round)
	}
	for _, p := range first.Frontier.Points {
		plain := space().Price(p.Trial).Costs[0]
		if want := plain + float64(p.Trial[0])*1e-9; p.Price.Costs[0] != want {
			t.Errorf("%v costs %v, expected %v", p.Trial, p.Price.Costs, want)
		}
	}
	used := 0
	for _, r := range first.Rates {
		if r.Mutator.Name == "lies/change" {
			used = r.Used
		}
	}
	if used == 0 {
		t.Error("the mutator was not used")
	}
	second, err := run("again", time.Minute, 3)
	if err != nil || len(second.Frontier.Points) != len(first.Frontier.Points) {
		t.Fatalf("%v: %d points, expected %d", err, len(second.Frontier.Points), len(first.Frontier.Points))
	}
	for i, p := range second.Frontier.Points {
		if !slices.Equal(p.Trial, first.Frontier.Points[i].Trial) {
			t.Errorf("point %d is %v, expected %v", i, p.Trial, first.Frontier.Points[i].Trial)
		}
	}
	for name, want := range map[string]struct {
		kind host.Kind
		says string
	}{
		"range":    {host.Garbage, "mutator change: "},
		"panics":   {host.Crashed, "no trial"},
		"negative": {host.Garbage, "costs -1, which is no cost"},
		"nan":      {host.Garbage, "costs NaN"},
		"fails":    {host.Failed, "no rate is known"},
		"dies":     {host.Crashed, "cost term term"},
		"hangs":    {host.TimedOut, "cost term term"},
	} {
		limit := time.Minute
		if name == "hangs" {
			limit = time.Second
		}
		s, err := run(name, limit, 1)
		fault, is := host.IsFault(err)
		if !is || fault.Kind != want.kind || !strings.Contains(fault.Error(), want.says) {
			t.Errorf("%s: %v, expected %v with %q", name, err, host.Kinds[want.kind], want.says)
			continue
		}
		if s.Why != "failed" || (name == "dies" || name == "range") && (len(s.Frontier.Points) == 0 || s.Memory == nil) {
			t.Errorf("%s: it ended because of %q, with %d points", name, s.Why, len(s.Frontier.Points))
		}
	}
	var d diag.Diagnostic
	if _, err := run("objective", time.Minute, 1); !errors.As(err, &d) || d.Code != "TAP0966" {
		t.Errorf("%v, expected TAP0966", err)
	}
}
