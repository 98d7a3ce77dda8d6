package mapping

import (
	"fmt"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir/scalar"
)

// inRange gives a tensor of indices as it is and has the program check, in every run in which the operation that is mapped is computed,
// that none is less than low or not less than high: in_range(indices, low, high), where the limits are numbers, or lists of one for each
// place along the last dimension. Indices that are known are checked at once.
func inRange(e *env, a []Value) (Value, error) {
	t := a[0].Tensor
	if a[0].Kind != TensorKind || !t.DType.IsInt() {
		return Value{}, fmt.Errorf("expected indices, found %v", a[0].Kind)
	}
	if e.m.opt.Unchecked || elements(t.Shape) == 0 {
		return a[0], nil
	}
	low, high := a[1].List, a[2].List
	if a[1].Kind != List {
		low, high = []Value{a[1]}, []Value{a[2]}
	}
	lows, err := integers(low)
	if err != nil {
		return Value{}, err
	}
	highs, err := integers(high)
	if err != nil || len(highs) != len(lows) || a[1].Kind == List && (len(t.Shape) == 0 || t.Shape[len(t.Shape)-1] != int64(len(lows))) {
		return Value{}, fmt.Errorf("limits do not agree with indices of shape %s: %v", describeShape(t.Shape), err)
	}
	for i := range lows {
		c := tensorops.Check{Name: e.m.checkedName(t), Shape: t.Shape, Low: lows[i], High: highs[i], Stride: int64(len(lows)), Offset: int64(i)}
		if t.Data != nil {
			err = knownFault(c, t.Data)
		} else {
			err = e.m.check(c, a[0], a[1].Kind == List)
		}
		if err != nil {
			return Value{}, err
		}
	}
	return a[0], nil
}

// checkedName is what a user knows indices by.
func (m *mapper) checkedName(t *Tensor) string {
	switch {
	case t.from == nil && t.Data == nil:
		return fmt.Sprintf("input %s", t.title())
	case t.Label != "":
		return fmt.Sprintf("tensor %s", t.title())
	}
	return "the indices of " + m.at.op.Title()
}

// knownFault checks indices that are known.
func knownFault(c tensorops.Check, d *Data) error {
	b, err := d.bytes()
	if err != nil {
		return err
	}
	size := int64(d.DType.Size())
	for i := range c.Count() {
		x := scalar.Decode(d.DType, b[(i*c.Stride+c.Offset)*size:]).I
		if x < c.Low || x >= c.High {
			return refuse("%v", c.Fault(i, x))
		}
	}
	return nil
}

// check has the program check indices: all, or those at one place along the last dimension.
func (m *mapper) check(c tensorops.Check, indices Value, column bool) error {
	var err error
	if column {
		last := int64(len(c.Shape) - 1)
		if indices, err = m.apply("select", []Attr{{"axis", IntValue(last)}, {"index", IntValue(c.Offset)}}, indices); err != nil {
			return err
		}
	}
	place, err := m.apply("first_outside", []Attr{{"low", IntValue(c.Low)}, {"high", IntValue(c.High)}}, indices)
	if err != nil {
		return err
	}
	index, err := indexAt(m, indices, place, c.Count())
	if err != nil {
		return err
	}
	op := c.Operation()
	m.nodes = append(m.nodes, &node{kernel: op.Kernel, params: op.Params, rule: m.rule, pos: m.pos, check: true, in: []portTensors{
		{port: "index", tensors: []*Tensor{index.Tensor}}, {port: "place", tensors: []*Tensor{place.Tensor}}}})
	return nil
}

// indexAt reads one of n indices at a place counted row-major; 0 behind the last.
func indexAt(m *mapper, indices, place Value, n int64) (Value, error) {
	index, err := m.apply("reshape", []Attr{{"shape", ListValue(IntValue(n))}}, indices)
	if err == nil {
		index, err = m.apply("gather", []Attr{{"axis", IntValue(0)}}, index, place)
	}
	if err == nil && index.Tensor.DType != scalar.Int64 {
		index, err = m.apply("cast", []Attr{{"dtype", StringValue("int64")}}, index)
	}
	return index, err
}

// guard says which values the checks among nodes stand before: they are made if one of these is computed.
func guard(nodes []*node, out []Value) {
	for _, n := range nodes {
		if !n.check || n.guards != nil {
			continue
		}
		for _, v := range out {
			if v.Kind == TensorKind && v.Tensor.from != nil {
				n.guards = append(n.guards, v.Tensor.from)
			}
		}
	}
}
