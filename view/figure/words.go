package figure

import (
	"slices"
	"strconv"
	"strings"

	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/zspace"
)

// kernelWord is a kernel's name without its namespace.
func kernelWord(kernel string) string { return kernel[strings.IndexByte(kernel, ':')+1:] }

// typed writes an element type and a box of coordinates: as a shape if it begins at zero.
func typed(dtype string, r zspace.Range) string {
	if slices.ContainsFunc(r.Start, func(x int64) bool { return x != 0 }) {
		return dtype + " " + r.Text()
	}
	return dtype + " " + zspace.Point(r.Shape()).String()
}

// sizeOf is the size of a tensor in bytes; -1 where it has no type that is known or more cells than can be counted.
func sizeOf(dtype string, r zspace.Range) int64 {
	d, err := scalar.ParseDType(dtype)
	n, tooLarge := r.Size()
	if err != nil || tooLarge != nil || n > 1<<50 {
		return -1
	}
	return n * int64(d.Size())
}

// Bytes writes a size in words; "" for one that is not known.
func Bytes(n int64) string {
	if n < 0 {
		return ""
	}
	x, units := float64(n), []string{"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}
	i := 0
	for ; x >= 1024 && i+1 < len(units); i++ {
		x /= 1024
	}
	return strconv.FormatFloat(x, 'f', min(i, 1), 64) + " " + units[i]
}

// valueText writes an attribute on one line.
func valueText(v ir.AttrValue) string {
	switch v.Kind {
	case ir.AttrNull:
		return "null"
	case ir.AttrBool:
		return strconv.FormatBool(v.Int != 0)
	case ir.AttrInt:
		return strconv.FormatInt(v.Int, 10)
	case ir.AttrFloat:
		return strconv.FormatFloat(v.Num, 'g', -1, 64)
	case ir.AttrString:
		return v.Str
	case ir.AttrMap:
		return "{" + attrsText(v.Map) + "}"
	}
	var list []string
	for _, x := range v.List[:min(len(v.List), manyValues)] {
		list = append(list, valueText(x))
	}
	if len(v.List) > manyValues {
		list = append(list, "…")
	}
	return "[" + strings.Join(list, ", ") + "]"
}

// manyValues is how many values of a list are written.
const manyValues = 64

func attrsText(a ir.Attrs) string {
	var list []string
	for _, x := range a {
		list = append(list, x.Name+"="+valueText(x.Value))
	}
	return strings.Join(list, ", ")
}

// placesOf gives the places in the source file that a node comes from.
func placesOf(n *ir.Node) []ir.Pos {
	if n.Pos.Line > 0 || n.Pos.Doc > 0 {
		return []ir.Pos{n.Pos}
	}
	if o := n.Origin(); o != nil {
		return o.From
	}
	return nil
}

// facts collects what is said of a node.
type facts []Fact

func (f *facts) add(name, value string) {
	if value != "" {
		*f = append(*f, Fact{name, value})
	}
}
