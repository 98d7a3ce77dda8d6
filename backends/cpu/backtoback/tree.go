package backtoback

import (
	"fmt"
	"slices"

	"tensortapestry.org/tapc/backends/cpu/product"
	"tensortapestry.org/tapc/backends/tree"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/passes/tile"
)

// driver makes the tree of a kernel: regions that pack right operands, in rounds of groups, and one of which each task carries out the three stages for a
// block of rows, in memory of its own.
type driver struct {
	*Decided
	*tree.Names
	k      *schedule.Kernel
	stages [2]product.Stage
	at     map[int]*tree.Index // by loop: where a block is
}

// Tree makes the tree of a kernel.
func (d *Decided) Tree(k *schedule.Kernel) *tree.Func {
	b := &driver{Decided: d, Names: tree.PlainNames(), k: k, at: map[int]*tree.Index{}}
	f := &tree.Func{Name: k.Name}
	for i, x := range d.blocks {
		s := product.NewStage(b.Names, []string{"first_", "last_"}[i], x)
		for o, m := range s.Operands {
			if b.workspace(x.K, o) < 0 {
				f.Operands = append(f.Operands, b.operand(x.K, m))
			}
		}
		for _, y := range product.Functions(x) {
			y.Name = s.Prefix + y.Name
			for _, m := range y.Operands {
				if b.workspace(x.K, m.Operand) < 0 {
					b.operand(x.K, m)
				}
			}
			f.Functions = append(f.Functions, y)
		}
		f.Body = append(f.Body, s.Memories()...)
		b.stages[i] = s
	}
	outer, several := b.outer()
	f.Body = append(f.Body, b.stages[0].Rounds("group", b.extent(outer[:several]), d.groups(), func(group *tree.Index, count int64) (out []tree.Stmt) {
		for i, s := range b.stages {
			switch x := d.blocks[i]; {
			case x.Pack.Right != tile.UpFront:
			case !d.together() || x.Outer == 1: // every group has the same panels
				out = append(out, s.PackRight(tree.Const(0), x.Outer))
			default:
				out = append(out, s.PackRight(group, count))
			}
		}
		tasks := tree.Const(count * b.extent(outer[several:]) * d.down())
		return append(out, b.stages[0].Loop(tree.Thread, "task", tree.Const(0), tasks, 1, func(task *tree.Index) []tree.Stmt { return b.task(f, task, group, outer, several) }))
	})...)
	return f
}

// block is the memory of a thread that a workspace is.
func (d *driver) block(i int, h nest.Workspace) *tree.Memory {
	m := &tree.Memory{Name: d.Fresh("block"), Type: d.found.Buffer(h).Type(), Scope: tree.Private, Operand: i, Dims: []tree.Dim{{End: d.rows, Stride: h.Step}}}
	if i == 0 { // lines
		m.Dims = append(m.Dims, tree.Dim{End: d.k.Loops[d.found.Line].Extent(), Stride: 1})
	}
	m.Slack = d.rows*h.Step - m.Elements()
	return m
}

// workspace gives the number of the workspace that an operand of a stage is, -1 for one of the kernel.
func (d *driver) workspace(stage *schedule.Kernel, operand int) int {
	return slices.IndexFunc(d.found.Workspaces, func(h nest.Workspace) bool { return h.Buffer == stage.Operands[operand].Buffer })
}

// operand makes the memory of a stage's operand that of the kernel's.
func (d *driver) operand(stage *schedule.Kernel, m *tree.Memory) *tree.Memory {
	buffer := stage.Operands[m.Operand].Buffer
	m.Operand = slices.IndexFunc(d.k.Operands, func(o schedule.Operand) bool { return o.Buffer == buffer })
	m.Name = fmt.Sprintf("p%d", m.Operand)
	return m
}

// outer gives the loops outside of a block: those that packed panels follow first, and how many these are, if panels are packed group by group.
func (d *driver) outer() (out []int, several int) {
	for _, x := range d.blocks {
		if len(out) == 0 && x.Pack.Right == tile.UpFront && d.together() {
			out = groupLoops(x)
		}
	}
	several = len(out)
	for _, l := range d.found.Free() {
		if l != d.found.Row && !slices.Contains(out, l) {
			out = append(out, l)
		}
	}
	return out, several
}

// extent is how many points some loops have.
func (d *driver) extent(loops []int) int64 {
	n := int64(1)
	for _, l := range loops {
		n = nest.SaturatingProduct(n, d.k.Loops[l].Extent())
	}
	return n
}

// down is how many blocks of rows there are at one place of the loops outside.
func (d *Decided) down() int64 { return (d.blocks[0].C.Row.Extent + d.rows - 1) / d.rows }

// task makes what a task does: the stages of one block, which has a number.
func (d *driver) task(f *tree.Func, rest, group *tree.Index, outer []int, several int) (body []tree.Stmt) {
	i0 := d.Let(&body, "i0", rest.Mod(d.down()).Times(d.rows))
	rows := tree.Between(i0, d.Let(&body, "i1", i0.Plus(d.rows).Min(tree.Const(d.blocks[0].C.Row.Extent))))
	rest = rest.Div(d.down())
	panels := tree.Const(0) // the group of panels, from the round's first on
	for i, l := range slices.Backward(outer) {
		if i == several-1 {
			panels = rest
			rest = rest.Add(group)
		}
		d.at[l] = d.Let(&body, fmt.Sprintf("x%d", l), rest.Mod(d.k.Loops[l].Extent()))
		rest = rest.Div(d.k.Loops[l].Extent())
	}
	blocks := make([]*tree.Memory, len(d.found.Workspaces))
	for i, h := range d.found.Workspaces {
		m, first := d.block(i, h), []*tree.Index{i0.Times(-1), tree.Const(0)}
		blocks[i] = m
		body = append(body, &tree.Declare{Memory: m}, &tree.Hold{Access: tree.Access{Memory: m, At: first[:len(m.Dims)]}})
	}
	multiply := func(i int) {
		s, at := d.stages[i], panels
		var batch []*tree.Index
		for _, a := range s.Batch {
			batch = append(batch, d.at[a.Inner()])
		}
		if s.Pack.Right != tile.UpFront || s.Outer == 1 || !d.together() {
			at = s.GroupOf(s.C.Right, batch)
		}
		for o := range s.Operands {
			if x := d.workspace(s.K, o); x >= 0 {
				s.Own[o] = blocks[x]
			}
		}
		body = append(body, s.Multiply(batch, at, rows)...)
	}
	multiply(0)
	if d.middle != nil {
		body = append(body, d.stages[0].Loop(tree.Serial, "i", rows.From, rows.To, 1, func(i *tree.Index) []tree.Stmt { return d.between(f, blocks, i, i0) }))
	}
	multiply(1)
	return body
}

// between makes what the stage between the products does with a row.
func (d *driver) between(f *tree.Func, blocks []*tree.Memory, i, i0 *tree.Index) []tree.Stmt {
	var at []*tree.Index
	for _, x := range d.middle.Outer {
		if x.Inner() == d.found.Row {
			at = append(at, i)
		} else {
			at = append(at, d.at[x.Inner()])
		}
	}
	k := d.found.Stages[1]
	operands, body := d.middle.Line(d.Names, at, i.Add(i0.Times(-1)), func(operand int) *tree.Memory {
		if x := d.workspace(k, operand); x >= 0 {
			return blocks[x]
		}
		return nil
	})
	for _, m := range operands {
		f.Operands = append(f.Operands, d.operand(k, m))
	}
	return body
}
