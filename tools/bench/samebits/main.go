// Samebits says whether two commits make programs that give the same bits: those of the cases that kernels declare, of random graphs
// and of models.
//
//	go run ./tools/bench/samebits -count 10000 -models FOLDER 07bdc59 HEAD
//
// OLD and NEW are commits, or paths of tapc binaries. Where both emit the same C, but for the description in it, and have the same run-time library, nothing
// is run; -library takes libraries for the same that differ in files which are listed, for changes that cannot touch a value.
// What differs is listed by kernel; -allow names kernels that may differ. The exit status is 1 if others do. Most of the time goes to programs whose C differs: -for
// bounds it, and cases that are not begun by then are counted.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

type settings struct {
	seed, count uint64
	corpus      string
	models      string
	allow       string
	library     bool
	jobs        int
	duration    time.Duration
}

func main() {
	var s settings
	flag.Uint64Var(&s.seed, "seed", 1, "seed of the first random graph")
	flag.Uint64Var(&s.count, "count", 1000, "random graphs")
	flag.StringVar(&s.corpus, "corpus", "", "folder of cases that fuzzgraph -write made, in place of those of this tree: an old commit knows the kernels of its own graphs")
	flag.StringVar(&s.models, "models", "", "folder of ONNX models of fixed sizes to compare too")
	flag.StringVar(&s.allow, "allow", "", "kernels that may differ, with commas between them")
	flag.BoolVar(&s.library, "library", false, "run nothing of the same C though the run-time libraries differ")
	flag.IntVar(&s.jobs, "j", runtime.NumCPU(), "cases at a time")
	flag.DurationVar(&s.duration, "for", 0, "begin no case after this time; 0 is no limit")
	flag.Parse()
	if flag.NArg() != 2 {
		fmt.Fprintln(os.Stderr, "usage: samebits [flags] OLD NEW")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	same, err := s.run(ctx, flag.Arg(0), flag.Arg(1))
	if err != nil {
		fmt.Fprintln(os.Stderr, "samebits:", err)
		os.Exit(2)
	}
	if !same {
		os.Exit(1)
	}
}

// run compares all cases; same is false if one differs that may not.
func (s *settings) run(ctx context.Context, old, new string) (same bool, err error) {
	dir, err := os.MkdirTemp("", "samebits")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(dir)
	var sides pair
	for i, of := range []string{old, new} {
		if sides.tapc[i], err = binary(ctx, of, dir); err != nil {
			return false, err
		}
	}
	cases, err := s.cases(ctx, dir)
	if err != nil {
		return false, err
	}
	other, err := sides.otherLibrary(ctx, cases)
	if err != nil {
		return false, err
	}
	if sides.skips = s.library || len(other) == 0; len(other) > 0 {
		fmt.Printf("the run-time libraries differ in %s\n", strings.Join(other, ", "))
	}
	results, start := make([]outcome, len(cases)), time.Now()
	next := make(chan int)
	var all sync.WaitGroup
	for range max(1, s.jobs) {
		all.Go(func() {
			for i := range next {
				if results[i] = sides.compare(ctx, cases[i]); ctx.Err() != nil {
					results[i] = outcome{verdict: left}
				}
			}
		})
	}
	for i := range cases {
		if s.duration > 0 && time.Since(start) > s.duration {
			results[i].verdict = left
			continue
		}
		next <- i
	}
	close(next)
	all.Wait()
	return s.report(cases, results), ctx.Err()
}

// outcome is what the comparison of a case gave.
type outcome struct {
	verdict verdict
	err     error // why it differs, or what refused it
}

type verdict int

const (
	sameC   verdict = iota // both emit the same C
	sameBit                // the C differs, and all outputs have the same bytes
	refused                // both refuse it
	gained                 // the old one refuses it
	differs
	left // no time was left for it
)

var errDiffers = errors.New("differs")

func (s *settings) report(cases []testCase, results []outcome) bool {
	counts := map[verdict]int{}
	allowed := strings.Split(s.allow, ",")
	same := true
	for i, r := range results {
		counts[r.verdict]++
		if r.verdict == refused {
			fmt.Printf("%s: both refuse it: %v\n", cases[i].name, r.err)
		}
		if r.verdict != differs {
			continue
		}
		c := cases[i]
		note := ""
		if slices.ContainsFunc(c.Kernels, func(k string) bool { return slices.Contains(allowed, k) }) {
			note = " (allowed)"
		} else {
			same = false
		}
		fmt.Printf("%s%s: %v; kernels %s\n", c.name, note, r.err, strings.Join(c.Kernels, ", "))
	}
	fmt.Printf("%d cases: %d with the same C, %d with the same bits, %d that both refuse, %d that only the old one refuses, %d that differ, %d that were not begun in time\n",
		len(cases), counts[sameC], counts[sameBit], counts[refused], counts[gained], counts[differs], counts[left])
	return same
}
