// Package reduced finds the dimensions that operations reduce, from the declarations of their kernels: which, by what, and what a point of index and
// reduced dimensions reads. It writes the tag Reduced, and holds those of files to it. Read next: passes/split, which cuts along them.
package reduced

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/instance"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/check"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/zspace"
	"tensortapestry.org/tapc/ir/zspace/tiling"
)

// Reductions gives the names of the monoids that reduce along a dim, pairs among them, in the order in which they are carried out; placed says that
// something is read at one computed place of it.
func Reductions(in *instance.Instance, dim int) (names []string, placed bool) {
	var list []step
	for _, s := range in.Statements {
		s.Value.Walk(func(e *scalar.Expr) bool {
			if e.Op == scalar.Reduce && slices.Contains(e.Over, dim) {
				if e.IsAt() {
					placed = true
				} else {
					list = append(list, step{scalar.MonoidName(e.Monoid), e})
				}
			}
			return true
		})
	}
	return joined(in, list), placed
}

// Stored says whether results run along a dim.
func Stored(in *instance.Instance, dim int) bool {
	return slices.ContainsFunc(in.Statements, func(s instance.Statement) bool { return s.Store >= 0 && slices.Contains(s.Over, dim) })
}

// Dims gives the dims of an instance that it reduces, those beside that are read at computed places.
func Dims(in *instance.Instance) (dims []int) {
	for i, d := range in.Dims {
		if names, placed := Reductions(in, i); !d.Index && len(names) > 0 && !placed {
			dims = append(dims, i)
		}
	}
	return dims
}

// Of gives the tag of an operation that is bound to its kernel; nil if it reduces nothing. The error is an overflow.
func Of(in *instance.Instance) (*tensorops.Reduced, error) {
	dims := Dims(in)
	if len(dims) == 0 {
		return nil, nil
	}
	tag := &tensorops.Reduced{}
	wide := *in
	wide.Dims = slices.Clone(in.Dims)
	for _, i := range dims {
		names, _ := Reductions(in, i)
		tag.Dimensions = append(tag.Dimensions, tensorops.ReducedDimension{Name: in.Dims[i].Name, Extent: in.Dims[i].Extent,
			Combine: strings.Join(names, ","), Stored: Stored(in, i)})
		wide.Dims[i].Index = true
	}
	inputs, _, err := wide.Signature()
	order := columns(in, dims)
	for _, p := range inputs {
		for i := range p.Maps {
			for j, row := range p.Maps[i].AffineMap.Projection {
				p.Maps[i].AffineMap.Projection[j] = sorted(row, order)
			}
		}
	}
	tag.Inputs = inputs
	return tag, err
}

// columns says which columns of the signature of the widened instance the dims of the index have, followed by the reduced ones.
func columns(in *instance.Instance, dims []int) []int {
	var free, rest []int
	n := 0
	for i, d := range in.Dims {
		switch {
		case d.Index:
			free = append(free, n)
		case slices.Contains(dims, i):
			rest = append(rest, n)
		default:
			continue
		}
		n++
	}
	return append(free, rest...)
}

func sorted(row []int64, order []int) []int64 {
	out := make([]int64, len(order))
	for i, j := range order {
		out[i] = row[j]
	}
	return out
}

// Check holds the tag that an operation carries, if it does, to its kernel: the dimensions are those that the kernel reduces, and what the kernel
// reads at a point of the index and of these is in what the maps say. The error is a diagnostic.
func Check(in *instance.Instance, g *ir.Graph, n *ir.Node) error {
	tag, index := tensorops.ReducedOf(n), tensorops.IndexOf(n)
	if tag == nil || index == nil {
		return nil
	}
	own, err := Of(in)
	if err != nil {
		return err
	}
	if own == nil {
		own = &tensorops.Reduced{}
	}
	if !slices.Equal(own.Dimensions, tag.Dimensions) {
		return diag.Errorf("TAP0606", kernels.ConstraintID, g.At(n, check.TagField(tensorops.ReducedKind)), "%s: kernel %s reduces other dimensions", g.Name(n.ID), in.Decl.Name).
			Want(list(own), list(tag))
	}
	return checkReads(in, g, n, tag, own)
}

// list writes dimensions for a message.
func list(r *tensorops.Reduced) string {
	var words []string
	for _, d := range r.Dimensions {
		words = append(words, fmt.Sprintf("%s %d by %s", d.Name, d.Extent, d.Combine))
	}
	if words == nil {
		return "none"
	}
	return strings.Join(words, "; ")
}

// checkReads compares what maps say with what the kernel's own say, at the corners of the index and the reduced dimensions: all are affine. The index
// may begin elsewhere than the kernel's, at 0.
func checkReads(in *instance.Instance, g *ir.Graph, n *ir.Node, tag, own *tensorops.Reduced) error {
	here, there := tag.Index(tensorops.IndexOf(n).Range), own.Index(in.Index())
	if here.Empty() || !slices.Equal(here.Shape(), there.Shape()) {
		return nil // what an index of another shape is to the kernel, its signature says
	}
	for _, at := range there.Corners(maxCorners) {
		place := zspace.Range{Start: moved(at.Start, here.Start, there.Start), End: moved(at.End, here.Start, there.Start)}
		for i := range own.Inputs {
			p, q := &own.Inputs[i], tag.Inputs.Get(own.Inputs[i].Name)
			for j := range p.Maps {
				if q == nil || j >= len(q.Maps) {
					continue // which a constraint says
				}
				need, err := p.Maps[j].Apply(at)
				has, bad := q.Maps[j].Apply(place)
				if err = errors.Join(err, bad); err != nil {
					return err
				}
				if rest, some := tiling.Missing(need, has); some {
					return diag.Errorf("TAP0607", kernels.ConstraintID, g.At(n, check.TagField(tensorops.ReducedKind)),
						"%s: kernel %s reads more of %s[%d] than the maps of reduced dimensions say", g.Name(n.ID), in.Decl.Name, p.Name, j).
						Want(fmt.Sprintf("%v, read at %v of index and reduced dimensions", rest, place.Start), fmt.Sprintf("%v through %v", has, q.Maps[j]))
				}
			}
		}
	}
	return nil
}

func moved(p, to, from zspace.Point) zspace.Point {
	out := p.Clone()
	for i := range out {
		out[i] += to[i] - from[i]
	}
	return out
}

const maxCorners = 256 // that are looked at

// CheckOperations holds the tags of a graph's operations to the kernels of a library. What no kernel is bound to, others say.
func CheckOperations(g *ir.Graph, lib *kernels.Library) diag.List {
	var found diag.List
	for n := range g.Nodes() {
		if _, ok := n.Body.(*tensorops.Operation); !ok || tensorops.ReducedOf(n) == nil {
			continue
		}
		if in, err := lib.BindOperation(g, n.ID); err == nil {
			found = append(found, diag.FromError(Check(in, g, n))...)
		}
	}
	return found
}
