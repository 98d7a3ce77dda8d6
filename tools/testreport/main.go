// Command testreport shows the events of `go test -json` as go test shows its output, and lists in the end what was skipped, with
// the reasons: what a machine lacks must not look as if it had been tested.
//
//	go test -json ./... | go run ./tools/testreport
//
// The exit status is 1 if something failed. Read next: internal/testkit, which turns such skips into failures.
package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
)

// module is left out of the names of packages.
const module = "tensortapestry.org/tapc/"

// event is a line of `go test -json` (go doc test2json, go help buildjson).
type event struct {
	Action, Package, ImportPath, Test, Output string
	Elapsed                                   float64
}

// name is a test, or with an empty Test its package.
type name struct{ pkg, test string }

// report collects what the events say.
type report struct {
	out     io.Writer
	output  map[name][]string // what a test that runs has printed
	skipped map[string][]string
	failed  bool
}

func main() {
	failed, err := show(os.Stdin, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "testreport:", err)
	}
	if failed || err != nil {
		os.Exit(1)
	}
}

// show reads events up to the end, and says whether a test or a build failed.
func show(in io.Reader, out io.Writer) (failed bool, err error) {
	r := &report{out: out, output: map[name][]string{}, skipped: map[string][]string{}}
	lines := bufio.NewReader(in)
	for err == nil {
		var line []byte
		if line, err = lines.ReadBytes('\n'); len(line) == 0 {
			continue
		}
		var e event
		if json.Unmarshal(line, &e) != nil {
			fmt.Fprint(out, string(line)) // not every line is an event
			continue
		}
		r.add(e)
	}
	r.list()
	if err == io.EOF {
		err = nil
	}
	return r.failed, err
}

func (r *report) add(e event) {
	n := name{e.Package, e.Test}
	switch e.Action {
	case "output":
		r.output[n] = append(r.output[n], e.Output)
		return
	case "build-output":
		fmt.Fprint(r.out, e.Output)
		return
	case "build-fail":
		r.failed = true
		return
	case "skip":
		if e.Test != "" {
			reason := reasonIn(r.output[n])
			r.skipped[reason] = append(r.skipped[reason], strings.TrimPrefix(e.Package, module)+"."+e.Test)
		}
	case "fail":
		r.failed = true
		if e.Test == "" {
			r.unfinished(e.Package)
		}
		fmt.Fprint(r.out, strings.Join(r.output[n], ""))
	case "pass":
		if e.Test == "" {
			fmt.Fprint(r.out, lastLine(r.output[n]))
		}
	default:
		return
	}
	delete(r.output, n)
}

// unfinished shows what tests of a package have printed that have not ended: they ran when it was over its time or crashed, and one of them says why.
func (r *report) unfinished(pkg string) {
	for _, n := range slices.SortedFunc(maps.Keys(r.output), func(a, b name) int { return cmp.Compare(a.test, b.test) }) {
		if n.pkg == pkg && n.test != "" {
			fmt.Fprint(r.out, strings.Join(r.output[n], ""))
			delete(r.output, n)
		}
	}
}

// lastLine is what go test says of a package that passed.
func lastLine(lines []string) string {
	for _, l := range slices.Backward(lines) {
		if strings.HasPrefix(l, "ok ") {
			return l
		}
	}
	return ""
}

// reasonIn finds what a test said before it was skipped: "    file.go:12: the reason".
func reasonIn(lines []string) string {
	for _, l := range slices.Backward(lines) {
		if l = strings.TrimSpace(l); strings.HasPrefix(l, "--- SKIP") || l == "" {
			continue
		}
		if _, reason, ok := strings.Cut(l, ".go:"); ok {
			if _, text, ok := strings.Cut(reason, ": "); ok {
				return text
			}
		}
		return l
	}
	return "without a reason"
}

// list writes what was not executed, one line a reason.
func (r *report) list() {
	if len(r.skipped) == 0 {
		return
	}
	fmt.Fprintln(r.out, "\nnot executed:")
	for _, reason := range slices.Sorted(maps.Keys(r.skipped)) {
		tests := r.skipped[reason]
		slices.Sort(tests)
		more := ""
		if len(tests) > 3 {
			tests, more = tests[:3], fmt.Sprintf(" and %d more", len(tests)-3)
		}
		fmt.Fprintf(r.out, "  %s: %s%s\n", reason, strings.Join(tests, ", "), more)
	}
}
