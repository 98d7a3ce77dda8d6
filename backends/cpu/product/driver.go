package product

import (
	"strings"

	"tensortapestry.org/tapc/backends/cnest"
	"tensortapestry.org/tapc/backends/cpu/blocking"
	"tensortapestry.org/tapc/backends/cpu/micro"
	"tensortapestry.org/tapc/backends/cpu/trees"
	"tensortapestry.org/tapc/backends/cpu/unit"
	"tensortapestry.org/tapc/backends/cpu/vector"
	"tensortapestry.org/tapc/backends/tree"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/passes/tile"
)

// New prepares a contraction that is carried out as a config says, which has been checked.
func New(e *unit.Unit, name string, k *schedule.Kernel, c *nest.Contraction, d blocking.Decided) *Product {
	p := Of(e, name, k, c, d)
	if p.Pack.Right == tile.Prepacked {
		p.Slot = e.Panels(k.Operands[c.Right].Buffer, p.Layout(c.Right, c.Col, p.Panel))
	}
	if p.Pack.Left == tile.Prepacked {
		p.left = e.Panels(k.Operands[c.Left].Buffer, p.Layout(c.Left, c.Row, tile.RowPanel))
	}
	return p
}

// Constant gives the place in the kernel's table of an operand that was packed when the program was built.
func (p *Product) Constant(operand int) int {
	if operand == p.C.Left {
		return p.left
	}
	return p.Slot
}

// Region says what the tasks of a region are called, and how many picoseconds each takes.
func (p *Product) Region(loop *tree.For) (name, picoseconds string) {
	is, n := func(name string) bool { return strings.Contains(loop.Var.Name, name) }, loop.Trips()
	each := func(bytes int64) string { return unit.Each(float64(bytes)/unit.PackRate, n) }
	switch {
	case is("several"):
		return "pack_rows", each(p.Layout(p.C.Left, p.C.Row, tile.RowPanel).Bytes())
	case is("row"):
		return "pad", each(p.C.Padded.Elements() * int64(p.D.Size()))
	case is("panel"):
		return "pack", unit.Each(float64(p.Length*schedule.PanelBytes)/unit.PackRate, 1)
	case is("join"):
		return "join", unit.Each(float64(blocking.GroupBytes(p.Blocking, p.Cut))/unit.PackRate, p.Indices())
	}
	return "task", unit.Each(p.E.Nanoseconds(p.K, unit.TileRate*float64(p.N)), p.Indices()*max(1, p.Cut.Groups))
}

// Fits says whether a contraction can be written, if it is scheduled as one: there is a micro-kernel for its sums, and there are vectors of all
// that is done with them.
func Fits(k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer, c *nest.Contraction) bool {
	aside := -1
	switch {
	case c.Window != nil:
		aside = c.Right
	case c.Padded != nil:
		aside = c.Left
	}
	_, known := micro.Of(c.Sum.Type)
	return known && vector.VectorKernel(k, buffers, aside)
}

// Of prepares a contraction, all but where it reads its operands.
func Of(e *unit.Unit, name string, k *schedule.Kernel, c *nest.Contraction, d blocking.Decided) *Product {
	return &Product{Text: new(cnest.Text), E: e, Name: name, Blocking: blocking.New(e.Target, k, c, d)}
}

// Templates writes the functions of the leaves of the product's tree.
func (p *Product) Templates() string {
	p.Functions()
	return p.String()
}

// Call writes functions that leaves call.
func (p *Product) Call(functions []*tree.Func) {
	for _, f := range functions {
		trees.Function(p.Text, p.E, p.Name, p.K, f)
	}
}

// Functions writes what tasks call: the multiplication of tiles, and the packing of operands.
func (p *Product) Functions() {
	p.Call(Functions(p.Blocking))
	EachSize(p.Cut.TileRows, p.C.Row.Extent, func(rows int64) {
		EachSize(p.Cut.TileCols, p.C.Col.Extent, func(cols int64) {
			p.TileFunction(rows, cols)
			if p.Cut.Groups > 0 {
				joinFunction(p, rows, cols)
			}
		})
	})
	if p.C.Transposed {
		p.TransposeSums(p.D, p.element())
	}
}
