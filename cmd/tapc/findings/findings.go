// Package findings gathers what checks of the conformance kit say.
package findings

import (
	"fmt"
	"sync"
)

// List takes what a check of the conformance kit says.
type List struct {
	mu     sync.Mutex
	errors []string
	logs   []string
}

// Errorf notes a failure.
func (f *List) Errorf(format string, args ...any) { f.add(&f.errors, format, args) }

// Logf notes a remark.
func (f *List) Logf(format string, args ...any) { f.add(&f.logs, format, args) }

func (f *List) add(list *[]string, format string, args []any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	*list = append(*list, fmt.Sprintf(format, args...))
}

// maxFindings bounds the failures of one check that are shown.
const maxFindings = 10

// Failed says whether the check failed.
func (f *List) Failed() bool { return len(f.errors) > 0 }

// Lines gives what to show.
func (f *List) Lines(all bool) []string {
	out := f.errors
	if len(out) > maxFindings && !all {
		out = append(out[:maxFindings:maxFindings], fmt.Sprintf("and %d more", len(f.errors)-maxFindings))
	}
	if all {
		out = append(out[:len(out):len(out)], f.logs...)
	}
	return out
}
