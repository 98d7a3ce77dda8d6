package backends

import (
	"context"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/internal/dims"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/tensorfile"
)

// Sizes are the graphs of a program that takes several sizes of dimensions: a version for each, which differ in extents only.
type Sizes struct {
	Dims     []dims.Dim
	Versions []Version // in ascending order of their sizes, which differ; the last is the greatest
}

// Version is what a program does for one size of each dimension.
type Version struct {
	At    []int64 // of each dimension
	Graph *ir.Graph
	Load  func(ctx context.Context, c tensorops.Const) (tensorfile.Tensor, error)
}

const (
	MaxVersions = 8    // the most versions that have code of their own: with more, functions that differ in numbers alone are one
	MaxSizes    = 1024 // the most versions of a program
)

// Shared is what a kernel takes in a program whose versions have code in common.
type Shared struct {
	Kernel    string
	Functions int // C functions that differ in more than numbers
	Once      int // of these, those that one version alone has
	Bytes     int // of C
}
