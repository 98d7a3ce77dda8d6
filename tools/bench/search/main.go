// Command search holds tapc's search for plans to the truth: it goes through all plans of small graphs, searches the same spaces with many seeds, and
// compares the hypervolumes; and with random search, hill climbing and simulated annealing of as many trials.
//
//	go run ./tools/bench/search -write docs/search.md
//
// It writes a table of the least that any seed found, in percent of what going through everything did. Plans are priced, not run, so the
// same table comes of every machine.
//
// With -curves it draws how the hypervolumes grow with the trials, of which each search has 10,000; with -compiled it compares the prices of plans with what their compiled schedules take; with -sizes it measures what planning large graphs for many devices takes, as docs/performance.md has it.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"math"
	"os"
	"strings"

	"tensortapestry.org/tapc/cost/machine"
	"tensortapestry.org/tapc/dialects"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/internal/outputfile"
	"tensortapestry.org/tapc/ir/permission"
	"tensortapestry.org/tapc/ir/text"
	"tensortapestry.org/tapc/search"
	"tensortapestry.org/tapc/search/layouts"
	"tensortapestry.org/tapc/search/variants"
	"tensortapestry.org/tapc/tools/bench/search/graphs"
)

func main() {
	seeds := flag.Uint64("seeds", 20, "how often each graph is searched")
	write := flag.String("write", "", "replace the table in this `FILE`")
	only := flag.String("only", "", "graphs whose names have this text")
	large := flag.Bool("sizes", false, "measure large graphs on many devices instead")
	picture := flag.String("curves", "", "draw hypervolumes over trials into this SVG `FILE` instead")
	carry := flag.Bool("compiled", false, "compile plans of small graphs instead, and say how near their prices are to what the schedules take")
	tapc := flag.String("tapc", "", "the tapc that is measured (default: built from this tree)")
	flag.Parse()
	work := func() error { return run(*seeds, *write, *only) }
	if *large {
		work = func() error { return sizes(context.Background(), os.Stdout, *tapc, *only) }
	}
	if *picture != "" {
		work = func() error { return curves(*seeds, *picture) }
	}
	if *carry {
		work = func() error { return compiledTable(os.Stdout, *only) }
	}
	if err := work(); err != nil {
		fmt.Fprintln(os.Stderr, "search:", err)
		os.Exit(1)
	}
}

func run(seeds uint64, write, only string) error {
	var b bytes.Buffer
	fmt.Fprintln(&b, "| graph | objectives | plans | frontier | trials | search | without programming | annealing | climbing | random |")
	fmt.Fprintln(&b, "|---|---|---|---|---|---|---|---|---|---|")
	for _, c := range graphs.Smalls {
		if !strings.Contains(c.Name, only) {
			continue
		}
		line, err := row(c, seeds)
		if err != nil {
			return fmt.Errorf("%s: %w", c.Name, err)
		}
		fmt.Fprintln(&b, line)
		fmt.Fprintln(os.Stderr, line)
	}
	if write == "" {
		_, err := os.Stdout.Write(b.Bytes())
		return err
	}
	return replace(write, b.String())
}

// scale makes graphs large enough that more than latencies counts.
const scale = 32

// Space makes the space of a small graph on GPUs.
func space(c graphs.Small) (*variants.Space, error) {
	return spaceOf(c.Text(scale), c.Name, c.Devices, c.Objectives, strings.Split(c.Space, ","))
}

// spaceOf makes the space of a graph on GPUs, with the first of the objectives.
func spaceOf(graph, name string, devices int64, objectives int, parts []string) (*variants.Space, error) {
	g, err := text.Read([]byte(graph), name, dialects.Registry())
	if err != nil {
		return nil, err
	}
	m, err := machine.Preset("8xh100")
	if err != nil {
		return nil, err
	}
	return variants.New(context.Background(), g, kernels.Builtin(), layouts.Settings{Machine: m, Devices: devices, Objectives: layouts.Objectives[:objectives],
		Allow: permission.Reassociate, Parts: parts})
}

// limit is how many plans are gone through at most.
const limit = 4_000_000

// row compares the searches on one graph.
func row(c graphs.Small, seeds uint64) (string, error) {
	x, err := space(c)
	if err != nil {
		return "", err
	}
	all, worst, plans, ok := x.Enumerate(limit)
	if !ok {
		return "", fmt.Errorf("more than %d plans", limit)
	}
	for k := range worst {
		worst[k] = 1.1 * worst[k]
	}
	truth := all.Volume(worst)
	proof := x.Prove(2)
	var known []search.Point
	for _, t := range proof.Trials {
		known = append(known, search.Point{Trial: t, From: "dynamic programming"})
	}
	least := []float64{math.Inf(1), math.Inf(1), math.Inf(1), math.Inf(1), math.Inf(1)}
	trials := 0
	for seed := range seeds {
		s := search.Run(context.Background(), x, search.Options{Seed: seed, Rounds: -1, Workers: 2, Resume: known})
		bare := search.Run(context.Background(), x, search.Options{Seed: seed, Rounds: s.Round, Workers: 2})
		trials = max(trials, s.Tried)
		for i, f := range []search.Frontier{s.Frontier, bare.Frontier, search.Anneal(x, seed, s.Tried), search.Climb(x, seed, s.Tried), search.Random(x, seed, s.Tried)} {
			least[i] = min(least[i], f.Volume(worst)/truth)
		}
	}
	line := fmt.Sprintf("| %s | %d | %d | %d | %d |", c.Name, c.Objectives, plans, len(all.Points), trials)
	for _, v := range least {
		line += fmt.Sprintf(" %.2f %% |", 100*v)
	}
	return line, nil
}

// The table in a file is between these lines.
const begin, end = "<!-- begin: go run ./tools/bench/search -write docs/search.md -->\n", "<!-- end -->\n"

// replace replaces the table of a file.
func replace(name, table string) error {
	old, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	before, rest, found := strings.Cut(string(old), begin)
	_, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		return fmt.Errorf("%s has no lines %s", name, strings.TrimSpace(begin))
	}
	return outputfile.Replace(name, 0o666, func(f *os.File) error {
		_, err := f.WriteString(before + begin + "\n" + table + "\n" + end + after)
		return err
	})
}
