//go:build linux || darwin || freebsd

package library

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"runtime"
	"slices"
	"unsafe"

	"tensortapestry.org/tapc/ir/diag"
)

// Tensor is an input or output of a model.
type Tensor struct {
	Name  string
	DType string // as tapc calls it
	Shape []int64
	Bytes int64 // of its memory
	// Of an input and an output in one memory: the shape of the memory, at whose start both lie, and the name of the other.
	Room   []int64
	Beside string `json:"shares"`
}

// Values are slices by the names of inputs or outputs. Their elements are the tensor's, row-major, of the type that Tensor.Make gives.
type Values map[string]any

// elements are the types of elements that hold each type of tensor: of its bits, where Go has none.
var elements = map[string]reflect.Type{
	"boolean": reflect.TypeFor[bool](), "complex64": reflect.TypeFor[complex64](), "complex128": reflect.TypeFor[complex128](),
	"int8": reflect.TypeFor[int8](), "int16": reflect.TypeFor[int16](), "int32": reflect.TypeFor[int32](), "int64": reflect.TypeFor[int64](),
	"uint8": reflect.TypeFor[uint8](), "uint16": reflect.TypeFor[uint16](), "uint32": reflect.TypeFor[uint32](), "uint64": reflect.TypeFor[uint64](),
	"float32": reflect.TypeFor[float32](), "float64": reflect.TypeFor[float64](), "float16": reflect.TypeFor[uint16](), "bfloat16": reflect.TypeFor[uint16](),
	"int4": reflect.TypeFor[int8](), "int2": reflect.TypeFor[int8](), "uint4": reflect.TypeFor[uint8](), "uint2": reflect.TypeFor[uint8](),
	"float8_e4m3": reflect.TypeFor[uint8](), "float8_e5m2": reflect.TypeFor[uint8](), "float8_e4m3fnuz": reflect.TypeFor[uint8](),
	"float8_e5m2fnuz": reflect.TypeFor[uint8](), "float8_e8m0": reflect.TypeFor[uint8](), "float6_e2m3": reflect.TypeFor[uint8](),
	"float6_e3m2": reflect.TypeFor[uint8](), "float4_e2m1": reflect.TypeFor[uint8](),
}

// Count is the number of elements; of a tensor that has memory in common with another, of that.
func (t Tensor) Count() int64 {
	n := int64(1)
	for _, size := range t.memory() {
		n *= size
	}
	return n
}

// memory is the shape of its memory.
func (t Tensor) memory() []int64 {
	if t.Beside != "" {
		return t.Room
	}
	return t.Shape
}

// Make gives a slice that holds the tensor, of zeros.
func (t Tensor) Make() any {
	return reflect.MakeSlice(reflect.SliceOf(elements[t.DType]), int(t.Count()), int(t.Count())).Interface()
}

// check refuses what a library can not have said.
func (t Tensor) check() error {
	element := elements[t.DType]
	if element == nil {
		return fmt.Errorf("%q has the unknown type %q", t.Name, t.DType)
	}
	bytes := int64(element.Size())
	for _, n := range t.memory() {
		if n < 0 || n > 0 && bytes > math.MaxInt64/n {
			return fmt.Errorf("%q has the shape %d", t.Name, t.memory())
		}
		bytes *= n
	}
	if bytes != t.Bytes {
		return fmt.Errorf("%q has %d bytes: expected %d", t.Name, t.Bytes, bytes)
	}
	return nil
}

// addresses gives the addresses of the elements of all values, in the order of the tensors, and keeps them where they are.
func addresses(kind string, tensors []Tensor, values Values, pin *runtime.Pinner) ([]unsafe.Pointer, error) {
	out := make([]unsafe.Pointer, len(tensors)+1) // one more, so that there is one
	known := 0
	for i, t := range tensors {
		value, ok := values[t.Name]
		if !ok && kind == "output" && t.Beside != "" {
			continue // it is where the input is
		}
		if !ok {
			if err := unknown(kind, tensors, values); err != nil {
				return nil, err // it is misspelt, perhaps
			}
			return nil, fault(BadArgument, "%s %q is missing: expected %d elements of %v", kind, t.Name, t.Count(), elements[t.DType])
		}
		known++
		v := reflect.ValueOf(value)
		if v.Kind() != reflect.Slice || v.Type().Elem().Kind() != elements[t.DType].Kind() {
			return nil, fault(BadArgument, "%s %q: expected []%v for %s, found %T", kind, t.Name, elements[t.DType], t.DType, value)
		}
		if int64(v.Len()) != t.Count() {
			return nil, fault(BadArgument, "%s %q: expected %d elements for the shape %d, found %d", kind, t.Name, t.Count(), t.memory(), v.Len())
		}
		if v.Len() > 0 {
			out[i] = v.UnsafePointer()
			pin.Pin(out[i])
		}
	}
	if known == len(values) {
		return out, nil
	}
	return nil, unknown(kind, tensors, values)
}

// unknown is the error for the first value, by name, that is no tensor's, if there is one.
func unknown(kind string, tensors []Tensor, values Values) error {
	var names []string
	for _, t := range tensors {
		names = append(names, t.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if !slices.Contains(names, name) {
			return fault(BadArgument, "no %s is named %q%s: expected %q", kind, name, near(name, names), names)
		}
	}
	return nil
}

// near asks whether the nearest name was meant.
func near(word string, names []string) string {
	name, ok := diag.Nearest(word, names)
	if !ok {
		return ""
	}
	return fmt.Sprintf(", did you mean %q", name)
}
