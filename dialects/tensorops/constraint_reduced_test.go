package tensorops

import (
	"tensortapestry.org/tapc/ir"
	. "tensortapestry.org/tapc/ir/check/checktest"
)

// along is a tag of one dimension that x's second one is said to be reduced along.
func along(name string, extent int64, combine, x string) *Reduced {
	return &Reduced{Dimensions: []ReducedDimension{{Name: name, Extent: extent, Combine: combine}}, Inputs: ir.PortMaps{maps("x", x)}}
}

func reducedCases() []Case {
	// sums sums the second dimension of x [0:4, 0:3] into y [0:4].
	sums := func(tag *Reduced) *ir.Graph {
		return graph(func(b builder) {
			x, y := b.tensor("x", "float32", "[0:4, 0:3]"), b.tensor("y", "float32", "[0:4]")
			op := b.op("sums", ir.PortsOf([]ir.Port{Port("x", Sel(x, "[0:4, 0:3]"))}), ir.PortsOf([]ir.Port{Port("y", Sel(y, "[0:4]"))}), index("[0:4]"),
				&Signature{Inputs: ir.PortMaps{maps("x", "(d0) -> [d0, 0] + [1, 3]")}, Outputs: ir.PortMaps{maps("y", "(d0) -> [d0] + [1]")}})
			op.SetTag(tag)
		})
	}
	cells := "(d0, d1) -> [d0, d1] + [1, 1]"
	twice := along("k", 3, "sum", cells)
	twice.Dimensions = append(twice.Dimensions, ReducedDimension{Name: "k", Extent: 1, Combine: "sum"})
	many := along("k", 3, "sum", cells)
	for len(many.Dimensions) <= maxReduced {
		many.Dimensions = append(many.Dimensions, many.Dimensions[0])
	}
	other := along("k", 3, "sum", cells)
	other.Inputs[0].Name = "z"
	longer := along("k", 3, "sum", cells)
	longer.Inputs[0].Maps = append(longer.Inputs[0].Maps, longer.Inputs[0].Maps[0])
	return []Case{
		Of("reduced accepted: a sum", sums(along("k", 3, "sum", cells)), nil, nil),
		Of("reduced accepted: a pair", sums(along("k", 3, "max,sum", cells)), nil, nil),
		Of("reduced accepted: none", sums(&Reduced{Inputs: ir.PortMaps{maps("x", "(d0) -> [d0, 0] + [1, 3]")}}), nil, nil),
		Of("reduced near miss: one shorter", sums(along("k", 2, "sum", cells)), []string{"TAP0185"}, []string{"zr[0:4, 0:2]"}),
		Of("reduced near miss: the map of the index alone", sums(along("k", 3, "sum", "(d0) -> [d0, 0] + [1, 3]")), []string{"TAP0184"}, nil),
		Of("reduced: negative", sums(along("k", -1, "sum", cells)), []string{"TAP0182"}, []string{"k -1"}),
		Of("reduced: no name", sums(along("", 3, "sum", cells)), []string{"TAP0182"}, nil),
		Of("reduced: a name twice", sums(twice), []string{"TAP0182"}, nil),
		Of("reduced: no such reduction", sums(along("k", 3, "mean", cells)), []string{"TAP0182"}, []string{`k "mean"`}),
		Of("reduced near miss: a comma too much", sums(along("k", 3, "sum,", cells)), []string{"TAP0182"}, nil),
		Of("reduced: too many", sums(many), []string{"TAP0182"}, []string{"64 dimensions at most"}),
		Of("reduced: another port", sums(other), []string{"TAP0183"}, []string{`["x"]`, `["z"]`}),
		Of("reduced: another entry", sums(longer), []string{"TAP0183"}, []string{"1 map", "2 maps"}),
		Of("reduced: without a signature", copies(func(_ builder, _, _, op *ir.Node) {
			op.DropTag(SignatureKind)
			op.SetTag(along("k", 3, "sum", cells))
		}), []string{"TAP0181"}, nil),
	}
}
