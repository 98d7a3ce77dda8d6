// Package checktest helps tests of constraints: cases over small graphs built in code, and a check that the cases of a
// package exercise every code that its constraints declare. It must not import a dialect. Read next: package check.
package checktest

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/check"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/zspace"
)

// Case is a graph with the findings that verifying it must give.
type Case struct {
	Name  string
	Graph *ir.Graph
	Codes []string // of the findings in order; none for a graph that is accepted
	Say   []string // texts that the findings, as they are printed, must contain
}

// Of makes a case.
func Of(name string, g *ir.Graph, codes, say []string) Case {
	return Case{Name: name, Graph: g, Codes: codes, Say: say}
}

// Run verifies every case against an environment. Every code that the given constraints declare must be reported by some
// case, and no constraint may report a code that it does not declare.
func Run(t *testing.T, env *check.Environment, own []check.Constraint, cases []Case) {
	t.Helper()
	if err := env.Validate(); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, k := range cases {
		t.Run(k.Name, func(t *testing.T) {
			found := env.Verify(context.Background(), k.Graph)
			for _, d := range found {
				seen[d.Code] = true
				declared(t, env, d)
			}
			Expect(t, found, k.Codes, k.Say)
		})
	}
	for _, k := range own {
		for _, code := range k.Codes {
			if !seen[code.ID] {
				t.Errorf("no case exercises %s of %s", code.ID, k.ID)
			}
		}
	}
}

// declared checks that a finding's constraint declares its code.
func declared(t *testing.T, env *check.Environment, d diag.Diagnostic) {
	t.Helper()
	for _, k := range env.All() {
		if k.ID == d.Constraint && slices.ContainsFunc(k.Codes, func(c check.Code) bool { return c.ID == d.Code }) {
			return
		}
	}
	t.Errorf("%s does not declare %s", d.Constraint, d.Code)
}

// Expect compares findings with the codes and texts they must have.
func Expect(t *testing.T, found diag.List, codes, say []string) {
	t.Helper()
	var got []string
	for _, d := range found {
		got = append(got, d.Code)
	}
	var text bytes.Buffer
	if err := diag.WriteText(&text, found, nil); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(codes, got); diff != "" {
		t.Errorf("codes (-want +got):\n%s\n%s", diff, text.String())
	}
	for _, s := range say {
		if !strings.Contains(text.String(), s) {
			t.Errorf("%q is not in:\n%s", s, text.String())
		}
	}
}

// Range reads a range such as "[0:4, 0:3]"; it panics on anything else.
func Range(s string) zspace.Range {
	r, err := zspace.ParseRange(s)
	if err != nil {
		panic(err)
	}
	return r
}

// Map reads a projection such as "(d0, d1) -> [d0 + 10] + [1]"; it panics on anything else.
func Map(s string) zspace.ProjectionMap {
	m, err := zspace.ParseProjectionMap(s)
	if err != nil {
		panic(err)
	}
	return m
}

// Port makes a port that selects one box of each of some tensors; boxes are written as for Range.
func Port(name string, sel ...ir.Selection) ir.Port { return ir.Port{Name: name, Sel: sel} }

// Sel makes a selection.
func Sel(tensor *ir.Node, box string) ir.Selection {
	return ir.Select(tensor.ID, Range(box))
}
