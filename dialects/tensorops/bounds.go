package tensorops

import (
	"fmt"
	"slices"

	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/check"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/zspace"
)

// Check is a condition on values that a program holds its run to: indices are not less than Low and less than High. Kernels are
// total, whatever the indices; a check ends the run with an error. Place, an int64 without dimensions, is where among the indices that
// are looked at the first is that does not keep to it, or their number; Index is the value there. The indices that are looked at are
// those of a tensor of the given Shape, counted row-major, from Offset on in steps of Stride.
type Check struct {
	Op, Place, Index ir.NodeID
	Name             string // of the tensor, as a user knows it
	Shape            []int64
	Low, High        int64
	Stride, Offset   int64
}

// checkKernel is the operation that states a check. It has no outputs, and passes leave it and what it takes alone.
const checkKernel = "check"

// IsCheck says whether an operation states a check.
func (o *Operation) IsCheck() bool { return base(o.Kernel) == checkKernel }

// Operation gives the operation that states a check, without its inputs.
func (c *Check) Operation() *Operation {
	return &Operation{Kernel: "op:" + checkKernel, Params: ir.Attrs{}.With("of", ir.StringAttr(c.Name)).With("shape", ir.IntsAttr(c.Shape...)).
		With("low", ir.IntAttr(c.Low)).With("high", ir.IntAttr(c.High)).With("stride", ir.IntAttr(c.Stride)).With("offset", ir.IntAttr(c.Offset))}
}

// Count is the number of indices that are looked at.
func (c *Check) Count() int64 {
	n := int64(1)
	for _, s := range c.Shape {
		n *= s
	}
	return n / c.Stride
}

// Fault says what is wrong, given the values of Place and Index; nil if nothing is.
func (c *Check) Fault(place, index int64) error {
	if place >= c.Count() {
		return nil
	}
	at := make([]int64, len(c.Shape))
	rest := place*c.Stride + c.Offset
	for d := len(at) - 1; d >= 0; d-- {
		at[d], rest = rest%c.Shape[d], rest/c.Shape[d]
	}
	return fmt.Errorf("%s: index %d at %v is out of range: expected %d to %d", c.Name, index, zspace.Point(at), c.Low, c.High-1)
}

// checkOf reads an operation that states a check; the diagnostics say what is wrong with one that is malformed.
func checkOf(g *ir.Graph, id ir.NodeID) (Check, diag.List) {
	n, op := g.Node(id), OperationOf(g, id)
	c := Check{Op: id}
	bad := func(field, expected, found string) (Check, diag.List) {
		d := diag.Errorf("TAP0165", InterfaceConstraint, g.At(n, field), "%s does not say what it checks", g.Name(id))
		return c, diag.List{d.Want(expected, found)}
	}
	for _, p := range []struct {
		port string
		to   *ir.NodeID
	}{{"place", &c.Place}, {"index", &c.Index}} {
		port := op.Inputs.Get(p.port)
		if port == nil || len(port.Sel) != 1 || op.Inputs.Len() != 2 || op.Outputs.Len() != 0 {
			return bad("/body", `the inputs "place" and "index"`, fmt.Sprintf("%d inputs, %d outputs", op.Inputs.Len(), op.Outputs.Len()))
		}
		*p.to = port.Sel[0].Tensor
		if t := TensorOf(g, *p.to); t == nil || t.DType != "int64" || t.Range.Rank() != 0 {
			return bad(check.PortField("inputs", p.port, 0), "an int64 without dimensions", g.Name(*p.to))
		}
	}
	name, _ := op.Params.Get("of")
	shape, _ := op.Params.Get("shape")
	c.Name = name.Str
	var whole bool
	c.Shape, whole = shape.Ints()
	known := 2
	for _, p := range []struct {
		name string
		to   *int64
	}{{"low", &c.Low}, {"high", &c.High}, {"stride", &c.Stride}, {"offset", &c.Offset}} {
		if v, ok := op.Params.Get(p.name); ok && v.Kind == ir.AttrInt {
			*p.to, known = v.Int, known+1
		}
	}
	r, err := zspace.FromShape(c.Shape...)
	if err == nil {
		_, err = r.Size()
	}
	if c.Name == "" || !whole || known != 6 || len(op.Params) != 6 || err != nil || c.Offset < 0 || c.Offset >= c.Stride {
		return bad("/body/params", "of, shape, and the integers low, high, stride and offset, which is less than stride", fmt.Sprintf("%d parameters", len(op.Params)))
	}
	return c, nil
}

// moving are the kernels whose results hold elements of their one input, and nothing else.
var moving = []string{"cast", "copy", "first_outside", "permute", "reshape", "select", "slice", "squeeze", "unsqueeze"}

// Limits gives, for inputs whose elements are indices that the program checks, what they must be less than.
func (p *Program) Limits(g *ir.Graph) map[ir.NodeID]int64 {
	limits := map[ir.NodeID]int64{}
	if len(p.Checks) == 0 {
		return limits
	}
	var input ir.NodeSet
	for _, x := range p.Inputs {
		input.Add(x.Tensor)
	}
	flow := ir.NewFlow(g, OperationKind)
	for _, c := range p.Checks {
		at := c.Place
		for made := flow.Producers(at); !input.Has(at) && len(made) == 1; made = flow.Producers(at) {
			op := OperationOf(g, made[0])
			if !slices.Contains(moving, base(op.Kernel)) || op.Inputs.Len() != 1 {
				break
			}
			at = op.Inputs.At(0).Sel[0].Tensor
		}
		if high, ok := limits[at]; input.Has(at) && c.High > 0 && (!ok || c.High < high) {
			limits[at] = c.High
		}
	}
	return limits
}
