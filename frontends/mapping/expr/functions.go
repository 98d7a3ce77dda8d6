package expr

import (
	"fmt"
	"math"
	"slices"

	"tensortapestry.org/tapc/frontends/foreign"
	"tensortapestry.org/tapc/ir/scalar"
)

// function is a built-in function of the rule language with the number of its arguments.
type function struct {
	least, most int
	call        func(e *Env, a []foreign.Value) (foreign.Value, error)
}

// functions are the built-in functions. They are total: each ends, and what it can not do it refuses.
var functions = map[string]function{
	"shape":    {1, 1, onTensor(func(t *foreign.Tensor) foreign.Value { return foreign.IntsValue(t.Shape) })},
	"rank":     {1, 1, onTensor(func(t *foreign.Tensor) foreign.Value { return foreign.IntValue(int64(len(t.Shape))) })},
	"dtype":    {1, 1, onTensor(func(t *foreign.Tensor) foreign.Value { return foreign.StringValue(t.DType.String()) })},
	"elements": {1, 1, onTensor(func(t *foreign.Tensor) foreign.Value { return foreign.IntValue(foreign.Elements(t.Shape)) })},
	"known":    {1, 1, onTensor(func(t *foreign.Tensor) foreign.Value { return foreign.BoolValue(t.Data != nil) })},
	"bits":     {1, 1, onType(func(d scalar.DType) foreign.Value { return foreign.IntValue(int64(d.Bits())) })},
	"is_float": {1, 1, onType(func(d scalar.DType) foreign.Value { return foreign.BoolValue(d.IsFloat()) })},
	"is_int":   {1, 1, onType(func(d scalar.DType) foreign.Value { return foreign.BoolValue(d.IsInt()) })},
	"is_signed": {1, 1, onType(func(d scalar.DType) foreign.Value {
		return foreign.BoolValue(d.IsSigned() || d.IsFloat())
	})},
	"is_bool":    {1, 1, onType(func(d scalar.DType) foreign.Value { return foreign.BoolValue(d.IsBool()) })},
	"is_complex": {1, 1, onType(func(d scalar.DType) foreign.Value { return foreign.BoolValue(d.IsComplex()) })},
	"lowest":     {1, 1, onType(func(d scalar.DType) foreign.Value { return NumberOf(scalar.Lowest(d)) })},
	"highest":    {1, 1, onType(func(d scalar.DType) foreign.Value { return NumberOf(scalar.Highest(d)) })},
	"given": {1, 1, func(_ *Env, a []foreign.Value) (foreign.Value, error) {
		return foreign.BoolValue(a[0].Kind != foreign.None), nil
	}},
	"values":          {1, 1, values},
	"value":           {1, 1, value},
	"tensor":          {2, 3, makeTensor},
	"data":            {1, 1, dataTensor},
	"len":             {1, 1, length},
	"range":           {1, 3, rangeList},
	"times":           {2, 2, repeatList},
	"least":           {1, 9, extremum(func(x, y float64) bool { return x < y })},
	"greatest":        {1, 9, extremum(func(x, y float64) bool { return x > y })},
	"product":         {1, 1, reduced("*", 1)},
	"total":           {1, 1, reduced("+", 0)},
	"every":           {1, 1, quantifier(false)},
	"some":            {1, 1, quantifier(true)},
	"axis":            {2, 2, normAxis},
	"axes":            {2, 2, normAxes},
	"sorted":          {1, 1, sorted},
	"int":             {1, 1, toInt},
	"float":           {1, 1, toFloat},
	"ceil_div":        {2, 2, ceilDiv},
	"root":            {1, 1, root},
	"broadcast_shape": {1, 9, broadcastShapes},
	"refuse":          {1, 1, func(_ *Env, a []foreign.Value) (foreign.Value, error) { return foreign.Value{}, Refuse("%s", a[0].Str) }},
	"typed":           {1, 1, typed},
	"einsum_labels":   {2, 2, einsumLabels},
	"resize_taps":     {11, 11, resizeTaps},
	"index":           {2, 2, indexOf},
	"last_index":      {2, 2, lastIndexOf},
	"ordinal":         {0, 0, ofRun("ordinal")},
	"in_range":        {3, 3, ofRun("in_range")},
	"result_shape":    {1, 1, ofRun("result_shape")},
	"result_dtype":    {1, 1, ofRun("result_dtype")},
	"outputs":         {0, 0, ofRun("outputs")},
	"used":            {1, 1, ofRun("used")},
}

// atOnce are the functions whose work does not grow with their arguments.
var atOnce = map[string]bool{"len": true, "given": true, "typed": true, "refuse": true}

// NumberOf gives an element as a value of the language.
func NumberOf(v scalar.Value) foreign.Value {
	if v.DType.IsFloat() {
		return foreign.FloatValue(v.F)
	}
	if v.DType.IsBool() {
		return foreign.BoolValue(v.I != 0)
	}
	return foreign.IntValue(v.I)
}

func onTensor(f func(*foreign.Tensor) foreign.Value) func(*Env, []foreign.Value) (foreign.Value, error) {
	return func(_ *Env, a []foreign.Value) (foreign.Value, error) {
		if a[0].Kind != foreign.TensorKind {
			return foreign.Value{}, fmt.Errorf("expected a tensor, found %v", a[0].Kind)
		}
		return f(a[0].Tensor), nil
	}
}

// onType takes a tensor or the name of an element type.
func onType(f func(scalar.DType) foreign.Value) func(*Env, []foreign.Value) (foreign.Value, error) {
	return func(_ *Env, a []foreign.Value) (foreign.Value, error) {
		d, err := typeOf(a[0])
		if err != nil {
			return foreign.Value{}, err
		}
		return f(d), nil
	}
}

func typeOf(v foreign.Value) (scalar.DType, error) {
	switch v.Kind {
	case foreign.TensorKind:
		return v.Tensor.DType, nil
	case foreign.String:
		return scalar.ParseDType(v.Str)
	}
	return scalar.Invalid, fmt.Errorf("expected a tensor or a dtype, found %v", v.Kind)
}

// values gives a constant tensor's elements as a list, flat.
func values(e *Env, a []foreign.Value) (foreign.Value, error) {
	if a[0].Kind == foreign.DataKind {
		t, err := ConstantTensor(a[0].Data)
		if err != nil {
			return foreign.Value{}, err
		}
		a[0] = foreign.TensorValue(t)
	}
	if a[0].Kind != foreign.TensorKind {
		return foreign.Value{}, fmt.Errorf("expected a tensor, found %v", a[0].Kind)
	}
	t := a[0].Tensor
	if t.Data == nil {
		from, input := e.run.Origin(t)
		return foreign.Value{}, &Refusal{fmt.Sprintf("%s must be known when compiling, and it is computed from %s", t.Title(), from), input}
	}
	n := t.Data.Len()
	if n < 0 || n > maxList {
		return foreign.Value{}, Refuse("%s has too many elements to be a parameter", t.Title())
	}
	b, err := t.Data.Read()
	if err != nil {
		return foreign.Value{}, err
	}
	out := foreign.Value{Kind: foreign.List, List: make([]foreign.Value, n)}
	size := t.DType.Size()
	for i := range out.List {
		out.List[i] = NumberOf(scalar.Decode(t.DType, b[i*size:]))
	}
	return out, nil
}

func value(e *Env, a []foreign.Value) (foreign.Value, error) {
	v, err := values(e, a)
	if err == nil && len(v.List) != 1 {
		err = Refuse("one element is expected where there are %d", len(v.List))
	}
	if err != nil {
		return foreign.Value{}, err
	}
	return v.List[0], nil
}

// makeTensor makes a constant: tensor(number or list of numbers, dtype, shape). Without a shape, a list gives one dimension. A
// number is repeated.
func makeTensor(_ *Env, a []foreign.Value) (foreign.Value, error) {
	d, err := typeOf(a[1])
	if err != nil {
		return foreign.Value{}, err
	}
	shape := []int64{}
	list := a[0].List
	if a[0].Kind == foreign.List {
		shape = []int64{int64(len(list))}
	}
	if len(a) == 3 {
		var ok bool
		if shape, ok = a[2].Ints(); !ok {
			return foreign.Value{}, fmt.Errorf("expected a list of sizes")
		}
	}
	n := foreign.Elements(shape)
	if n < 0 || n > maxList {
		return foreign.Value{}, Refuse("a constant of shape %s is too large to be made here", foreign.ShapeText(shape))
	}
	if a[0].Kind != foreign.List {
		list = make([]foreign.Value, n)
		for i := range list {
			list[i] = a[0]
		}
	}
	if int64(len(list)) != n {
		return foreign.Value{}, Refuse("%d elements do not have the shape %s", len(list), foreign.ShapeText(shape))
	}
	data := &foreign.Data{DType: d, Shape: shape, Bytes: make([]byte, int(n)*d.Size())}
	for i, v := range list {
		x, err := Scalar(d, v)
		if err != nil {
			return foreign.Value{}, err
		}
		x.Encode(data.Bytes[i*d.Size():])
	}
	t, err := ConstantTensor(data)
	return foreign.TensorValue(t), err
}

// Scalar converts a number of the rule language to an element type: integers wrap, others round.
func Scalar(d scalar.DType, v foreign.Value) (scalar.Value, error) {
	f, ok := v.Number()
	switch {
	case v.Kind == foreign.Bool && d.IsBool():
		return scalar.BoolValue(v.Int != 0), nil
	case v.Kind == foreign.Bool:
		f, ok = float64(v.Int), true
		v = foreign.IntValue(v.Int)
	case !ok:
		return scalar.Value{}, fmt.Errorf("%v is not a %v", v.Kind, d)
	}
	switch {
	case d.IsBool():
		return scalar.BoolValue(f != 0), nil
	case d.IsInt() && v.Kind == foreign.Int:
		return scalar.IntValue(d, v.Int), nil
	case d.IsInt() && f == math.Trunc(f) && math.Abs(f) < 1<<62:
		return scalar.IntValue(d, int64(f)), nil
	case d.IsInt():
		return scalar.Value{}, Refuse("%v is not a whole number, which %v needs", f, d)
	}
	return scalar.FloatValue(d, f), nil
}

func dataTensor(_ *Env, a []foreign.Value) (foreign.Value, error) {
	if a[0].Kind != foreign.DataKind {
		return foreign.Value{}, fmt.Errorf("expected a constant, found %v", a[0].Kind)
	}
	t, err := ConstantTensor(a[0].Data)
	return foreign.TensorValue(t), err
}

// typed names the element type of a constant in an attribute.
func typed(_ *Env, a []foreign.Value) (foreign.Value, error) {
	if a[0].Kind != foreign.DataKind {
		return foreign.Value{}, fmt.Errorf("expected a constant, found %v", a[0].Kind)
	}
	return foreign.StringValue(a[0].Data.DType.String()), nil
}

func length(_ *Env, a []foreign.Value) (foreign.Value, error) {
	switch a[0].Kind {
	case foreign.List:
		return foreign.IntValue(int64(len(a[0].List))), nil
	case foreign.String:
		return foreign.IntValue(int64(len(a[0].Str))), nil
	}
	return foreign.Value{}, fmt.Errorf("expected a list, found %v", a[0].Kind)
}

// Integers gives the numbers of a list that has nothing else.
func Integers(a []foreign.Value) ([]int64, error) {
	out := make([]int64, len(a))
	for i, v := range a {
		if v.Kind != foreign.Int {
			return nil, fmt.Errorf("expected an integer, found %v", v.Kind)
		}
		out[i] = v.Int
	}
	return out, nil
}

func rangeList(_ *Env, a []foreign.Value) (foreign.Value, error) {
	n, err := Integers(a)
	if err != nil {
		return foreign.Value{}, err
	}
	from, to, step := int64(0), n[0], int64(1)
	if len(n) > 1 {
		from, to = n[0], n[1]
	}
	if len(n) > 2 {
		step = n[2]
	}
	out := foreign.Value{Kind: foreign.List, List: []foreign.Value{}}
	for i := from; step != 0 && (step > 0 && i < to || step < 0 && i > to); i += step {
		if len(out.List) > maxList {
			return foreign.Value{}, Refuse("a list of more than %d entries", maxList)
		}
		out.List = append(out.List, foreign.IntValue(i))
	}
	return out, nil
}

func repeatList(_ *Env, a []foreign.Value) (foreign.Value, error) {
	if a[1].Kind != foreign.Int || a[1].Int < 0 || a[1].Int > 1<<16 {
		return foreign.Value{}, Refuse("a list of %d entries", a[1].Int)
	}
	return foreign.Value{Kind: foreign.List, List: slices.Repeat([]foreign.Value{a[0]}, int(a[1].Int))}, nil
}

func extremum(better func(x, y float64) bool) func(*Env, []foreign.Value) (foreign.Value, error) {
	return func(_ *Env, a []foreign.Value) (foreign.Value, error) {
		if len(a) == 1 && a[0].Kind == foreign.List {
			a = a[0].List
		}
		if len(a) == 0 {
			return foreign.Value{}, Refuse("the extremum of no numbers")
		}
		best := a[0]
		for _, v := range a {
			x, ok := v.Number()
			y, ok2 := best.Number()
			if !ok || !ok2 {
				return foreign.Value{}, fmt.Errorf("expected numbers, found %v", v.Kind)
			}
			if better(x, y) {
				best = v
			}
		}
		return best, nil
	}
}

// reduced computes with the entries of a list, one behind the other.
func reduced(operator string, first int64) func(*Env, []foreign.Value) (foreign.Value, error) {
	return func(_ *Env, a []foreign.Value) (foreign.Value, error) {
		p := foreign.IntValue(first)
		for _, v := range a[0].List {
			var err error
			if p, err = arithmetic(operator, p, v); err != nil {
				return p, err
			}
		}
		return p, nil
	}
}

func quantifier(some bool) func(*Env, []foreign.Value) (foreign.Value, error) {
	return func(_ *Env, a []foreign.Value) (foreign.Value, error) {
		for _, v := range a[0].List {
			if v.Kind != foreign.Bool {
				return foreign.Value{}, fmt.Errorf("expected truth values, found %v", v.Kind)
			}
			if (v.Int != 0) == some {
				return foreign.BoolValue(some), nil
			}
		}
		return foreign.BoolValue(!some), nil
	}
}

// normAxis counts a negative axis from the end and refuses one that is not there.
func normAxis(_ *Env, a []foreign.Value) (foreign.Value, error) {
	n, err := Integers(a)
	if err != nil {
		return foreign.Value{}, err
	}
	if n[0] < -n[1] || n[0] >= n[1] {
		return foreign.Value{}, Refuse("axis %d of a rank of %d", n[0], n[1])
	}
	if n[0] < 0 {
		n[0] += n[1]
	}
	return foreign.IntValue(n[0]), nil
}

func normAxes(e *Env, a []foreign.Value) (foreign.Value, error) {
	if a[0].Kind != foreign.List {
		return foreign.Value{}, fmt.Errorf("expected a list, found %v", a[0].Kind)
	}
	out := foreign.Value{Kind: foreign.List, List: make([]foreign.Value, len(a[0].List))}
	for i, v := range a[0].List {
		x, err := normAxis(e, []foreign.Value{v, a[1]})
		if err != nil {
			return x, err
		}
		for _, y := range out.List[:i] {
			if y.Equal(x) {
				return x, Refuse("axis %d is given twice", x.Int)
			}
		}
		out.List[i] = x
	}
	return out, nil
}

func sorted(_ *Env, a []foreign.Value) (foreign.Value, error) {
	l, ok := a[0].Ints()
	if !ok {
		return foreign.Value{}, fmt.Errorf("expected a list of integers")
	}
	slices.Sort(l)
	return foreign.IntsValue(l), nil
}

func toInt(_ *Env, a []foreign.Value) (foreign.Value, error) {
	switch {
	case a[0].Kind == foreign.Int || a[0].Kind == foreign.Bool:
		return foreign.IntValue(a[0].Int), nil
	case a[0].Kind == foreign.Float && math.Abs(a[0].Float) < 1<<62:
		return foreign.IntValue(int64(a[0].Float)), nil
	}
	return foreign.Value{}, Refuse("a number beyond 64 bits, or none")
}

func toFloat(_ *Env, a []foreign.Value) (foreign.Value, error) {
	if a[0].Kind == foreign.Bool {
		return foreign.FloatValue(float64(a[0].Int)), nil
	}
	f, ok := a[0].Number()
	if !ok {
		return foreign.Value{}, fmt.Errorf("expected a number, found %v", a[0].Kind)
	}
	return foreign.FloatValue(f), nil
}

func ceilDiv(_ *Env, a []foreign.Value) (foreign.Value, error) {
	n, err := Integers(a)
	if err != nil {
		return foreign.Value{}, err
	}
	v, err := integer("//", -n[0], n[1])
	return foreign.IntValue(-v.Int), err
}

func root(_ *Env, a []foreign.Value) (foreign.Value, error) {
	f, ok := a[0].Number()
	if !ok || f < 0 {
		return foreign.Value{}, Refuse("the square root of %v", a[0].Kind)
	}
	return foreign.FloatValue(math.Sqrt(f)), nil
}

// broadcastShapes joins shapes by NumPy's rule.
func broadcastShapes(_ *Env, a []foreign.Value) (foreign.Value, error) {
	if len(a) == 1 && a[0].Kind == foreign.List && len(a[0].List) > 0 && a[0].List[0].Kind == foreign.List {
		a = a[0].List
	}
	var out []int64
	for _, v := range a {
		s, ok := v.Ints()
		if !ok {
			return foreign.Value{}, fmt.Errorf("expected shapes")
		}
		joined, ok := broadcast(out, s)
		if !ok {
			return foreign.Value{}, Refuse("the shapes %s and %s do not broadcast", foreign.ShapeText(out), foreign.ShapeText(s))
		}
		out = joined
	}
	return foreign.IntsValue(out), nil
}

func broadcast(a, b []int64) ([]int64, bool) {
	if len(a) < len(b) {
		a, b = b, a
	}
	out := slices.Clone(a)
	for i, n := range b {
		at := len(a) - len(b) + i
		switch {
		case out[at] == 1:
			out[at] = n
		case n != 1 && n != out[at]:
			return nil, false
		}
	}
	return out, true
}

// indexOf gives the first position of a value in a list, -1 if it is not there.
func indexOf(e *Env, a []foreign.Value) (foreign.Value, error) {
	at, err := e.find(slices.All(a[0].List), a[1])
	return foreign.IntValue(at), err
}

// lastIndexOf gives the last position of a value in a list, -1 if it is not there.
func lastIndexOf(e *Env, a []foreign.Value) (foreign.Value, error) {
	at, err := e.find(slices.Backward(a[0].List), a[1])
	return foreign.IntValue(at), err
}

// ofRun calls a function that is about the run.
func ofRun(name string) func(*Env, []foreign.Value) (foreign.Value, error) {
	return func(e *Env, a []foreign.Value) (foreign.Value, error) { return e.run.Function(name, a) }
}

// ConstantTensor makes a tensor of a constant.
func ConstantTensor(d *foreign.Data) (*foreign.Tensor, error) {
	if d.Reason != "" {
		return nil, Refuse("%s", d.Reason)
	}
	if d.DType == scalar.Invalid || d.Len() < 0 {
		return nil, Refuse("a constant of type %v and shape %s", d.DType, foreign.ShapeText(d.Shape))
	}
	return &foreign.Tensor{DType: d.DType, Shape: d.Shape, Data: d}, nil
}
