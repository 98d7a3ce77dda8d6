package propagate

import (
	"fmt"
	"slices"

	"tensortapestry.org/tapc/cost/reshard"
	"tensortapestry.org/tapc/dialects/application/cut"
	"tensortapestry.org/tapc/dialects/application/planfile"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/instance"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/permission"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/zspace"
)

// constraint is the id under which the pass reports.
const constraint = "propagate"

// layout is how a tensor lies on the mesh. A dimension that is open may have axes added. By says for each axis which annotation put it there.
type layout struct {
	box       zspace.Range
	dims      []planfile.Axes
	partial   planfile.Axes // along which it is not combined yet
	open      []bool
	by        map[int]int
	annotated int // the number of its annotation, from 1
}

// operand is a selection of an operation. Dims says for each dimension of the tensor which dimension of the operation goes along it, or -1.
type operand struct {
	out   bool
	port  string
	entry int
	sel   ir.Selection
	boxOf func(block zspace.Range) (zspace.Range, error) // what a block of the operation's dimensions selects
	dims  []int
}

// operation is one whose dimensions get axes: those of its index, and behind them those that it reduces and that give partial results.
type operation struct {
	n        *ir.Node
	rank     int          // of the index
	box      zspace.Range // of the index and the reduced dimensions
	names    []string
	operands []operand
	carries  []bool          // which dimensions may have axes
	ordered  bool            // some reduced dimension may not, for the order in which it is combined shows
	axes     []planfile.Axes // of each dimension
	by       map[int]int     // the annotation of each axis
	derived  bool            // it was signed for this
	in       *instance.Instance
	combine  scalar.Op     // by which its partial results are combined
	wide     int           // where it goes on with what all its partial results make: how many times as large as the elements of its results their elements are; 0 of others
	passes   planfile.Axes // along which its inputs are partial, and its results for that
	joined   bool          // what it adds to partial inputs joins the first part
}

// index is the box of an operation's index.
func (o *operation) index() zspace.Range {
	return zspace.Range{Start: o.box.Start[:o.rank], End: o.box.End[:o.rank]}
}

// reducing gives the axes on dimensions that an operation reduces.
func (o *operation) reducing() (axes planfile.Axes) {
	for _, d := range o.axes[o.rank:] {
		axes = append(axes, d...)
	}
	return axes
}

// gives says along which axes the results of an operation are partial.
func (o *operation) gives() planfile.Axes { return append(o.reducing(), o.passes...) }

// propagation is the work on one graph.
type propagation struct {
	g        *ir.Graph
	lib      *kernels.Library
	allow    permission.Set
	split    Partial
	plan     *planfile.Plan
	tensors  map[ir.NodeID]*layout
	ops      []*operation // in an order of their dependences
	producer map[ir.NodeID]*operation
}

// Partial cuts one operation along the dimensions which it reduces and a cut names, and gives the operations with partial results and the rest of the cut
// for these; no operations if it names none.
type Partial func(g *ir.Graph, lib *kernels.Library, allow permission.Set, n *ir.Node, c cut.Cut) ([]*ir.Node, cut.Cut, error)

// cutOtherwise says whether the plan says how an operation is cut, so that what its parts select is not known here.
func (p *propagation) cutOtherwise(o *operation) bool {
	return cutBy(p.plan.Cuts, o.n.Label, o.n.Body.(*tensorops.Operation).Kernel) != nil
}

// cutBy gives the last of some cuts that names an operation; nil if none does.
func cutBy(cuts []planfile.Cut, label, kernel string) *planfile.Cut {
	for i := len(cuts) - 1; i >= 0; i-- {
		if c := &cuts[i]; c.Target == label || c.Target == kernel {
			return c
		}
	}
	return nil
}

// ways gives how an operand of an operation gets from where its tensor lies to where the operation reads it, or from where that gives it to a layout.
func (p *propagation) ways(o *operation, x *operand, tensor reshard.Layout) [][]reshard.Step {
	there := p.there(o, x)
	if x.out {
		there.Partial, there.Wide = o.gives(), o.wider()
		return reshard.Ways(p.plan.Mesh, p.bytes(x), there, tensor)
	}
	there.Partial = tensor.Partial // what is not passed on was combined where it was computed
	return reshard.Ways(p.plan.Mesh, p.bytes(x), tensor, there)
}

// there is how an operation's dimensions cut what it selects.
func (p *propagation) there(o *operation, x *operand) reshard.Layout {
	l := reshard.Layout{Dims: make([]planfile.Axes, len(x.dims))}
	for k, j := range x.dims {
		if j >= 0 {
			l.Dims[k] = o.axes[j]
		}
	}
	return l
}

// bytes is the size of what an operand selects.
func (p *propagation) bytes(x *operand) float64 {
	n, _ := x.sel.Range().BigSize().Float64()
	return n * float64(p.size(x))
}

// size is that of an element, in bytes.
func (p *propagation) size(x *operand) int {
	return (tensorops.TensorOf(p.g, x.sel.Tensor).Type().Bits() + 7) / 8
}

// wider is how many times as large as the elements of an operation's results those of its partial results are.
func (o *operation) wider() int {
	if len(o.reducing()) == 0 {
		return 1
	}
	return max(o.wide, 1)
}

// text writes a layout: "[t, -]", or "[-, -] partial along t".
func (p *propagation) text(l reshard.Layout) string {
	text := p.plan.Mesh.Text(l.Dims)
	if len(l.Partial) > 0 {
		text += fmt.Sprintf(" partial along %s", p.plan.Mesh.Names(l.Partial))
	}
	return text
}

func first(ways [][]reshard.Step) []reshard.Step {
	if len(ways) == 0 {
		return nil
	}
	return ways[0]
}

func contains(axes, others planfile.Axes) bool {
	return !slices.ContainsFunc(others, func(a int) bool { return !slices.Contains(axes, a) })
}

func without(axes, others planfile.Axes) (list planfile.Axes) {
	for _, a := range axes {
		if !slices.Contains(others, a) {
			list = append(list, a)
		}
	}
	return list
}

// part gives the part of a box that a device has.
func part(mesh planfile.Mesh, box zspace.Range, dims []planfile.Axes, device int64) (zspace.Range, error) {
	for k, axes := range dims {
		if len(axes) == 0 {
			continue
		}
		parts, err := box.SplitCount(k, mesh.Parts(axes))
		if err != nil {
			return box, err
		}
		box = parts[mesh.Place(axes, device)]
	}
	return box, nil
}
