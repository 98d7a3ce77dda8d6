package product

import (
	"tensortapestry.org/tapc/backends/cpu/blocking"
	"tensortapestry.org/tapc/backends/cpu/macrotile"
	"tensortapestry.org/tapc/backends/tree"
)

// Stage makes the parts of a tree that carry out a product for the tasks of a kernel that has others beside: each has some rows, and all columns.
type Stage struct{ *driver }

// NewStage makes the memories of a stage, whose templates' names begin with a prefix.
func NewStage(names *tree.Names, prefix string, b *blocking.Blocking) Stage {
	d := newDriver(names, b)
	d.Prefix, d.Own = prefix, map[int]*tree.Memory{}
	return Stage{d}
}

// Memories declares what all tasks have together.
func (s Stage) Memories() []tree.Stmt { return s.memories() }

// PackRight is the region that packs the right operand for some groups from one on.
func (s Stage) PackRight(group *tree.Index, count int64) tree.Stmt {
	s.Group = group
	return s.packing(count)
}

// Multiply makes what a task does with its rows, at a place of the batch, with the panels of a group from the first of a round on: macro-tile by macro-tile of its columns.
func (s Stage) Multiply(batch []*tree.Index, group *tree.Index, rows tree.Span) []tree.Stmt {
	s.First = rows.From
	multiply := func(cols tree.Span) []tree.Stmt {
		t := &task{Task: &macrotile.Task{Blocking: s.Blocking, Driver: s.Driver, Batch: batch, Group: group, I: rows, J: cols}, d: s.driver}
		return t.multiply(tree.Const(0), tree.Const(s.C.InnerReduction()))
	}
	n := s.Cut.Cols
	if n >= s.C.Col.Extent {
		return multiply(tree.All(s.C.Col.Extent))
	}
	return []tree.Stmt{s.Loop(tree.Serial, "j", tree.Const(0), tree.Const(s.C.Col.Extent), n, func(j *tree.Index) (body []tree.Stmt) {
		return append(body, multiply(tree.Between(j, s.Let(&body, "j1", j.Plus(n).Min(tree.Const(s.C.Col.Extent)))))...)
	})}
}
