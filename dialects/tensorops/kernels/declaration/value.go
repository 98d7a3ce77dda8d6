package declaration

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
)

// Fallback is the default as a parameter value; the word "all" stands for itself until the rank is known.
func (a *Attr) Fallback() ir.AttrValue {
	switch a.Type {
	case BoolAttr:
		if a.Default == "true" || a.Default == "false" {
			return ir.BoolAttr(a.Default == "true")
		}
	case IntAttr, NumberAttr, IntsAttr, AxisAttr, AxesAttr:
		if n, err := strconv.ParseInt(a.Default, 10, 64); err == nil {
			return ir.IntAttr(n)
		}
		if f, err := strconv.ParseFloat(a.Default, 64); err == nil {
			return ir.FloatAttr(f)
		}
	}
	return ir.StringAttr(a.Default)
}

// Default gives the value that an attribute has when it is not given; a nil kernel declares none.
func (d *Kernel) Default(name string) (ir.AttrValue, bool) {
	if d != nil {
		if a, ok := d.Attr(name); ok && a.HasDefault {
			return a.Fallback(), true
		}
	}
	return ir.AttrValue{}, false
}

// Accepts says whether a value is of the attribute's kind and inside its limits or among its words, without knowing any rank;
// expected tells which values are.
func (a *Attr) Accepts(v ir.AttrValue) (expected string, ok bool) {
	switch a.Type {
	case NumberAttr:
		f, isNumber := v.Number()
		expected, ok = "a number"+a.limitsText(), isNumber && a.Within(f)
	case IntAttr, AxisAttr:
		expected, ok = "an integer"+a.limitsText(), v.Kind == ir.AttrInt && a.Within(float64(v.Int))
	case BoolAttr:
		expected, ok = "true or false", v.Kind == ir.AttrBool
	case WordAttr:
		expected, ok = fmt.Sprintf("one of %q", a.Words), v.Kind == ir.AttrString && slices.Contains(a.Words, v.Str)
	case TextAttr:
		expected, ok = "a text", v.Kind == ir.AttrString
	case DTypeAttr:
		_, err := scalar.ParseDType(v.Str)
		expected, ok = "a dtype", v.Kind == ir.AttrString && err == nil
	case IntsAttr:
		expected, ok = "an integer or a list of integers"+a.limitsText(), a.intsWithin(v)
	case AxesAttr:
		_, isList := v.Ints()
		expected, ok = "a list of dimensions", isList || v.Kind == ir.AttrInt || v.Kind == ir.AttrString && v.Str == "all"
	case PermAttr:
		_, isList := v.Ints()
		expected, ok = "a list of dimensions", isList || v.Kind == ir.AttrString && v.Str == "reversed"
	}
	return expected, ok
}

func (a *Attr) limitsText() string {
	switch {
	case a.Least != nil && a.Most != nil:
		return fmt.Sprintf(" from %d to %d", *a.Least, *a.Most)
	case a.Least != nil:
		return fmt.Sprintf(" of at least %d", *a.Least)
	case a.Most != nil:
		return fmt.Sprintf(" of at most %d", *a.Most)
	}
	return ""
}

// Within says whether a number is inside the attribute's limits.
func (a *Attr) Within(f float64) bool {
	return (a.Least == nil || f >= float64(*a.Least)) && (a.Most == nil || f <= float64(*a.Most))
}

func (a *Attr) intsWithin(v ir.AttrValue) bool {
	list, ok := v.Ints()
	if v.Kind == ir.AttrInt {
		list, ok = []int64{v.Int}, true
	}
	return ok && !slices.ContainsFunc(list, func(i int64) bool { return !a.Within(float64(i)) })
}

// ValueText gives a parameter value for messages.
func ValueText(v ir.AttrValue) string {
	switch v.Kind {
	case ir.AttrInt:
		return strconv.FormatInt(v.Int, 10)
	case ir.AttrFloat:
		return strconv.FormatFloat(v.Num, 'g', -1, 64)
	case ir.AttrString:
		return strconv.Quote(v.Str)
	case ir.AttrBool:
		return strconv.FormatBool(v.Int != 0)
	case ir.AttrList:
		if ints, ok := v.Ints(); ok && len(ints) < 20 {
			return fmt.Sprint(ints)
		}
	}
	return "a " + v.Kind.String()
}

// TypeText gives an attribute's type as declarations write it.
func (a *Attr) TypeText() string {
	text := a.Type.String()
	switch {
	case a.Then != "":
		text += "(" + a.Of + ", " + a.Then + ")"
	case a.Of != "":
		text += "(" + a.Of + ")"
	case len(a.Words) > 0:
		text += "(" + strings.Join(a.Words, ", ") + ")"
	}
	if a.Least != nil || a.Most != nil {
		text += " in "
	}
	if a.Least != nil {
		text += fmt.Sprint(*a.Least)
	}
	if a.Least != nil || a.Most != nil {
		text += ".."
	}
	if a.Most != nil {
		text += fmt.Sprint(*a.Most)
	}
	return text
}
