package mapping

import (
	"fmt"
	"slices"

	"tensortapestry.org/tapc/frontends/foreign"
	"tensortapestry.org/tapc/ir/diag"
)

// Codes of the front ends' diagnostics.
const (
	CodeGraph    = "TAP1401" // a foreign graph that is not well formed: a cycle, two producers, a value that is not there
	CodeUnmapped = "TAP1402" // an operation that no rule maps
	CodeFiles    = "TAP0860" // files that a run reads or writes, in a vocabulary that has none
	CodeInput    = "TAP1403" // an input or output whose type or size is not known, or that is no tensor
)

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
	Count             int
	Nodes             []string
	At                diag.Location // of the first one
}

func newReport(g *foreign.Graph) *Report {
	return &Report{File: g.File, Versions: g.Versions, mapped: map[[2]string]int{}, Waiting: map[string]int{}}
}

func (r *Region) opVersion(op *foreign.Op) string {
	name := op.Type
	if op.Domain != "" {
		name = op.Domain + ":" + name
	}
	if v := r.version(op.Domain); v > 0 { // not where vocabularies have releases instead of numbers
		name += fmt.Sprintf("@%d", v)
	}
	return name
}

func (p *Report) ok(r *Region, op *foreign.Op, by string) {
	p.Total++
	key := [2]string{r.opVersion(op), by}
	if p.mapped[key]++; p.mapped[key] == 1 {
		p.Mapped = append(p.Mapped, Mapped{Op: key[0], Rule: by})
	}
	for i := range p.Mapped {
		if p.Mapped[i].Op == key[0] && p.Mapped[i].Rule == by {
			p.Mapped[i].Count++
		}
	}
}

func (p *Report) wait(r *Region, op *foreign.Op) {
	p.Blocked++
	p.Waiting[r.opVersion(op)]++
}

// maxNodes bounds the operations that an entry of the report names.
const maxNodes = 3

func (p *Report) fail(r *Region, op *foreign.Op, cause, reason string) {
	p.Total++
	name := op.Name
	if name == "" && len(op.Out) > 0 {
		name = op.Out[0]
	}
	at := r.opVersion(op)
	i := slices.IndexFunc(p.Unmapped, func(u Unmapped) bool { return u.Op == at && u.Cause == cause && u.Reason == reason })
	if i < 0 {
		i = len(p.Unmapped)
		p.Unmapped = append(p.Unmapped, Unmapped{Op: at, Cause: cause, Reason: reason, At: r.at(op, name)})
	}
	u := &p.Unmapped[i]
	if u.Count++; len(u.Nodes) < maxNodes && name != "" {
		u.Nodes = append(u.Nodes, name)
	}
}

// at says where an operation stands: by line, or by its number among those of its graph.
func (r *Region) at(op *foreign.Op, name string) diag.Location {
	l := diag.Location{File: r.m.report.File, Line: int(op.Pos.Line), Column: int(op.Pos.Col), Node: name}
	if op.Pos.Doc > 0 && r.graph.Path != "" {
		l.Pointer = fmt.Sprintf("%s/%d", r.graph.Path, op.Pos.Doc-1)
	}
	return l
}

// err gives an error for everything that was not mapped, a diagnostic for each operation and reason.
func (p *Report) err() error {
	var list diag.List
	for _, u := range p.Unmapped {
		times := ""
		if u.Count > 1 {
			times = fmt.Sprintf(" (%d times)", u.Count)
		}
		list = append(list, diag.Errorf(CodeUnmapped, "mapping", u.At, "%s can not be mapped%s: %s", u.Op, times, u.Reason))
	}
	return list.Err()
}

func (r *Region) fault(format string, args ...any) error {
	return diag.Errorf(CodeGraph, "foreign-graph", diag.Location{File: r.m.report.File, Node: r.inside}, format, args...)
}
