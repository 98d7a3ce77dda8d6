package lower

import (
	"tensortapestry.org/tapc/dialects/tensorops/kernels/instance"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/zspace"
	"tensortapestry.org/tapc/ir/zspace/pieces"
)

// Narrowed gives a box of the dims in which those of nothing but computed places hold no more than the places which the box reads, as far as that is known: a
// value at a place outside is zero, and no such place is computed where the tensor has one.
func Narrowed(in *instance.Instance, box zspace.Range) (zspace.Range, error) {
	out := box.Clone()
	for d, places := range placeDims(in) {
		if !places {
			continue
		}
		lo, hi, known, err := placesIn(in, d, box)
		if err != nil {
			return box, err
		}
		if known {
			out.Start[d], out.End[d] = max(lo, box.Start[d]), min(hi, box.End[d])
		}
	}
	return out, nil
}

// placesIn gives the places along a dim at which a box reads operands, none if lo is hi; known is false where they are none of one coordinate.
func placesIn(in *instance.Instance, d int, box zspace.Range) (lo, hi int64, known bool, err error) {
	for i, o := range in.Operands {
		for k, row := range o.Access.Projection {
			if row[d] == 0 {
				continue
			}
			for j, a := range row {
				if a != 0 && j != d || row[d] != 1 || o.Decl.Out {
					return 0, 0, false, nil
				}
			}
			cells, err := in.ReadCells(i, box)
			if err != nil {
				return 0, 0, false, err
			}
			known = true
			hull, some := pieces.Around(cells)
			if !some {
				continue
			}
			start, end := hull.Start[k]-o.Access.Offset[k], hull.End[k]-o.Access.Offset[k]
			if lo < hi {
				start, end = min(lo, start), max(hi, end)
			}
			lo, hi = start, end
		}
	}
	return lo, hi, known, nil
}

// placeDims says of each dim whether it is one of nothing but computed places.
func placeDims(in *instance.Instance) []bool {
	placed, other := make([]bool, len(in.Dims)), make([]bool, len(in.Dims))
	for _, s := range in.Statements {
		for _, d := range s.Over {
			other[d] = true
		}
		s.Value.Walk(func(e *scalar.Expr) bool {
			switch {
			case e.IsAt():
				placed[e.Over[0]] = true
			case e.Op == scalar.Reduce:
				for _, d := range e.Over {
					other[d] = true
				}
			case e.Op == scalar.Loop:
				other[e.Ref] = true
			}
			return true
		})
	}
	for d := range placed {
		placed[d] = placed[d] && !other[d] && !in.Dims[d].Index
	}
	return placed
}
