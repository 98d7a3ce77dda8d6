// Package backtoback writes back-to-back products, as attention is, block of rows by block of rows. It must not import backends/cpu. Read next:
// backtoback.go.
package backtoback

import (
	"fmt"
	"maps"
	"slices"

	"tensortapestry.org/tapc/backends/cnest"
	"tensortapestry.org/tapc/backends/cpu/blocking"
	"tensortapestry.org/tapc/backends/cpu/point"
	"tensortapestry.org/tapc/backends/cpu/product"
	"tensortapestry.org/tapc/backends/cpu/rows"
	"tensortapestry.org/tapc/backends/cpu/trees"
	"tensortapestry.org/tapc/backends/cpu/unit"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/passes/tile"
)

// Kernel writes a product, what is done with its lines, and a product with these, block by block of rows; see nest.BackToBack. Right
// operands are packed before, by all threads. Then a thread takes blocks, and carries out the three stages for each in memory of
// its own, of which every address is as if the block were the whole.
type Kernel struct {
	*cnest.Text
	e        *unit.Unit
	k        *schedule.Kernel
	c        *nest.BackToBack
	name     string
	products [2]*product.Product
	middle   *rows.Kernel // or nil
	d        Decided
	memory
}

// memory is where a kernel keeps what.
type memory struct {
	table      int     // addresses in the kernel's table, behind which are those of the workspaces and of the panels
	thread     int     // in the table, of the threads' memory
	bytes      int64   // of a thread
	workspaces []int64 // offsets in that
	panels     int     // in the table, of the memory of panels
	packed     []int64 // offsets in that, of the packed operands
}

// New prepares such a kernel, which is cut as Read says.
func New(e *unit.Unit, name string, k *schedule.Kernel, d Decided) *Kernel {
	c := &Kernel{Text: new(cnest.Text), e: e, k: k, c: d.found, name: name, d: d}
	found := d.found
	for _, h := range found.Workspaces {
		b := found.Buffer(h)
		b.Bytes = d.lines(h)
	}
	maps.Copy(c.e.Buffers, found.WorkspaceBuffers())
	for i, x := range []*nest.Contraction{found.First, found.Last} {
		p := stage(e, name+"_"+[]string{"first", "last"}[i], found.Stages[2*i], x, d.products[i])
		p.Text = c.Text
		c.products[i] = p
	}
	if found.Middle != nil {
		c.middle = rows.Of(e.Target, d.middle, e.Buffers, found.Middle, d.lanes)
	}
	c.place()
	return c
}

// forget takes away the buffers of what is kept between stages, which New makes known.
func (c *Kernel) forget() {
	for id := range c.c.WorkspaceBuffers() {
		delete(c.e.Buffers, id)
	}
	c.e.Table.Held = nil
}

// stage prepares the product of a stage.
func stage(e *unit.Unit, name string, k *schedule.Kernel, c *nest.Contraction, d blocking.Decided) *product.Product {
	p := product.Of(e, name, k, c, d)
	if p.Pack.Right == tile.Prepacked {
		p.Slot = p.E.Panels(k.Operands[c.Right].Buffer, p.Layout(c.Right, c.Col, p.Panel))
	}
	return p
}

// place finds places for workspaces and for panels. The kernel's table is complete before: what follows it is for its stages.
func (c *Kernel) place() {
	for _, o := range c.k.Operands {
		c.e.Slot(o.Buffer)
	}
	var whole int64
	c.workspaces, c.bytes = c.d.kept()
	c.thread = c.e.Private(c.bytes)
	if c.packed, whole = c.d.packed(); whole > 0 {
		c.panels = c.e.Scratch(whole)
	}
	c.table = len(c.e.Table.Used)
	c.e.Table.Held = c.workspaceSlots()
	for i, p := range c.products {
		if p.Pack.Right == tile.UpFront {
			p.Slot = c.table + len(c.workspaces) + i
		}
	}
}

// Write writes the whole kernel.
func (c *Kernel) Write() string {
	defer c.forget()
	c.products[0].Functions()
	if c.middle != nil {
		trees.Function(c.e, c.Text, c.name+"_middle_cell", c.middle.Cell(c.d.middle.Name), len(c.middle.Outer), c.d.middle)
	}
	c.products[1].Functions()
	for _, p := range c.products {
		if p.Pack.Right == tile.UpFront {
			p.PackTask()
		}
	}
	c.task()
	c.run()
	return c.String()
}

// variable is the C variable of a loop that is outside of a block.
func (c *Kernel) variable(loop int) string {
	if loop == c.c.Row {
		return "i"
	}
	return fmt.Sprintf("x%d", loop)
}

// outer gives the loops outside of a block: those that packed panels follow first, in their order.
func (c *Kernel) outer() []int {
	var out []int
	if c.d.together() {
		for _, p := range c.products {
			if len(out) == 0 && p.Pack.Right == tile.UpFront {
				out = groupLoops(p.Blocking)
			}
		}
	}
	for _, l := range c.c.Free() {
		if l != c.c.Row && !slices.Contains(out, l) {
			out = append(out, l)
		}
	}
	return out
}

// packedLoops is how many of them packed panels follow, if these are packed group by group.
func (c *Kernel) packedLoops() int {
	n := 0
	for _, p := range c.products {
		if p.Pack.Right == tile.UpFront && c.d.together() {
			n = max(n, len(groupLoops(p.Blocking)))
		}
	}
	return n
}

// extent is how many points some loops have.
func (c *Kernel) extent(loops []int) int64 {
	n := int64(1)
	for _, l := range loops {
		n = nest.SaturatingProduct(n, c.k.Loops[l].Extent())
	}
	return n
}

// blocks is how many blocks of rows there are at one place of the loops outside.
func (c *Kernel) blocks() int64 { return (c.products[0].C.Row.Extent + c.d.rows - 1) / c.d.rows }

// task writes what a thread does: some blocks.
func (c *Kernel) task() {
	c.Open("\nstatic void %s_task(void *ctx, int64_t begin, int64_t end, int worker) {", c.name)
	c.Line("const tapc_part *const parts = ctx;")
	c.Line("char *const memory = (char *)parts->b[%d] + worker * %s;", c.thread, point.Number(c.bytes))
	c.Line("void *b[%d];", c.tableEnd())
	c.Line("__builtin_memcpy(b, parts->b, sizeof b);")
	if c.products[1].Split() {
		c.e.Stack(c.products[1].OpenBytes())
		c.Line("%s open[%d]; // unfinished sums", c.e.V.Type(c.products[1].VectorType(), c.products[1].N), c.products[1].OpenSums())
	}
	c.Open("for (int64_t block = begin; block < end; block++) {")
	c.coordinates()
	for i, h := range c.c.Workspaces {
		size := int64(c.e.Buffers[h.Buffer].Type().Size())
		c.Line("b[%d] = (void *)((uintptr_t)memory + %d - (uintptr_t)i0 * %d); // rows of %s from i0 on", c.table+i, c.workspaces[i], h.Step*size, c.k.Statements[h.Statement].Name)
	}
	c.product(c.products[0], 0)
	if c.middle != nil {
		c.Open("for (int64_t i = i0; i < i1; i++) {")
		args := ""
		for _, a := range c.middle.Outer {
			args += ", " + c.variable(a.Inner())
		}
		c.Line("%s_middle_cell(b%s);", c.name, args)
		c.Close()
	}
	c.product(c.products[1], 1)
	c.Close(2)
}

// tableEnd is the size of the table of a thread.
func (c *Kernel) tableEnd() int { return c.table + len(c.workspaces) + len(c.packed) }

// workspaceSlots gives the places in the table of the addresses of workspaces.
func (c *Kernel) workspaceSlots() map[ir.NodeID]int {
	out := map[ir.NodeID]int{}
	for i, h := range c.c.Workspaces {
		out[h.Buffer] = c.table + i
	}
	return out
}

// coordinates writes the rows of a block and where it stands in the loops outside.
func (c *Kernel) coordinates() {
	outer, several := c.outer(), c.packedLoops()
	extent := c.products[0].C.Row.Extent
	c.Line("int64_t rest = block;")
	c.Line("const int64_t i0 = rest %% %d * %d, i1 = i0 + %d < %d ? i0 + %d : %d;", c.blocks(), c.d.rows, c.d.rows, extent, c.d.rows, extent)
	c.Line("rest /= %d;", c.blocks())
	for i, l := range slices.Backward(outer) {
		if i == several-1 {
			c.Line("rest += parts->group;")
		}
		c.Line("const int64_t %s = rest %% %d;", c.variable(l), c.k.Loops[l].Extent())
		c.Line("rest /= %d;", c.k.Loops[l].Extent())
	}
	for _, l := range outer {
		c.Line("(void)%s;", c.variable(l))
	}
}

// product writes a product of one block.
func (c *Kernel) product(p *product.Product, part int) {
	left, right := p.K.Operands[p.C.Left], p.K.Operands[p.C.Right]
	stored := c.e.W.Stored(p.D)
	c.e.Raw(left.Buffer)
	slot := p.Slot
	if p.Pack.Right == tile.Unpacked {
		c.e.Raw(right.Buffer)
		slot = c.e.Slot(right.Buffer)
	}
	c.Open("{")
	c.Line("const tapc_part *const part = parts + %d;", part)
	c.Line("const %s *left = b[%d]; // %s", stored, c.e.Slot(left.Buffer), left.Name)
	c.Line("const %s *right = b[%d]; // %s", stored, slot, right.Name)
	for _, a := range p.Batch {
		c.Line("const int64_t %s = %s;", a.Variable, c.variable(a.Inner()))
	}
	c.Line("const int64_t j0 = 0, j1 = %d;", p.C.Col.Extent)
	c.Line("%s(void)part;", p.Voids())
	p.Tiles()
	c.Close()
}

// run writes the function that carries out the kernel.
func (c *Kernel) run() {
	c.Line("")
	c.e.Open(c.Text, c.name)
	c.Line("void *table[%d] = {0};", c.tableEnd())
	c.Line("__builtin_memcpy(table, b, %d * sizeof *b);", c.table)
	for i, p := range c.products {
		if p.Pack.Right == tile.UpFront {
			c.Line("table[%d] = (char *)b[%d] + %d;", p.Slot, c.panels, c.packed[i])
		}
	}
	outer, several := c.outer(), c.packedLoops()
	all, inner := c.extent(outer[:several]), c.extent(outer[several:])
	groups := min(all, c.d.groups())
	c.Open("for (int64_t g = 0; g < %d; g += %d) {", all, groups)
	c.Line("const int64_t groups = %d - g < %d ? %d - g : %d;", all, groups, all, groups)
	c.Line("tapc_part parts[2] = {{table, g, 0, %d}, {table, g, 0, %d}};", c.products[0].C.Col.Extent, c.products[1].C.Col.Extent)
	for i, p := range c.products {
		if p.Pack.Right != tile.UpFront {
			continue
		}
		here := "groups"
		if !c.d.together() {
			here = fmt.Sprint(p.Outer)
		}
		if p.Outer == 1 { // every group has the same panels
			here = "1"
		}
		c.parallel(fmt.Sprintf("%s * %d", here, p.PanelsOf(p.C.Col.Extent)), []string{"first_pack", "last_pack"}[i], fmt.Sprintf("parts + %d", i),
			unit.Each(float64(p.Length*tile.PanelBytes)/unit.PackRate, 1))
	}
	c.parallel(fmt.Sprintf("groups * %d", inner*c.blocks()), "task", "parts", unit.Each(c.e.Nanoseconds(c.k, unit.TileRate*float64(c.products[0].N)), all*inner*c.blocks()))
	c.Close(2)
}

// parallel writes the region of n calls of one of the kernel's functions.
func (c *Kernel) parallel(n, function, ctx, each string) {
	unit.Region(c.Text, c.d.threads, n, each, fmt.Sprintf("%s_%s", c.name, function), ctx)
}
