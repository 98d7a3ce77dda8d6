// Package backtoback makes the trees of back-to-back products, as attention is, block of rows by block of rows, and writes the templates of their leaves. It must not
// import backends/cpu. Read next: stage.go, tree.go.
package backtoback

import (
	"maps"
	"slices"
	"strings"

	"tensortapestry.org/tapc/backends/cpu/blocking"
	"tensortapestry.org/tapc/backends/cpu/product"
	"tensortapestry.org/tapc/backends/cpu/unit"
	"tensortapestry.org/tapc/backends/tree"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/passes/tile"
)

// Kernel is a product, what is done with its lines, and a product with these, block by block of rows; see nest.BackToBack. Right operands are packed before, by
// all threads. Then a thread takes blocks, and carries out the three stages for each in memory of its own, which templates find in the kernel's table as if the block
// were the whole.
type Kernel struct {
	e        *unit.Unit
	k        *schedule.Kernel
	d        *Decided
	products [2]*product.Product
}

// New prepares the templates of such a kernel.
func New(e *unit.Unit, name string, k *schedule.Kernel, d *Decided) *Kernel {
	c := &Kernel{e: e, k: k, d: d}
	var own []ir.NodeID
	for _, h := range d.found.Workspaces {
		own = append(own, h.Buffer)
		d.found.Buffer(h).Bytes = d.rows * h.Step * int64(d.found.Buffer(h).Type().Size())
	}
	maps.Copy(e.Buffers, d.found.WorkspaceBuffers())
	for i, x := range []*nest.Contraction{d.found.First, d.found.Last} {
		c.products[i] = product.New(e, name+"_"+[]string{"first", "last"}[i], d.found.Stages[2*i], x, d.products[i])
	}
	for _, o := range k.Operands {
		e.Slot(o.Buffer)
	}
	e.Private(0, 0)
	if slices.ContainsFunc(d.blocks[:], func(b *blocking.Blocking) bool { return b.Pack.Right == tile.UpFront }) {
		e.Scratch(0)
	}
	e.Hold(own...)
	return c
}

// Templates writes the functions of the leaves. What is kept between stages is not known behind them.
func (c *Kernel) Templates() string {
	text := c.products[0].Templates() + c.products[1].Templates()
	for id := range c.d.found.WorkspaceBuffers() {
		delete(c.e.Buffers, id)
	}
	c.e.Table.Own = nil
	return text
}

// Common names the function of a template that kernels have together.
func (c *Kernel) Common(template string) string { return c.products[0].Common(template) }

// Constant gives the place in the kernel's table of an operand that was packed when the program was built.
func (c *Kernel) Constant(operand int) int {
	at := slices.IndexFunc(c.products[:], func(p *product.Product) bool {
		return p.Pack.Right == tile.Prepacked && p.K.Operands[p.C.Right].Buffer == c.k.Operands[operand].Buffer
	})
	return c.products[at].Slot
}

// Threads says whether several threads do the tasks.
func (c *Kernel) Threads() bool { return c.d.threads }

// Region says what the tasks of a region are called, and how many picoseconds each takes.
func (c *Kernel) Region(loop *tree.For) (name, picoseconds string) {
	for i, prefix := range []string{"first", "last"} {
		if strings.HasPrefix(loop.Var.Name, prefix+"_panel") {
			_, each := c.products[i].Region(loop)
			return prefix + "_pack", each
		}
	}
	n := c.d.down()
	for _, l := range c.d.found.Free() {
		if l != c.d.found.Row {
			n *= c.k.Loops[l].Extent()
		}
	}
	return "task", unit.Each(c.e.Nanoseconds(c.k, unit.TileRate*float64(c.products[0].N)), n)
}
