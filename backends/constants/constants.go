// Package constants loads the values of a graph's constants: tensors of data files beside the graph, and values that stand in
// the graph itself. Read next: dialects/tensorops, ProgramOf.
package constants

import (
	"fmt"
	"path/filepath"
	"sync"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/tensorfile"
)

// Loader loads constants. Files named in a graph must lie in the graph's folder or below; Allowed are further files, named by
// the user on the command line. It is safe for concurrent use; Close releases the files.
type Loader struct {
	Dir     string // folder of the graph file
	Allowed []string

	mu    sync.Mutex
	files map[string]*tensorfile.File
}

// Load gives the value of a constant, which must have the dtype and shape of its tensor.
func (l *Loader) Load(c tensorops.Const, t *tensorops.Tensor) (tensorfile.Tensor, error) {
	if c.Value != nil {
		return Inline(*c.Value, t)
	}
	if c.View != nil {
		return l.view(c, t)
	}
	if c.Raw {
		return l.raw(c, t)
	}
	f, err := l.open(c.File)
	if err != nil {
		return tensorfile.Tensor{}, err
	}
	info, err := f.Info(c.Key)
	if err != nil {
		return tensorfile.Tensor{}, err
	}
	other := func(d scalar.DType) (tensorfile.Tensor, error) {
		return tensorfile.Tensor{}, fmt.Errorf("%s, tensor %q: expected %s%v, found %v%v", c.File, c.Key, t.DType, t.Range.Shape(), d, info.Shape)
	}
	if info.DType.Bits() != max(8, t.Type().Bits()) || !t.Range.Shape().Equal(info.Shape) {
		return other(info.DType)
	}
	x, err := f.Load(c.Key)
	if err == nil {
		x, err = x.As(t.Type())
	}
	if err == nil && x.DType != t.Type() {
		return other(info.DType)
	}
	return x, err
}

// Source gives the value of an input that is read from a file when a program runs, which must have the dtype and shape of its tensor. The file is
// read anew each time.
func (l *Loader) Source(r tensorops.Resource, name string, t *tensorops.Tensor) (tensorfile.Tensor, error) {
	fresh := Loader{Dir: l.Dir}
	defer fresh.Close()
	if r.Raw {
		return fresh.Load(tensorops.Const{File: r.File, Raw: true, Offset: r.Offset}, t)
	}
	f, err := fresh.open(r.File)
	if err != nil {
		return tensorfile.Tensor{}, err
	}
	key := r.Key
	if list := f.Tensors(); key == "" {
		key = name
		if _, err := f.Info(name); err != nil && len(list) == 1 {
			key = list[0].Name
		}
	}
	return fresh.Load(tensorops.Const{File: r.File, Key: key}, t)
}

// Path gives where a data file lies, or an error for one that a graph must not read.
func (l *Loader) Path(file string) (string, error) {
	for _, a := range l.Allowed {
		if a == file {
			return file, nil
		}
	}
	if !filepath.IsLocal(file) {
		return "", fmt.Errorf("data file %q: a graph may only name files in its own folder or below", file)
	}
	return filepath.Join(l.Dir, file), nil
}

func (l *Loader) open(file string) (*tensorfile.File, error) {
	path, err := l.Path(file)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if f := l.files[path]; f != nil {
		return f, nil
	}
	f, err := tensorfile.Open(path)
	if err != nil {
		return nil, err
	}
	if l.files == nil {
		l.files = map[string]*tensorfile.File{}
	}
	l.files[path] = f
	return f, nil
}

// Close closes the files that were opened.
func (l *Loader) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var first error
	for _, f := range l.files {
		if err := f.Close(); err != nil && first == nil {
			first = err
		}
	}
	l.files = nil
	return first
}

// Inline makes the value that stands in a graph: one number for every element, or lists nested as the tensor's shape.
func Inline(v ir.AttrValue, t *tensorops.Tensor) (tensorfile.Tensor, error) {
	d, shape := t.Type(), t.Range.Shape()
	n, err := t.Range.Size()
	if err != nil {
		return tensorfile.Tensor{}, err
	}
	if d == scalar.Invalid || n > maxInline {
		return tensorfile.Tensor{}, fmt.Errorf("a value in the graph for %s%v: expected at most %d elements of a known dtype", t.DType, shape, maxInline)
	}
	out := tensorfile.Tensor{DType: d, Shape: shape, Data: make([]byte, n*int64(d.Size()))}
	if v.Kind != ir.AttrList {
		one, err := element(v, d)
		if err != nil {
			return out, err
		}
		for i := range n {
			one.Encode(out.Data[i*int64(d.Size()):])
		}
		return out, nil
	}
	rest, err := fill(out.Data, v, d, shape)
	if err == nil && len(rest) != 0 {
		err = fmt.Errorf("the value's lists do not have the shape %v", shape)
	}
	return out, err
}

// maxInline bounds the elements of a value that stands in a graph.
const maxInline = 1 << 24

func fill(data []byte, v ir.AttrValue, d scalar.DType, shape []int64) ([]byte, error) {
	if len(shape) == 0 {
		one, err := element(v, d)
		if err != nil {
			return nil, err
		}
		one.Encode(data)
		return data[d.Size():], nil
	}
	if v.Kind != ir.AttrList || int64(len(v.List)) != shape[0] {
		return nil, fmt.Errorf("the value's lists do not have the tensor's shape: expected %d entries", shape[0])
	}
	for _, x := range v.List {
		var err error
		if data, err = fill(data, x, d, shape[1:]); err != nil {
			return nil, err
		}
	}
	return data, nil
}

func element(v ir.AttrValue, d scalar.DType) (scalar.Value, error) {
	switch {
	case v.Kind == ir.AttrInt && d.IsInt():
		if x := scalar.IntValue(d, v.Int); x.I == v.Int && (d != scalar.UInt64 || v.Int >= 0) {
			return x, nil
		}
	case v.Kind == ir.AttrBool && d.IsBool():
		return scalar.BoolValue(v.Int != 0), nil
	case d.IsFloat() || d.IsComplex():
		if f, ok := v.Number(); ok {
			return scalar.FloatValue(d, f), nil
		}
	}
	return scalar.Value{}, fmt.Errorf("the value holds a %v that is not a %v", v.Kind, d)
}
