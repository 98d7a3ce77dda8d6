// Samebits says whether two commits make programs that give the same bits: those of the cases that kernels declare, of random graphs
// and of models.
//
//	go run ./tools/bench/samebits -count 10000 -models FOLDER 07bdc59 HEAD
//
// OLD and NEW are commits, or paths of tapc binaries. Where both emit the same C, but for the description in it, and have the same run-time library, nothing
// is run; -library takes libraries for the same that differ in files which are listed, for changes that cannot touch a value.
//
// Cases that are built alike are compared as one program, their disjoint union (-join), so that what compilers and linkers do for
// every program is done once. Where a side refuses a union, its halves are compared. What differs is listed by output, with the kernels
// that it is computed by, and by kernel; -allow names kernels that may differ. The exit status is 1 if others do. Most of the time goes to programs whose
// C differs: -for bounds it, and cases that are not begun by then are counted. A compiler that does not optimize takes a fifth of the time and gives
// the same values where nothing is contracted, as in
//
//	-cc "clang -O0 -march=native -ffp-contract=off -Dalways_inline=unused"
//
// -old-cc is for commits whose C leaves it to the compiler what is contracted: their own flags were -O3 -ffp-contract=fast.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
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
	join, jobs  int
	compiler    string
	oldCompiler string
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
	flag.IntVar(&s.join, "join", 20, "cases that are compared as one program, at most; a case of its own has the loops that it has alone")
	flag.StringVar(&s.compiler, "cc", "", "compile the C of both with this command, as in \"clang -O0 -march=native -ffp-contract=off\", and not as tapc does")
	flag.StringVar(&s.oldCompiler, "old-cc", "", "the same for OLD alone")
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
		if sides.tapc[i], sides.trees[i], err = binary(ctx, of, dir); err != nil {
			return false, err
		}
	}
	cases, err := s.cases(ctx, dir)
	if err != nil {
		return false, err
	}
	libraries, err := sides.libraries(ctx, cases)
	if err != nil {
		return false, err
	}
	for i, command := range []string{cmp.Or(s.oldCompiler, s.compiler), s.compiler} {
		if command == "" {
			continue
		}
		if sides.own[i], err = newCompiler(ctx, command, sides.tapc[i], filepath.Join(dir, fmt.Sprint("library", i)), libraries[i]); err != nil {
			return false, err
		}
	}
	other := otherFiles(libraries[0], libraries[1])
	if sides.skips = s.library || len(other) == 0; len(other) > 0 {
		fmt.Printf("the run-time libraries differ in %s\n", strings.Join(other, ", "))
	}
	results, start := make([]outcome, len(cases)), time.Now()
	next := make(chan []int)
	var all sync.WaitGroup
	for range max(1, s.jobs) {
		all.Go(func() {
			for group := range next {
				var list []testCase
				for _, i := range group {
					list = append(list, cases[i])
				}
				for k, of := range sides.together(ctx, list) {
					if results[group[k]] = of; ctx.Err() != nil {
						results[group[k]].verdict = left
					}
				}
			}
		})
	}
	for _, group := range groups(cases, s.join) {
		if s.duration > 0 && time.Since(start) > s.duration {
			for _, i := range group {
				results[i].verdict = left
			}
			continue
		}
		next <- group
	}
	close(next)
	all.Wait()
	return s.report(cases, results), ctx.Err()
}

// outcome is what the comparison of a case gave.
type outcome struct {
	verdict verdict
	err     error       // why it differs, or what refused it
	outputs []differing // that have other bytes
}

// differing is an output that has other bytes, by how much, and the kernels that it is computed by.
type differing struct {
	name, by string
	kernels  []string
}

type verdict int

const (
	sameC   verdict = iota // both emit the same C
	sameBit                // the C differs, and all outputs have the same bits; any NaN is as good as another
	refused                // both refuse it
	gained                 // the old one refuses it
	differs
	left // no time was left for it
)

// report lists what differs by case and by kernel, and counts verdicts; false is that something differs that may not.
func (s *settings) report(cases []testCase, results []outcome) bool {
	counts := map[verdict]int{}
	type tally struct{ alone, among int }
	kernels := map[string]tally{}
	same := true
	for i, r := range results {
		counts[r.verdict]++
		c := cases[i]
		switch {
		case r.verdict == refused:
			fmt.Printf("%s: both refuse it: %v\n", c.name, r.err)
		case r.verdict == differs && r.err != nil:
			note, may := s.allowed(c.Kernels)
			same = same && may
			fmt.Printf("%s%s: %v; kernels %s\n", c.name, note, r.err, strings.Join(c.Kernels, ", "))
		}
		for _, o := range r.outputs {
			note, may := s.allowed(o.kernels)
			same = same && may
			fmt.Printf("%s%s: %s differs %s; kernels %s\n", c.name, note, o.name, o.by, strings.Join(o.kernels, ", "))
			for _, k := range o.kernels {
				t := kernels[k]
				t.among++
				if len(o.kernels) == 1 {
					t.alone++
				}
				kernels[k] = t
			}
		}
	}
	for _, k := range slices.Sorted(maps.Keys(kernels)) {
		fmt.Printf("kernel %s: %d outputs differ that it alone computes, %d that it has a part in\n", k, kernels[k].alone, kernels[k].among)
	}
	fmt.Printf("%d cases: %d with the same C, %d with the same bits, %d that both refuse, %d that only the old one refuses, %d that differ, %d that were not begun in time\n",
		len(cases), counts[sameC], counts[sameBit], counts[refused], counts[gained], counts[differs], counts[left])
	return same
}

// allowed says whether results of some kernels may differ, and what is noted then.
func (s *settings) allowed(kernels []string) (note string, may bool) {
	if s.allow != "" && slices.ContainsFunc(kernels, func(k string) bool { return slices.Contains(strings.Split(s.allow, ","), k) }) {
		return " (allowed)", true
	}
	return "", false
}
