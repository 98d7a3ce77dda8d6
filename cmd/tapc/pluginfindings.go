package main

import (
	"fmt"
	"sync"
)

// findings takes what a check of the conformance kit says.
type findings struct {
	mu     sync.Mutex
	errors []string
	logs   []string
}

// Errorf notes a failure.
func (f *findings) Errorf(format string, args ...any) { f.add(&f.errors, format, args) }

// Logf notes a remark.
func (f *findings) Logf(format string, args ...any) { f.add(&f.logs, format, args) }

func (f *findings) add(list *[]string, format string, args []any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	*list = append(*list, fmt.Sprintf(format, args...))
}

// maxFindings bounds the failures of one check that are shown.
const maxFindings = 10

// lines gives what to show.
func (f *findings) lines(all bool) []string {
	out := f.errors
	if len(out) > maxFindings && !all {
		out = append(out[:maxFindings:maxFindings], fmt.Sprintf("and %d more", len(f.errors)-maxFindings))
	}
	if all {
		out = append(out[:len(out):len(out)], f.logs...)
	}
	return out
}
