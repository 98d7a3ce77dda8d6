package propagate

import (
	"fmt"
	"math/big"
	"slices"

	"tensortapestry.org/tapc/cost/reshard"
	"tensortapestry.org/tapc/dialects/application/planfile"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/scalar"
)

// transfers compares what each device holds of tensors with what its blocks of operations select; operations that the plan cuts by themselves are left out.
// What several operations need alike is brought once.
func (m *mover) transfers() (list []Transfer, err error) {
	type same struct {
		tensor ir.NodeID
		to     string
	}
	seen := map[same]int{}
	for _, o := range m.p.ops {
		if m.p.cutOtherwise(o) {
			continue
		}
		for i := range o.operands {
			x := &o.operands[i]
			bytes, err := m.moves(o, x)
			if err != nil {
				return nil, err
			}
			if bytes.Sign() == 0 {
				continue
			}
			t := m.transfer(o, x, bytes)
			key := same{x.sel.Tensor, fmt.Sprint(t.To, t.Halo, bytes)}
			if at, ok := seen[key]; ok && !x.out {
				list[at].Also, list[at].Readers = append(list[at].Also, t.Operation), append(list[at].Readers, o.n.ID)
				continue
			}
			if !x.out {
				seen[key] = len(list)
			}
			if t.Ways, err = m.price(o, x, &t); err != nil {
				return nil, err
			}
			list = append(list, t)
		}
	}
	return list, nil
}

// moves gives the bytes of an operand that arrive somewhere: those that devices need and do not have, and those of what is combined.
func (m *mover) moves(o *operation, x *operand) (*big.Int, error) {
	l := m.p.tensors[x.sel.Tensor]
	if gives := o.gives(); x.out && !contains(l.partial, gives) {
		bytes := reshard.Arrive(m.p.plan.Mesh, first(m.p.ways(o, x, reshard.Layout{Dims: l.dims, Partial: l.partial})))
		n, _ := big.NewFloat(bytes).Int(nil)
		return n, nil
	}
	return m.missing(o, x)
}

// missing gives the bytes of an operand that devices need and do not have.
func (m *mover) missing(o *operation, x *operand) (*big.Int, error) {
	l, total := m.p.tensors[x.sel.Tensor], new(big.Int)
	for d := range m.p.plan.Mesh.Devices() {
		block, err := part(m.p.plan.Mesh, o.box, o.axes, d)
		if err != nil {
			return nil, err
		}
		have, err := part(m.p.plan.Mesh, l.box, l.dims, d)
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
	return total.Mul(total, big.NewInt(int64(m.p.size(x)))), nil
}

// transfer says why an operand moves.
func (m *mover) transfer(o *operation, x *operand, bytes *big.Int) Transfer {
	l := m.p.tensors[x.sel.Tensor]
	here, there := reshard.Layout{Dims: l.dims, Partial: l.partial}, m.p.there(o, x)
	t := Transfer{Operation: m.p.g.Name(o.n.ID), Tensor: m.p.g.Name(x.sel.Tensor), Readers: []ir.NodeID{o.n.ID}, Of: x.sel.Tensor, Result: x.out, Bytes: bytes, At: m.p.g.At(o.n, "")}
	combined := without(o.gives(), l.partial)
	switch {
	case x.out && len(combined) > 0:
		there.Partial = o.gives()
		t.Reason = m.combining(o, combined)
	default:
		there.Partial = here.Partial
		if t.Halo = slices.EqualFunc(l.dims, there.Dims, slices.Equal[planfile.Axes]); t.Halo {
			t.Reason = "parts read cells beyond those that they hold"
		} else {
			t.Reason = m.why(o, x, there.Dims, &t)
		}
	}
	if t.Held = m.p.bytes(x); x.out && len(combined) > 0 {
		t.Held *= float64(o.wider())
	}
	for _, axes := range there.Dims {
		t.Held /= float64(m.p.plan.Mesh.Parts(axes))
	}
	if t.From, t.To = m.p.text(here), m.p.text(there); x.out {
		t.From, t.To = t.To, t.From
	}
	return t
}

// combining says why partial results are combined where they are.
func (m *mover) combining(o *operation, axes planfile.Axes) string {
	by := scalar.MonoidName(o.combine)
	for j, d := range o.axes[o.rank:] {
		if len(d) > 0 {
			text := fmt.Sprintf("parts of dimension %s are combined by %s", o.names[o.rank+j], by)
			switch {
			case o.wide > 1:
				text += ", and rounded once for all"
			case o.wide == 1:
				text += ", and the operation goes on with what all of them make"
			}
			return text
		}
	}
	text := fmt.Sprintf("what the operation read is partial along %s, combined by %s", m.p.plan.Mesh.Names(axes), by)
	if o.joined {
		text += ", and what it adds to that joins the first part"
	}
	return text
}

// why finds the first axis on which a tensor and an operation do not agree, and notes the annotations that put it where it is.
func (m *mover) why(o *operation, x *operand, to []planfile.Axes, t *Transfer) string {
	l, mesh := m.p.tensors[x.sel.Tensor], m.p.plan.Mesh
	note := func(axis, by int, where string) {
		a := m.p.plan.Tensors[by]
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
			case j < 0 && o.ordered:
				return fmt.Sprintf("dimension %d of the tensor is reduced, and the permission reassociate is not given", k)
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
					from := m.p.plan.Tensors[l.annotated-1]
					t.Notes = append(t.Notes, diag.Note{Location: from.From, Message: "the annotation of " + from.Tensor + " keeps the axis away"})
				}
				return fmt.Sprintf("the tensor does not lie along axis %s", mesh[a].Name)
			}
		}
	}
	return "its axes are in another order"
}
