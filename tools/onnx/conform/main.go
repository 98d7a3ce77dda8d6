// Conform runs ONNX's backend tests and prints a table of what passed, what was refused and why, and what was wrong.
//
//	go run ./tools/onnx/conform -report report.txt DIR…
//
// Every DIR is searched for folders of a model.onnx with test_data_set_N, and is a folder of light models if it has NAME.onnx with
// NAME_output_0.pb. The exit status is 1 if anything was wrong.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"tensortapestry.org/tapc/backends/cpu/toolchain"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/tools/onnx/conformance"
)

func main() {
	report := flag.String("report", "", "write every test's result to this file")
	only := flag.String("only", "", "run the tests whose names match this pattern")
	timeout := flag.Duration("timeout", 30*time.Second, "for one test")
	jobs := flag.Int("jobs", 2, "tests at once")
	verbose := flag.Bool("v", false, "print every wrong test")
	compiled := flag.Bool("cpu", false, "build and run a program for each test instead of evaluating it")
	scheduled := flag.Bool("schedule", false, "take each test through all passes and evaluate its schedule")
	flags := flag.String("cflags", "", "flags for the C compiler, separated by spaces, with -cpu")
	kernelFile := flag.String("kernels", "", "file of kernels besides the built-in ones")
	flag.Parse()
	pattern, err := regexp.Compile(*only)
	if err != nil {
		fail(err)
	}
	var dirs []string
	for _, root := range flag.Args() {
		found, err := conformance.Find(root)
		if err != nil {
			fail(err)
		}
		light, err := conformance.FindLight(root)
		if err != nil {
			fail(err)
		}
		found = append(found, light...)
		for _, d := range found {
			if pattern.MatchString(filepath.Base(d)) {
				dirs = append(dirs, d)
			}
		}
	}
	lib, err := library(*kernelFile)
	if err != nil {
		fail(err)
	}
	o := conformance.Options{Timeout: *timeout, Library: lib}
	if *scheduled {
		o.Run = conformance.Scheduled(lib)
	}
	if *compiled {
		cc, err := toolchain.FindCompiler(context.Background())
		if err != nil {
			fail(err)
		}
		o.Run = conformance.Compiled(cc, lib, strings.Fields(*flags))
	}
	results := runAll(dirs, *jobs, o)
	text := conformance.Table(results)
	fmt.Print(text)
	bad := 0
	for _, r := range results {
		if r.Status == conformance.Wrong || r.Status == conformance.Crash {
			bad++
			if *verbose {
				fmt.Printf("%s: %s: %s\n", r.Name, r.Status, r.Reason)
			}
		}
	}
	if *report != "" {
		if err := os.WriteFile(*report, []byte(text+"\n"+lines(results)), 0o666); err != nil {
			fail(err)
		}
	}
	if bad > 0 {
		os.Exit(1)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "conform:", err)
	os.Exit(2)
}

// library gives the built-in kernels and those of a file.
func library(file string) (*kernels.Library, error) {
	if file == "" {
		return kernels.Builtin(), nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return kernels.Builtin().With(file, string(text), "")
}

func runAll(dirs []string, jobs int, o conformance.Options) []conformance.Result {
	results := make([]conformance.Result, len(dirs))
	work := make(chan int)
	var wg sync.WaitGroup
	for range jobs {
		wg.Go(func() {
			for i := range work {
				results[i] = conformance.Test(context.Background(), dirs[i], o)
			}
		})
	}
	for i := range dirs {
		work <- i
	}
	close(work)
	wg.Wait()
	return results
}

func lines(results []conformance.Result) string {
	slices.SortStableFunc(results, func(a, b conformance.Result) int {
		return cmp.Or(cmp.Compare(a.Status, b.Status), cmp.Compare(a.Name, b.Name))
	})
	var b strings.Builder
	for _, r := range results {
		fmt.Fprintf(&b, "%-20s %-60s %s\n", r.Status, r.Name, strings.SplitN(r.Reason, "\n", 2)[0])
	}
	return b.String()
}
