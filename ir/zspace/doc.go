// Package zspace is exact integer geometry: points, half-open boxes of integer
// coordinates (ranges), affine maps between coordinate spaces, and projections
// that send a box of one space to the box that it selects in another.
//
// All coordinates are int64. A result that does not fit is reported as an error
// that matches [ErrOverflow]; nothing ever wraps. A sum of products is judged by
// its exact value, so an intermediate term that leaves 64 bits is harmless when
// the result is back inside. Volumes are available unbounded ([Range.BigSize]).
//
// Values are plain slices and structs and are treated as immutable: no function
// here changes its arguments, and results never share memory with arguments
// unless the function says so. A [Range], [AffineMap] or [ProjectionMap] made by
// a constructor is valid; one that is written as a literal can be checked with
// its Validate method. The methods of Range need a valid receiver; those of the
// maps that return an error return one for an invalid receiver or argument too.
//
// The questions that the package answers exactly, each with a witness when the
// answer is no:
//
//   - do two index points write a common cell ([ProjectionMap.FindCollision])?
//   - which index dimensions may be cut into shards ([ProjectionMap.ShardableDims])?
//
// The package imports the standard library only and must stay so: it knows
// nothing of graphs, tensors or JSON. Read range.go first, then projection.go.
// Whether a list of boxes tiles a box is the question of the package tiling.
package zspace
