package mapping

import (
	"fmt"
	"math"
	"slices"

	"tensortapestry.org/tapc/ir/scalar"
)

// function is a built-in function of the rule language with the number of its arguments.
type function struct {
	least, most int
	call        func(e *env, a []Value) (Value, error)
}

// functions are the built-in functions. They are total: each ends, and what it can not do it refuses.
var functions = map[string]function{
	"shape":    {1, 1, onTensor(func(t *Tensor) Value { return IntsValue(t.Shape) })},
	"rank":     {1, 1, onTensor(func(t *Tensor) Value { return IntValue(int64(len(t.Shape))) })},
	"dtype":    {1, 1, onTensor(func(t *Tensor) Value { return StringValue(t.DType.String()) })},
	"elements": {1, 1, onTensor(func(t *Tensor) Value { return IntValue(elements(t.Shape)) })},
	"known":    {1, 1, onTensor(func(t *Tensor) Value { return BoolValue(t.Data != nil) })},
	"bits":     {1, 1, onType(func(d scalar.DType) Value { return IntValue(int64(d.Bits())) })},
	"is_float": {1, 1, onType(func(d scalar.DType) Value { return BoolValue(d.IsFloat()) })},
	"is_int":   {1, 1, onType(func(d scalar.DType) Value { return BoolValue(d.IsInt()) })},
	"is_signed": {1, 1, onType(func(d scalar.DType) Value {
		return BoolValue(d.IsSigned() || d.IsFloat())
	})},
	"is_bool":         {1, 1, onType(func(d scalar.DType) Value { return BoolValue(d.IsBool()) })},
	"is_complex":      {1, 1, onType(func(d scalar.DType) Value { return BoolValue(d.IsComplex()) })},
	"lowest":          {1, 1, onType(func(d scalar.DType) Value { return numberOf(scalar.Lowest(d)) })},
	"highest":         {1, 1, onType(func(d scalar.DType) Value { return numberOf(scalar.Highest(d)) })},
	"given":           {1, 1, func(_ *env, a []Value) (Value, error) { return BoolValue(a[0].Kind != None), nil }},
	"values":          {1, 1, values},
	"value":           {1, 1, value},
	"tensor":          {2, 3, makeTensor},
	"data":            {1, 1, dataTensor},
	"len":             {1, 1, length},
	"range":           {1, 3, rangeList},
	"times":           {2, 2, repeatList},
	"least":           {1, 9, extremum(func(x, y float64) bool { return x < y })},
	"greatest":        {1, 9, extremum(func(x, y float64) bool { return x > y })},
	"product":         {1, 1, product},
	"total":           {1, 1, total},
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
	"refuse":          {1, 1, func(_ *env, a []Value) (Value, error) { return Value{}, refuse("%s", a[0].Str) }},
	"typed":           {1, 1, typed},
	"einsum_labels":   {2, 2, einsumLabels},
	"resize_taps":     {11, 11, resizeTaps},
	"index":           {2, 2, indexOf},
	"last_index":      {2, 2, lastIndexOf},
	"ordinal":         {0, 0, func(e *env, _ []Value) (Value, error) { return IntValue(e.m.ordinal()), nil }},
	"in_range":        {3, 3, inRange},
	"result_shape": {1, 1, func(e *env, a []Value) (Value, error) {
		t, err := e.result(a)
		if err != nil {
			return Value{}, err
		}
		return IntsValue(t.Shape), nil
	}},
	"result_dtype": {1, 1, func(e *env, a []Value) (Value, error) {
		t, err := e.result(a)
		if err != nil {
			return Value{}, err
		}
		return StringValue(t.DType.String()), nil
	}},
	"outputs": {0, 0, func(e *env, _ []Value) (Value, error) { return IntValue(int64(len(e.m.outputs))), nil }},
	"used":    {1, 1, func(e *env, a []Value) (Value, error) { return BoolValue(e.m.used(a[0].Str)), nil }},
}

// atOnce are the functions whose work does not grow with their arguments.
var atOnce = map[string]bool{"len": true, "given": true, "typed": true, "refuse": true}

// maxList bounds the lists that functions make.
const maxList = 1 << 20

func numberOf(v scalar.Value) Value {
	if v.DType.IsFloat() {
		return FloatValue(v.F)
	}
	if v.DType.IsBool() {
		return BoolValue(v.I != 0)
	}
	return IntValue(v.I)
}

func onTensor(f func(*Tensor) Value) func(*env, []Value) (Value, error) {
	return func(_ *env, a []Value) (Value, error) {
		if a[0].Kind != TensorKind {
			return Value{}, fmt.Errorf("expected a tensor, found %v", a[0].Kind)
		}
		return f(a[0].Tensor), nil
	}
}

// onType takes a tensor or the name of an element type.
func onType(f func(scalar.DType) Value) func(*env, []Value) (Value, error) {
	return func(_ *env, a []Value) (Value, error) {
		d, err := typeOf(a[0])
		if err != nil {
			return Value{}, err
		}
		return f(d), nil
	}
}

func typeOf(v Value) (scalar.DType, error) {
	switch v.Kind {
	case TensorKind:
		return v.Tensor.DType, nil
	case String:
		return scalar.ParseDType(v.Str)
	}
	return scalar.Invalid, fmt.Errorf("expected a tensor or a dtype, found %v", v.Kind)
}

// values gives a constant tensor's elements as a list, flat.
func values(e *env, a []Value) (Value, error) {
	if a[0].Kind == DataKind {
		t, err := e.m.constant(a[0].Data)
		if err != nil {
			return Value{}, err
		}
		a[0] = tensorValue(t)
	}
	if a[0].Kind != TensorKind {
		return Value{}, fmt.Errorf("expected a tensor, found %v", a[0].Kind)
	}
	t := a[0].Tensor
	if t.Data == nil {
		return Value{}, refuse("%s must be known when compiling, and it is computed from %s", t.title(), e.m.origin(t))
	}
	n := t.Data.Len()
	if n < 0 || n > maxList {
		return Value{}, refuse("%s has too many elements to be a parameter", t.title())
	}
	b, err := t.Data.bytes()
	if err != nil {
		return Value{}, err
	}
	out := Value{Kind: List, List: make([]Value, n)}
	size := t.DType.Size()
	for i := range out.List {
		out.List[i] = numberOf(scalar.Decode(t.DType, b[i*size:]))
	}
	return out, nil
}

func value(e *env, a []Value) (Value, error) {
	v, err := values(e, a)
	if err == nil && len(v.List) != 1 {
		err = refuse("one element is expected where there are %d", len(v.List))
	}
	if err != nil {
		return Value{}, err
	}
	return v.List[0], nil
}

// makeTensor makes a constant: tensor(number or list of numbers, dtype, shape). Without a shape, a list gives one dimension. A
// number is repeated.
func makeTensor(e *env, a []Value) (Value, error) {
	d, err := typeOf(a[1])
	if err != nil {
		return Value{}, err
	}
	shape := []int64{}
	list := a[0].List
	if a[0].Kind == List {
		shape = []int64{int64(len(list))}
	}
	if len(a) == 3 {
		var ok bool
		if shape, ok = a[2].ints(); !ok {
			return Value{}, fmt.Errorf("expected a list of sizes")
		}
	}
	n := elements(shape)
	if n < 0 || n > maxList {
		return Value{}, refuse("a constant of shape %s is too large to be made here", describeShape(shape))
	}
	if a[0].Kind != List {
		list = make([]Value, n)
		for i := range list {
			list[i] = a[0]
		}
	}
	if int64(len(list)) != n {
		return Value{}, refuse("%d elements do not have the shape %s", len(list), describeShape(shape))
	}
	data := &Data{DType: d, Shape: shape, Bytes: make([]byte, int(n)*d.Size())}
	for i, v := range list {
		x, err := literal(d, v)
		if err != nil {
			return Value{}, err
		}
		x.Encode(data.Bytes[i*d.Size():])
	}
	t, err := e.m.constant(data)
	return tensorValue(t), err
}

// literal converts a number of the rule language to an element type: integers wrap, others round.
func literal(d scalar.DType, v Value) (scalar.Value, error) {
	f, ok := v.number()
	switch {
	case v.Kind == Bool && d.IsBool():
		return scalar.BoolValue(v.Int != 0), nil
	case v.Kind == Bool:
		f, ok = float64(v.Int), true
		v = IntValue(v.Int)
	case !ok:
		return scalar.Value{}, fmt.Errorf("%v is not a %v", v.Kind, d)
	}
	switch {
	case d.IsBool():
		return scalar.BoolValue(f != 0), nil
	case d.IsInt() && v.Kind == Int:
		return scalar.IntValue(d, v.Int), nil
	case d.IsInt() && f == math.Trunc(f) && math.Abs(f) < 1<<62:
		return scalar.IntValue(d, int64(f)), nil
	case d.IsInt():
		return scalar.Value{}, refuse("%v is not a whole number, which %v needs", f, d)
	}
	return scalar.FloatValue(d, f), nil
}

func dataTensor(e *env, a []Value) (Value, error) {
	if a[0].Kind != DataKind {
		return Value{}, fmt.Errorf("expected a constant, found %v", a[0].Kind)
	}
	t, err := e.m.constant(a[0].Data)
	return tensorValue(t), err
}

// typed names the element type of a constant in an attribute.
func typed(_ *env, a []Value) (Value, error) {
	if a[0].Kind != DataKind {
		return Value{}, fmt.Errorf("expected a constant, found %v", a[0].Kind)
	}
	return StringValue(a[0].Data.DType.String()), nil
}

func length(_ *env, a []Value) (Value, error) {
	switch a[0].Kind {
	case List:
		return IntValue(int64(len(a[0].List))), nil
	case String:
		return IntValue(int64(len(a[0].Str))), nil
	}
	return Value{}, fmt.Errorf("expected a list, found %v", a[0].Kind)
}

func integers(a []Value) ([]int64, error) {
	out := make([]int64, len(a))
	for i, v := range a {
		if v.Kind != Int {
			return nil, fmt.Errorf("expected an integer, found %v", v.Kind)
		}
		out[i] = v.Int
	}
	return out, nil
}

func rangeList(_ *env, a []Value) (Value, error) {
	n, err := integers(a)
	if err != nil {
		return Value{}, err
	}
	from, to, step := int64(0), n[0], int64(1)
	if len(n) > 1 {
		from, to = n[0], n[1]
	}
	if len(n) > 2 {
		step = n[2]
	}
	out := Value{Kind: List, List: []Value{}}
	for i := from; step != 0 && (step > 0 && i < to || step < 0 && i > to); i += step {
		if len(out.List) > maxList {
			return Value{}, refuse("a list of more than %d entries", maxList)
		}
		out.List = append(out.List, IntValue(i))
	}
	return out, nil
}

func repeatList(_ *env, a []Value) (Value, error) {
	if a[1].Kind != Int || a[1].Int < 0 || a[1].Int > 1<<16 {
		return Value{}, refuse("a list of %d entries", a[1].Int)
	}
	return Value{Kind: List, List: slices.Repeat([]Value{a[0]}, int(a[1].Int))}, nil
}

func extremum(better func(x, y float64) bool) func(*env, []Value) (Value, error) {
	return func(_ *env, a []Value) (Value, error) {
		if len(a) == 1 && a[0].Kind == List {
			a = a[0].List
		}
		if len(a) == 0 {
			return Value{}, refuse("the extremum of no numbers")
		}
		best := a[0]
		for _, v := range a {
			x, ok := v.number()
			y, ok2 := best.number()
			if !ok || !ok2 {
				return Value{}, fmt.Errorf("expected numbers, found %v", v.Kind)
			}
			if better(x, y) {
				best = v
			}
		}
		return best, nil
	}
}

func product(_ *env, a []Value) (Value, error) {
	p := IntValue(1)
	for _, v := range a[0].List {
		var err error
		if p, err = arithmetic("*", p, v); err != nil {
			return p, err
		}
	}
	return p, nil
}

func total(_ *env, a []Value) (Value, error) {
	p := IntValue(0)
	for _, v := range a[0].List {
		var err error
		if p, err = arithmetic("+", p, v); err != nil {
			return p, err
		}
	}
	return p, nil
}

func quantifier(some bool) func(*env, []Value) (Value, error) {
	return func(_ *env, a []Value) (Value, error) {
		for _, v := range a[0].List {
			if v.Kind != Bool {
				return Value{}, fmt.Errorf("expected truth values, found %v", v.Kind)
			}
			if (v.Int != 0) == some {
				return BoolValue(some), nil
			}
		}
		return BoolValue(!some), nil
	}
}

// normAxis counts a negative axis from the end and refuses one that is not there.
func normAxis(_ *env, a []Value) (Value, error) {
	n, err := integers(a)
	if err != nil {
		return Value{}, err
	}
	if n[0] < -n[1] || n[0] >= n[1] {
		return Value{}, refuse("axis %d of a rank of %d", n[0], n[1])
	}
	if n[0] < 0 {
		n[0] += n[1]
	}
	return IntValue(n[0]), nil
}

func normAxes(e *env, a []Value) (Value, error) {
	if a[0].Kind != List {
		return Value{}, fmt.Errorf("expected a list, found %v", a[0].Kind)
	}
	out := Value{Kind: List, List: make([]Value, len(a[0].List))}
	for i, v := range a[0].List {
		x, err := normAxis(e, []Value{v, a[1]})
		if err != nil {
			return x, err
		}
		for _, y := range out.List[:i] {
			if y.equal(x) {
				return x, refuse("axis %d is given twice", x.Int)
			}
		}
		out.List[i] = x
	}
	return out, nil
}

func sorted(_ *env, a []Value) (Value, error) {
	l, ok := a[0].ints()
	if !ok {
		return Value{}, fmt.Errorf("expected a list of integers")
	}
	slices.Sort(l)
	return IntsValue(l), nil
}

func toInt(_ *env, a []Value) (Value, error) {
	switch {
	case a[0].Kind == Int || a[0].Kind == Bool:
		return IntValue(a[0].Int), nil
	case a[0].Kind == Float && math.Abs(a[0].Float) < 1<<62:
		return IntValue(int64(a[0].Float)), nil
	}
	return Value{}, refuse("a number beyond 64 bits, or none")
}

func toFloat(_ *env, a []Value) (Value, error) {
	if a[0].Kind == Bool {
		return FloatValue(float64(a[0].Int)), nil
	}
	f, ok := a[0].number()
	if !ok {
		return Value{}, fmt.Errorf("expected a number, found %v", a[0].Kind)
	}
	return FloatValue(f), nil
}

func ceilDiv(_ *env, a []Value) (Value, error) {
	n, err := integers(a)
	if err != nil {
		return Value{}, err
	}
	v, err := integer("//", -n[0], n[1])
	return IntValue(-v.Int), err
}

func root(_ *env, a []Value) (Value, error) {
	f, ok := a[0].number()
	if !ok || f < 0 {
		return Value{}, refuse("the square root of %v", a[0].Kind)
	}
	return FloatValue(math.Sqrt(f)), nil
}

// broadcastShapes joins shapes by NumPy's rule.
func broadcastShapes(_ *env, a []Value) (Value, error) {
	if len(a) == 1 && a[0].Kind == List && len(a[0].List) > 0 && a[0].List[0].Kind == List {
		a = a[0].List
	}
	var out []int64
	for _, v := range a {
		s, ok := v.ints()
		if !ok {
			return Value{}, fmt.Errorf("expected shapes")
		}
		joined, ok := broadcast(out, s)
		if !ok {
			return Value{}, refuse("the shapes %s and %s do not broadcast", describeShape(out), describeShape(s))
		}
		out = joined
	}
	return IntsValue(out), nil
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
func indexOf(e *env, a []Value) (Value, error) {
	at, err := e.find(slices.All(a[0].List), a[1])
	return IntValue(at), err
}

// lastIndexOf gives the last position of a value in a list, -1 if it is not there.
func lastIndexOf(e *env, a []Value) (Value, error) {
	at, err := e.find(slices.Backward(a[0].List), a[1])
	return IntValue(at), err
}

// ordinal gives another number each time, the same ones in every run.
func (m *mapper) ordinal() int64 {
	m.ordinals++
	return m.ordinals
}
