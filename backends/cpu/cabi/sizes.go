package cabi

import (
	"fmt"
	"strings"

	"tensortapestry.org/tapc/internal/dims"
)

// Sizes is what a program for several sizes of dimensions says of them. The rest of its description is that of the greatest.
type Sizes struct {
	Dims     []Dim
	Versions []Sized
	Shared   int64 // bytes of constants that more than one version reads
}

// Dim is a dimension that has several sizes.
type Dim struct {
	Name  string  `json:"name"`
	Sizes []int64 `json:"sizes"` // ascending
}

// Sized is what a program has for one size of each dimension.
type Sized struct {
	At        []int64   `json:"at"`      // of each dimension
	Inputs    [][]int64 `json:"inputs"`  // shapes
	Outputs   [][]int64 `json:"outputs"` // shapes
	Arena     int64     `json:"arena_bytes"`
	Constants int64     `json:"constants_bytes"`     // that it reads
	Own       int64     `json:"own_constants_bytes"` // that no other reads
}

// Shapes gives those of tensors.
func Shapes(tensors []Tensor) [][]int64 {
	out := make([][]int64, len(tensors))
	for i, t := range tensors {
		out[i] = t.Shape
	}
	return out
}

// header declares the function that takes sizes.
func (s *Sizes) header() string {
	if s == nil {
		return ""
	}
	var b strings.Builder
	b.WriteString("// Runs once at a size of each of these dimensions, in this order; buffers have the shapes of that size, which the description lists.\n" +
		"// NAME_run takes the greatest, which the shapes above are of. It gives 2 also where there is no such size.\n")
	for i, d := range s.Dims {
		fmt.Fprintf(&b, "//   [%d] %q: one of %s\n", i, d.Name, dims.Spans(d.Sizes))
	}
	b.WriteString("int NAME_run_at(tapc_instance *instance, const int64_t *sizes, const void *const *inputs, void *const *outputs, char *error, size_t error_bytes);\n\n")
	return b.String()
}
