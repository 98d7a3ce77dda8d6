package propagate

import (
	"fmt"
	"math/big"
	"slices"

	"tensortapestry.org/tapc/dialects/application/planfile"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/zspace"
)

// Transfer is what devices need of a tensor for an operation and do not hold, or what they are to hold of its result and did not compute. Bytes are those
// that arrive at all devices. A halo needs no other layout.
type Transfer struct {
	Operation, Tensor string
	From, To          string // layouts
	Bytes             *big.Int
	Halo              bool
	Reason            string
	At                diag.Location
	Notes             []diag.Note // the annotations that do not agree
}

// Diagnostic says it to the user.
func (t *Transfer) Diagnostic(s diag.Severity) diag.Diagnostic {
	code, what := "TAP0843", "reshards"
	if t.Halo {
		code, what = "TAP0844", "exchanges halos of"
	}
	return diag.Diagnostic{Code: code, Constraint: constraint, Severity: s, Location: t.At, Notes: t.Notes,
		Message: fmt.Sprintf("%s %s %s: %s → %s, %v bytes: %s", t.Operation, what, t.Tensor, t.From, t.To, t.Bytes, t.Reason)}
}

// transfers compares what each device holds of tensors with what its blocks of operations select; operations that the plan cuts by themselves are left out.
func (p *propagation) transfers() (list []Transfer, err error) {
	for _, o := range p.ops {
		if p.cutOtherwise(o) {
			continue
		}
		for i := range o.operands {
			x := &o.operands[i]
			bytes, err := p.missing(o, x)
			if err != nil {
				return nil, err
			}
			if bytes.Sign() > 0 {
				list = append(list, p.transfer(o, x, bytes))
			}
		}
	}
	return list, nil
}

// cutOtherwise says whether the plan says how an operation is cut, so that what its parts select is not known here.
func (p *propagation) cutOtherwise(o *operation) bool {
	kernel := o.n.Body.(*tensorops.Operation).Kernel
	return slices.ContainsFunc(p.plan.Cuts, func(c planfile.Cut) bool { return c.Target == o.n.Label || c.Target == kernel })
}

// missing gives the bytes of an operand that devices need and do not have.
func (p *propagation) missing(o *operation, x *operand) (*big.Int, error) {
	l, total := p.tensors[x.sel.Tensor], new(big.Int)
	for d := range p.plan.Mesh.Devices() {
		block, err := p.part(o.index, o.axes, d)
		if err != nil {
			return nil, err
		}
		have, err := p.part(l.box, l.dims, d)
		if err != nil {
			return nil, err
		}
		need, err := x.boxOf(block)
		if err != nil {
			return nil, err
		}
		if x.out {
			need, have = have, need
		}
		total.Add(total, need.BigSize())
		if both, ok := need.Intersect(have); ok {
			total.Sub(total, both.BigSize())
		}
	}
	bits := tensorops.TensorOf(p.g, x.sel.Tensor).Type().Bits()
	return total.Mul(total, big.NewInt(int64(bits+7)/8)), nil
}

// part gives the part of a box that a device has.
func (p *propagation) part(box zspace.Range, dims []planfile.Axes, device int64) (zspace.Range, error) {
	at := make([]int64, len(p.plan.Mesh)) // its place on each axis
	for i, a := range slices.Backward(p.plan.Mesh) {
		at[i], device = device%a.Size, device/a.Size
	}
	for k, axes := range dims {
		n := int64(0)
		for _, a := range axes {
			n = n*p.plan.Mesh[a].Size + at[a]
		}
		if len(axes) == 0 {
			continue
		}
		parts, err := box.SplitCount(k, p.plan.Mesh.Parts(axes))
		if err != nil {
			return box, err
		}
		box = parts[n]
	}
	return box, nil
}

// transfer says why an operand moves.
func (p *propagation) transfer(o *operation, x *operand, bytes *big.Int) Transfer {
	l, mesh := p.tensors[x.sel.Tensor], p.plan.Mesh
	to := make([]planfile.Axes, len(l.dims))
	for k, j := range x.dims {
		if j >= 0 {
			to[k] = o.axes[j]
		}
	}
	t := Transfer{Operation: p.g.Name(o.n.ID), Tensor: p.g.Name(x.sel.Tensor), From: mesh.Text(l.dims), To: mesh.Text(to), Bytes: bytes,
		Halo: slices.EqualFunc(l.dims, to, slices.Equal[planfile.Axes]), At: p.g.At(o.n, "")}
	why := "parts read cells beyond those that they hold"
	if !t.Halo {
		why = p.why(o, x, to, &t)
	}
	if t.Reason = why; x.out {
		t.From, t.To = t.To, t.From
	}
	return t
}

// why finds the first axis on which a tensor and an operation do not agree, and notes the annotations that put it where it is.
func (p *propagation) why(o *operation, x *operand, to []planfile.Axes, t *Transfer) string {
	l, mesh := p.tensors[x.sel.Tensor], p.plan.Mesh
	note := func(axis, by int, where string) {
		a := p.plan.Tensors[by]
		t.Notes = append(t.Notes, diag.Note{Location: a.From, Message: fmt.Sprintf("the annotation of %s puts axis %s on %s", a.Tensor, mesh[axis].Name, where)})
	}
	for k := range to {
		for _, a := range l.dims[k] {
			if slices.Contains(to[k], a) {
				continue
			}
			note(a, l.by[a], fmt.Sprintf("dimension %d of %s", k, t.Tensor))
			if j := slices.IndexFunc(o.axes, func(x planfile.Axes) bool { return slices.Contains(x, a) }); j >= 0 {
				note(a, o.by[a], fmt.Sprintf("dimension %s of %s", o.names[j], t.Operation))
				return fmt.Sprintf("axis %s cuts dimension %s there", mesh[a].Name, o.names[j])
			}
			switch j := x.dims[k]; {
			case !x.sel.Range().Equal(l.box):
				return "a part of the tensor is selected, whose cuts are not the tensor's"
			case j < 0:
				return fmt.Sprintf("dimension %d of the tensor is none of the index, so all of it is needed", k)
			case len(o.axes[j]) > 0:
				note(o.axes[j][0], o.by[o.axes[j][0]], fmt.Sprintf("dimension %s of %s", o.names[j], t.Operation))
				return fmt.Sprintf("dimension %s is cut along %s there", o.names[j], mesh.Names(o.axes[j]))
			default:
				return fmt.Sprintf("dimension %s has fewer cells than axis %s has devices", o.names[j], mesh[a].Name)
			}
		}
	}
	for k := range to {
		for _, a := range to[k] {
			if !slices.Contains(l.dims[k], a) {
				note(a, o.by[a], fmt.Sprintf("dimension %d of it in %s", k, t.Operation))
				if l.annotated > 0 {
					from := p.plan.Tensors[l.annotated-1]
					t.Notes = append(t.Notes, diag.Note{Location: from.From, Message: "the annotation of " + from.Tensor + " keeps the axis away"})
				}
				return fmt.Sprintf("the tensor does not lie along axis %s", mesh[a].Name)
			}
		}
	}
	return "its axes are in another order"
}
