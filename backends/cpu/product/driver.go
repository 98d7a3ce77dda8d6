package product

import (
	"strings"

	"tensortapestry.org/tapc/backends/cnest"
	"tensortapestry.org/tapc/backends/cpu/blocking"
	"tensortapestry.org/tapc/backends/cpu/micro"
	"tensortapestry.org/tapc/backends/cpu/point"
	"tensortapestry.org/tapc/backends/cpu/unit"
	"tensortapestry.org/tapc/backends/cpu/vector"
	"tensortapestry.org/tapc/backends/tree"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
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
		return "pack", unit.Each(float64(p.Length*tile.PanelBytes)/unit.PackRate, 1)
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
	return known && point.VectorKernel(k, buffers, aside)
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

// Functions writes what tasks call: the multiplication of tiles, and the packing of operands.
func (p *Product) Functions() {
	p.Finish(p.C.Transposed)
	EachSize(p.Cut.TileRows, p.C.Row.Extent, func(rows int64) {
		EachSize(p.Cut.TileCols, p.C.Col.Extent, func(cols int64) {
			p.TileFunction(rows, cols)
			if p.Cut.Groups > 0 {
				joinFunction(p, rows, cols)
			}
		})
	})
	if p.C.Computed != nil && (p.Pack.Right == tile.UpFront || p.Pack.Right == tile.PerMacroTile) {
		computedFunction(p)
	}
	if p.C.Transposed {
		p.TransposeSums(p.D, p.element())
	}
}

// Finish writes the function of the kernel's statements on a vector of sums: of columns, or of rows.
func (p *Product) Finish(ofRows bool) {
	v := p.E.V
	at := &point.Point{V: v, K: p.K, Views: p.C.Views, Axes: p.Places(), N: p.N, Count: "n", Locals: map[int]vector.Value{},
		Sums: map[*scalar.Expr]vector.Value{p.C.Sum: {Text: "sum", Type: p.D}}}
	at.Along = len(at.Axes) - 1
	if ofRows {
		at.Along--
	}
	if p.Seldom != nil {
		seldomFunctions(p, at.Axes, at.Along)
	}
	Epilogue(p.Text, p.E, at, p.Name+"_finish", p.aside()...)
	first := 0
	if s := p.Seldom; s != nil {
		at.Statements(p.Text, 0, s.Statement)
		at.Locals[s.Statement] = seldomValue(at, p.Text, p.Name, p.Coordinates(""), s)
		first = s.Statement + 1
	}
	at.Statements(p.Text, first, len(p.K.Statements))
	p.Close()
}

// Epilogue opens the function of a kernel's statements on a vector of sums, which an expression gives: the first of those in which operands may
// be read aside from there.
func Epilogue(t *cnest.Text, e *unit.Unit, at *point.Point, name string, aside ...*scalar.Expr) {
	t.Open("\nTAPC_FN void %s(void *const *b%s, %s sum, int n) {", name, point.Coordinates(at.Axes, "int64_t "), at.V.Type(at.Sums[aside[0]].Type, at.N))
	var used []int
	for i, o := range at.K.Operands {
		if o.Mode == schedule.Write || nest.ReadsBeside(at.K, i, aside...) {
			used = append(used, i)
		}
	}
	point.Pointers(t, e, at.K, used)
	t.Line("%s(void)n;", point.Voids(at.Axes))
}
