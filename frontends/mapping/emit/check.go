package emit

import (
	"fmt"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/frontends/foreign"
	"tensortapestry.org/tapc/frontends/mapping/expr"
	"tensortapestry.org/tapc/ir/scalar"
)

// InRange gives a tensor of indices as it is and has the program check, in every run in which the operation that is mapped is computed,
// that none is less than low or not less than high: in_range(indices, low, high), where the limits are numbers, or lists of one for each
// place along the last dimension. Indices that are known are checked at once.
func (p *Program) InRange(a []foreign.Value, op string, by Origin) (foreign.Value, error) {
	t := a[0].Tensor
	if a[0].Kind != foreign.TensorKind || !t.DType.IsInt() {
		return foreign.Value{}, fmt.Errorf("expected indices, found %v", a[0].Kind)
	}
	if p.Unchecked || foreign.Elements(t.Shape) == 0 {
		return a[0], nil
	}
	low, high := a[1].List, a[2].List
	if a[1].Kind != foreign.List {
		low, high = []foreign.Value{a[1]}, []foreign.Value{a[2]}
	}
	lows, err := expr.Integers(low)
	if err != nil {
		return foreign.Value{}, err
	}
	highs, err := expr.Integers(high)
	if err != nil || len(highs) != len(lows) || a[1].Kind == foreign.List && (len(t.Shape) == 0 || t.Shape[len(t.Shape)-1] != int64(len(lows))) {
		return foreign.Value{}, fmt.Errorf("limits do not agree with indices of shape %s: %v", foreign.ShapeText(t.Shape), err)
	}
	for i := range lows {
		c := tensorops.Check{Name: checkedName(t, op), Shape: t.Shape, Low: lows[i], High: highs[i], Stride: int64(len(lows)), Offset: int64(i)}
		if t.Data != nil {
			err = knownFault(c, t.Data)
		} else {
			err = p.check(c, by, a[0], a[1].Kind == foreign.List)
		}
		if err != nil {
			return foreign.Value{}, err
		}
	}
	return a[0], nil
}

// knownFault checks indices that are known.
func knownFault(c tensorops.Check, d *foreign.Data) error {
	b, err := d.Read()
	if err != nil {
		return err
	}
	size := int64(d.DType.Size())
	for i := range c.Count() {
		x := scalar.Decode(d.DType, b[(i*c.Stride+c.Offset)*size:]).I
		if x < c.Low || x >= c.High {
			return expr.Refuse("%v", c.Fault(i, x))
		}
	}
	return nil
}

// check has the program check indices: all, or those at one place along the last dimension.
func (p *Program) check(c tensorops.Check, by Origin, indices foreign.Value, column bool) error {
	var err error
	if column {
		last := int64(len(c.Shape) - 1)
		if indices, err = p.apply("select", by, []foreign.Attr{{Name: "axis", Value: foreign.IntValue(last)}, {Name: "index", Value: foreign.IntValue(c.Offset)}}, indices); err != nil {
			return err
		}
	}
	place, err := p.apply("first_outside", by, []foreign.Attr{{Name: "low", Value: foreign.IntValue(c.Low)}, {Name: "high", Value: foreign.IntValue(c.High)}}, indices)
	if err != nil {
		return err
	}
	index, err := p.indexAt(by, indices, place, c.Count())
	if err != nil {
		return err
	}
	op := c.Operation()
	p.Add(&Node{Origin: by, Kernel: op.Kernel, Params: op.Params, Check: true, In: []Port{
		{Name: "index", Tensors: []*foreign.Tensor{index.Tensor}}, {Name: "place", Tensors: []*foreign.Tensor{place.Tensor}}}})
	return nil
}

// indexAt reads one of n indices at a place counted row-major; 0 behind the last.
func (p *Program) indexAt(by Origin, indices, place foreign.Value, n int64) (foreign.Value, error) {
	index, err := p.apply("reshape", by, []foreign.Attr{{Name: "shape", Value: foreign.ListValue(foreign.IntValue(n))}}, indices)
	if err == nil {
		index, err = p.apply("gather", by, []foreign.Attr{{Name: "axis", Value: foreign.IntValue(0)}}, index, place)
	}
	if err == nil && index.Tensor.DType != scalar.Int64 {
		index, err = p.apply("cast", by, []foreign.Attr{{Name: "dtype", Value: foreign.StringValue("int64")}}, index)
	}
	return index, err
}

// Guard says which values the checks among nodes stand before: they are made if one of these is computed.
func Guard(nodes []*Node, out []foreign.Value) {
	for _, n := range nodes {
		if !n.Check || n.Guards != nil {
			continue
		}
		for _, v := range out {
			if v.Kind == foreign.TensorKind && v.Tensor.Source != nil {
				n.Guards = append(n.Guards, Maker(v.Tensor))
			}
		}
	}
}

// checkedName is what a user knows indices by.
func checkedName(t *foreign.Tensor, op string) string {
	switch {
	case t.Source == nil && t.Data == nil:
		return fmt.Sprintf("input %s", t.Title())
	case t.Label != "":
		return fmt.Sprintf("tensor %s", t.Title())
	}
	return "the indices of " + op
}
