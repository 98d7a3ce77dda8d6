package classic

import (
	"slices"

	"tensortapestry.org/tapc/frontends/foreign"
	"tensortapestry.org/tapc/frontends/mapping"
	"tensortapestry.org/tapc/frontends/mapping/expr"
	"tensortapestry.org/tapc/ir/scalar"
)

// input gives the value of the input of an operation that has one.
func input(r *mapping.Region, op *foreign.Op) (foreign.Value, error) {
	if len(op.In) != 1 {
		return foreign.Value{}, expr.Refuse("it needs one input")
	}
	return r.Value(op.In[0])
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func floatsValue(list []float64) foreign.Value {
	v := foreign.Value{Kind: foreign.List, List: []foreign.Value{}}
	for _, f := range list {
		v.List = append(v.List, foreign.FloatValue(f))
	}
	return v
}

// attrReader reads attributes of numbers; fail is the first that is not so.
type attrReader struct {
	op   *foreign.Op
	fail error
}

func (a *attrReader) ints(name string) []int64 {
	v, ok := a.op.Attr(name)
	if !ok {
		return nil
	}
	out := make([]int64, len(v.List))
	for i, x := range v.List {
		out[i] = x.Int
	}
	return out
}

// floats reads a list of numbers or a tensor.
func (a *attrReader) floats(name string) []float64 {
	v, _ := a.op.Attr(name)
	var out []float64
	if d := v.Data; v.Kind == foreign.DataKind && d != nil {
		b := d.Bytes
		if d.Reason != "" || b == nil || d.DType == scalar.Invalid {
			a.fail = expr.Refuse("the attribute %s has no data", name)
			return nil
		}
		for ; len(b) > 0; b = b[d.DType.Size():] {
			out = append(out, scalar.Decode(d.DType, b).Float())
		}
		return out
	}
	for _, x := range v.List {
		out = append(out, x.Float)
	}
	return out
}

func (a *attrReader) number(name string, missing int64) int64 {
	if v, ok := a.op.Attr(name); ok {
		return v.Int
	}
	return missing
}

// either reads a list of numbers or, for greater precision, the tensor of the name with "_as_tensor".
func (a *attrReader) either(name string) []float64 {
	if list := a.floats(name + "_as_tensor"); list != nil {
		return list
	}
	return a.floats(name)
}

// word gives the number of a string attribute in a list, the first for an attribute that is missing.
func (a *attrReader) word(name string, words ...string) int64 {
	v, ok := a.op.Attr(name)
	if !ok {
		return 0
	}
	return a.index(name, v.Str, words)
}

func (a *attrReader) index(name, word string, words []string) int64 {
	i := slices.Index(words, word)
	if i < 0 {
		a.fail = expr.Refuse("the attribute %s is %q", name, word)
	}
	return int64(i)
}

// labels gives the labels that are numbers, nil if they are strings, and how many there are.
func (a *attrReader) labels(name string) ([]int64, int64) {
	if labels := a.ints(name); labels != nil {
		return labels, int64(len(labels))
	}
	words, _ := a.op.Attr("classlabels_strings")
	return nil, int64(len(words.List))
}
