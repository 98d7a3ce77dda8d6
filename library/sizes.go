//go:build linux || darwin || freebsd

package library

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
)

// Dim is a dimension of which a model takes several sizes.
type Dim struct {
	Name  string
	Sizes []int64 // ascending
}

// sized are the sizes that a model takes: none of one that takes one.
type sized struct {
	dims []Dim
	by   map[string]shapes // by the sizes of all dimensions
}

// shapes is what a model has at a size of each dimension.
type shapes struct {
	at              []int64
	inputs, outputs []Tensor
}

// Dims gives the dimensions of which the model takes several sizes.
func (m *Model) Dims() []Dim { return slices.Clone(m.sized.dims) }

// At gives the inputs and outputs at sizes of all dimensions that have several, by name.
func (m *Model) At(sizes map[string]int64) (inputs, outputs []Tensor, err error) {
	v, err := m.at(sizes)
	return slices.Clone(v.inputs), slices.Clone(v.outputs), err
}

func (m *Model) at(sizes map[string]int64) (shapes, error) {
	at := make([]int64, len(m.sized.dims))
	if err := m.knownDims(sizes); err != nil {
		return shapes{}, err
	}
	for i, d := range m.sized.dims {
		n, ok := sizes[d.Name]
		if !ok {
			return shapes{}, fault(BadArgument, "the size of %q is missing", d.Name)
		}
		at[i] = n
	}
	v, ok := m.sized.by[key(at)]
	if !ok {
		var expected []string
		for _, d := range m.sized.dims {
			expected = append(expected, fmt.Sprintf("%s from %d to %d (%d sizes)", d.Name, d.Sizes[0], d.Sizes[len(d.Sizes)-1], len(d.Sizes)))
		}
		return shapes{}, fault(BadArgument, "there is no version for the sizes %v: expected %q", sizes, expected)
	}
	return v, nil
}

// knownDims refuses the first name, in order, that no dimension with several sizes has.
func (m *Model) knownDims(sizes map[string]int64) error {
	var names []string
	for _, d := range m.sized.dims {
		names = append(names, d.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(sizes)) {
		if !slices.Contains(names, name) {
			return fault(BadArgument, "no dimension with several sizes is named %q%s: expected %q", name, near(name, names), names)
		}
	}
	return nil
}

// key gives sizes as a key.
func key(at []int64) string {
	var b []byte
	for _, n := range at {
		b = binary.LittleEndian.AppendUint64(b, uint64(n))
	}
	return string(b)
}

// listed is a version as the description lists it.
type listed struct {
	At              []int64
	Inputs, Outputs [][]int64
}

// list takes in the versions of a description.
func (m *Model) list(dims []Dim, versions []listed) error {
	m.sized = sized{dims, map[string]shapes{}}
	for _, v := range versions {
		if len(v.At) != len(dims) || len(v.Inputs) != len(m.inputs) || len(v.Outputs) != len(m.outputs) {
			return fmt.Errorf("the version for %d has %d inputs and %d outputs", v.At, len(v.Inputs), len(v.Outputs))
		}
		m.sized.by[key(v.At)] = shapes{v.At, shaped(m.inputs, v.Inputs), shaped(m.outputs, v.Outputs)}
	}
	return nil
}

// shaped gives tensors other shapes.
func shaped(list []Tensor, shapes [][]int64) []Tensor {
	out := slices.Clone(list)
	for i := range out {
		each := out[i].Bytes / max(1, out[i].Count())
		out[i].Shape = shapes[i]
		out[i].Bytes = each * out[i].Count()
	}
	return out
}
