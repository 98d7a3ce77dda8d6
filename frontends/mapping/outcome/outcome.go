// Package outcome is what became of the operations of a foreign graph that was mapped: by which rules, and why not.
//
// It knows no rules. Read next: frontends/mapping.
package outcome

import (
	"fmt"
	"maps"
	"slices"

	"tensortapestry.org/tapc/frontends/foreign"
	"tensortapestry.org/tapc/ir/diag"
)

// Code is that of an operation that no rule maps.
const Code = "TAP1402"

// Report says what became of each operation.
type Report struct {
	File     string
	Versions map[string]int64
	Total    int
	Blocked  int // operations that wait for one that could not be mapped
	Mapped   []Mapped
	Unmapped []Unmapped
	Waiting  map[string]int // those of Blocked, by operator

	mapped map[[2]string]int
}

// Mapped counts operations that one rule mapped. Op carries the version of the vocabulary.
type Mapped struct {
	Op, Rule string
	Count    int
}

// Unmapped counts operations that could not be mapped for one reason. Cause is graph, no-rule, guard or unsupported; Nodes are the first
// few, by name.
type Unmapped struct {
	Op, Cause, Reason string
	Wants             string // the input of the graph that must be known when compiling, or ""
	Count             int
	Nodes             []string
	At                diag.Location // of the first one
}

// Clone gives a report that stays as it is.
func (p *Report) Clone() *Report {
	c := *p
	c.Mapped, c.Unmapped, c.Waiting, c.mapped = slices.Clone(p.Mapped), slices.Clone(p.Unmapped), maps.Clone(p.Waiting), maps.Clone(p.mapped)
	return &c
}

// New gives the report of a graph of which nothing is mapped yet.
func New(g *foreign.Graph) *Report {
	return &Report{File: g.File, Versions: g.Versions, mapped: map[[2]string]int{}, Waiting: map[string]int{}}
}

// Ok notes an operation that a rule mapped.
func (p *Report) Ok(op, by string) {
	p.Total++
	key := [2]string{op, by}
	if p.mapped[key]++; p.mapped[key] == 1 {
		p.Mapped = append(p.Mapped, Mapped{Op: key[0], Rule: by})
	}
	for i := range p.Mapped {
		if p.Mapped[i].Op == key[0] && p.Mapped[i].Rule == by {
			p.Mapped[i].Count++
		}
	}
}

// Wait notes an operation that waits for one that could not be mapped.
func (p *Report) Wait(op string) {
	p.Blocked++
	p.Waiting[op]++
}

// maxNodes bounds the operations that an entry of the report names.
const maxNodes = 3

// Fail notes an operation that could not be mapped.
func (p *Report) Fail(op Unmapped) {
	p.Total++
	i := slices.IndexFunc(p.Unmapped, func(u Unmapped) bool { return u.Op == op.Op && u.Cause == op.Cause && u.Reason == op.Reason })
	if i < 0 {
		i = len(p.Unmapped)
		p.Unmapped = append(p.Unmapped, op)
	}
	u := &p.Unmapped[i]
	if u.Count++; len(u.Nodes) < maxNodes && op.At.Node != "" {
		u.Nodes = append(u.Nodes, op.At.Node)
	}
}

// Err gives an error for everything that was not mapped, a diagnostic for each operation and reason.
func (p *Report) Err() error {
	var list diag.List
	for _, u := range p.Unmapped {
		times := ""
		if u.Count > 1 {
			times = fmt.Sprintf(" (%d times)", u.Count)
		}
		list = append(list, diag.Errorf(Code, "mapping", u.At, "%s can not be mapped%s: %s", u.Op, times, u.Reason))
	}
	return list.Err()
}
