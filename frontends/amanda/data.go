package amanda

import (
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"tensortapestry.org/tapc/frontends/foreign"
	"tensortapestry.org/tapc/frontends/namespace"
	"tensortapestry.org/tapc/internal/inputfile"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
)

// initializer is the type of ops that stand for the constants of a foreign graph. Their attributes are those of a tensor: dtype, shape, and
// value (numbers), bytes (base64) or file and offset.
const initializer = "Initializer"

func (f *flattener) initializer(l *level, i int, o *Op) {
	d, err := f.data(ir.AttrValue{Kind: ir.AttrMap, Map: o.Attrs}, "")
	if err != nil || len(o.Outputs) == 0 {
		f.fault(o.Place, "op %s (%s): %v", o.title(i), o.Type, err)
		return
	}
	f.out.Consts[f.result(l, i, 0)] = d
}

// data reads a tensor: a map as an initializer has it, or numbers of an element type that is given.
func (f *flattener) data(v ir.AttrValue, dtype string) (*foreign.Data, error) {
	d := &foreign.Data{}
	value := v
	if v.Kind == ir.AttrMap {
		if t, ok := v.Map.Get("dtype"); ok {
			dtype = t.Str
		}
		value, _ = v.Map.Get("value")
	}
	if d.DType = namespace.DType(dtype); d.DType == scalar.Invalid {
		return nil, fmt.Errorf("a tensor of the element type %q, which tapc does not have", dtype)
	}
	shape, given := v.Map.Get("shape")
	var ok bool
	if d.Shape, ok = shape.Ints(); given && !ok {
		return nil, fmt.Errorf("a tensor's shape is not a list of sizes")
	}
	if !given {
		d.Shape = shapeOf(value)
	}
	if d.Len() < 0 {
		return nil, fmt.Errorf("a tensor of a shape that no memory holds")
	}
	if text, ok := v.Map.Get("bytes"); ok {
		b, err := base64.StdEncoding.DecodeString(text.Str)
		if err == nil && int64(len(b)) != d.Len()*int64(d.DType.Size()) {
			err = fmt.Errorf("%d bytes for %d elements of type %v", len(b), d.Len(), d.DType)
		}
		d.Bytes = b
		return d, err
	}
	if file, ok := v.Map.Get("file"); ok {
		offset, _ := v.Map.Get("offset")
		return d, f.inFile(d, file.Str, offset.Int)
	}
	return d, fill(d, value)
}

// inFile says where a constant lies; it is read when it is needed.
func (f *flattener) inFile(d *foreign.Data, name string, offset int64) error {
	if !filepath.IsLocal(name) || offset < 0 {
		return fmt.Errorf("a tensor's file %q is not below the graph's folder", name)
	}
	path, size := filepath.Join(f.dir, name), d.Len()*int64(d.DType.Size())
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() || info.Size() < offset || info.Size()-offset < size {
		return fmt.Errorf("a tensor's file %q has no %d bytes at %d", name, size, offset)
	}
	d.File, d.Offset = name, offset
	d.Load = func() ([]byte, error) {
		file, err := inputfile.Open(path)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		b := make([]byte, size)
		_, err = io.ReadFull(io.NewSectionReader(file, offset, size), b)
		return b, err
	}
	return nil
}

// shapeOf gives the shape of nested lists, as the first entries have it.
func shapeOf(v ir.AttrValue) []int64 {
	shape := []int64{}
	for v.Kind == ir.AttrList {
		shape = append(shape, int64(len(v.List)))
		if len(v.List) == 0 {
			break
		}
		v = v.List[0]
	}
	return shape
}

// fill encodes numbers, nested or flat.
func fill(d *foreign.Data, v ir.AttrValue) error {
	var err error
	var put func(v ir.AttrValue)
	put = func(v ir.AttrValue) {
		if v.Kind == ir.AttrList {
			for _, x := range v.List {
				put(x)
			}
			return
		}
		x, ok := number(d.DType, v)
		if !ok && err == nil {
			err = fmt.Errorf("a tensor of type %v has the value %s", d.DType, Flow(v))
		}
		buf := make([]byte, d.DType.Size())
		x.Encode(buf)
		d.Bytes = append(d.Bytes, buf...)
	}
	put(v)
	if n := int64(len(d.Bytes) / d.DType.Size()); err == nil && n != d.Len() {
		err = fmt.Errorf("a tensor of %d elements has %d values", d.Len(), n)
	}
	return err
}

// number converts a value to an element type.
func number(t scalar.DType, v ir.AttrValue) (scalar.Value, bool) {
	f, isNumber := v.Number()
	switch {
	case t.IsBool() && v.Kind == ir.AttrBool:
		return scalar.BoolValue(v.Int != 0), true
	case t.IsInt() && v.Kind == ir.AttrInt:
		return scalar.IntValue(t, v.Int), true
	case t.IsFloat() && isNumber:
		return scalar.FloatValue(t, f), true
	}
	return scalar.Value{DType: t}, false
}

// maxListed bounds the elements of a tensor that is written as numbers; others are written as bytes.
const maxListed = 64

// tensorAttrs writes a tensor: where it lies in a file, or its numbers.
func tensorAttrs(d *foreign.Data) (ir.Attrs, error) {
	out := ir.Attrs{}.With("dtype", ir.StringAttr(namespace.TypeName(d.DType))).With("shape", ir.IntsAttr(d.Shape...))
	if d.Reason != "" {
		return nil, fmt.Errorf("%s", d.Reason)
	}
	if d.File != "" && d.Len() > maxListed {
		return out.With("file", ir.StringAttr(d.File)).With("offset", ir.IntAttr(d.Offset)), nil
	}
	b := d.Bytes
	if b == nil && d.Load != nil {
		var err error
		if b, err = d.Load(); err != nil {
			return nil, err
		}
	}
	if d.Len() > maxListed || d.DType.IsComplex() || d.DType == scalar.UInt64 {
		return out.With("bytes", ir.StringAttr(base64.StdEncoding.EncodeToString(b))), nil
	}
	list := ir.AttrValue{Kind: ir.AttrList, List: []ir.AttrValue{}}
	for i := range int(d.Len()) {
		x := scalar.Decode(d.DType, b[i*d.DType.Size():])
		v := ir.IntAttr(x.I)
		if d.DType.IsFloat() {
			v = ir.FloatAttr(x.F)
		} else if d.DType.IsBool() {
			v = ir.BoolAttr(x.I != 0)
		}
		list.List = append(list.List, v)
	}
	return out.With("value", list), nil
}

// attribute gives an attribute's value in the terms of the rule language. The dictionary says which are tensors, and which are graphs.
func (f *flattener) attribute(o *Op, formal *namespace.Op, a ir.Attr) foreign.Value {
	want := (*namespace.Attr)(nil)
	if formal != nil {
		want = formal.Attr(a.Name)
	}
	switch {
	case want != nil && want.Type == "tensor":
		dtype, _ := o.Attrs.Get("dtype")
		d, err := f.data(a.Value, dtype.Str)
		if err != nil {
			f.fault(o.Place, "op %q, attribute %s: %v", o.Name, a.Name, err)
			return foreign.Value{}
		}
		return foreign.Value{Kind: foreign.DataKind, Data: d}
	case want != nil && want.Type == "graph" && a.Value.Kind == ir.AttrMap:
		return foreign.Value{Kind: foreign.GraphKind, Graph: f.inner(o, a.Value.Map)}
	}
	return plainValue(a.Value)
}

func plainValue(v ir.AttrValue) foreign.Value {
	switch v.Kind {
	case ir.AttrBool:
		return foreign.BoolValue(v.Int != 0)
	case ir.AttrInt:
		return foreign.IntValue(v.Int)
	case ir.AttrFloat:
		return foreign.FloatValue(v.Num)
	case ir.AttrString:
		return foreign.StringValue(v.Str)
	case ir.AttrList:
		out := foreign.ListValue()
		for _, x := range v.List {
			out.List = append(out.List, plainValue(x))
		}
		return out
	case ir.AttrMap:
		return foreign.Value{Kind: foreign.OpaqueKind, Str: v.Kind.String()}
	}
	return foreign.Value{}
}
