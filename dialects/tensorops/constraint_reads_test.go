package tensorops

import (
	"strings"

	"tensortapestry.org/tapc/ir"
	. "tensortapestry.org/tapc/ir/check/checktest"
	"tensortapestry.org/tapc/ir/zspace"
	"tensortapestry.org/tapc/ir/zspace/pieces"
)

// half says that an input is read where guards hold, at cells of a window.
func half(port, cells, guards string, window ...int64) SelectionReads {
	p := pieces.Piece{Window: window}
	for to, text := range map[*zspace.AffineMap]string{&p.Cells: cells, &p.Guards: guards} {
		if text == "" {
			continue
		}
		a, err := zspace.ParseAffineMap(text)
		if err != nil {
			panic(err)
		}
		*to = a
	}
	return SelectionReads{Port: port, Pieces: []pieces.Piece{p}}
}

func readsCases() []Case {
	with := func(list ...SelectionReads) *ir.Graph {
		return copies(func(_ builder, _, _, op *ir.Node) { op.SetTag(&Reads{Selections: list}) })
	}
	many := half("x", "(d0, d1) -> (d0, d1)", "")
	for len(many.Pieces) <= maxPieces {
		many.Pieces = append(many.Pieces, many.Pieces[0])
	}
	return []Case{
		Of("reads accepted: a half", with(half("x", "(d0, d1) -> (d0, d1)", "(d0, d1) -> (d0 - 2)")), nil, nil),
		Of("reads accepted: a window inside by its guards", with(half("x", "(d0, d1, d2) -> (d0 + d2, d1)", "(d0, d1, d2) -> (3 - d0 - d2)", 3)), nil, nil),
		Of("reads near miss: that window one further", with(half("x", "(d0, d1, d2) -> (d0 + d2, d1)", "(d0, d1, d2) -> (4 - d0 - d2)", 3)),
			[]string{"TAP0159"}, []string{"cells of zr[0:4, 0:3]", "piece 0"}),
		Of("reads accepted: nothing", with(SelectionReads{Port: "x"}), nil, nil),
		Of("reads accepted: a reason", with(SelectionReads{Port: "x", Reason: strings.Repeat("because ", 2)}), nil, nil),
		Of("reads: another index", with(half("x", "(d0, d1, d2) -> (d0, d1)", "")), []string{"TAP0159"}, nil),
		Of("reads: another tensor", with(half("x", "(d0, d1) -> (d0)", "")), []string{"TAP0159"}, nil),
		Of("reads: beyond 40 bits", with(half("x", "(d0, d1) -> (2199023255552*d0, d1)", "")), []string{"TAP0159"}, nil),
		Of("reads: too many pieces", with(many), []string{"TAP0159"}, []string{"64 pieces at most"}),
		Of("reads: no such port", with(half("z", "(d0, d1) -> (d0, d1)", "")), []string{"TAP0158"}, nil),
		Of("reads: twice", with(SelectionReads{Port: "x"}, SelectionReads{Port: "x"}), []string{"TAP0158"}, nil),
		Of("reads: no such entry", with(SelectionReads{Port: "x", Entry: 1}), []string{"TAP0158"}, nil),
		Of("reads: without a signature", copies(func(_ builder, _, _, op *ir.Node) {
			op.DropTag(SignatureKind)
			op.SetTag(&Reads{})
		}), []string{"TAP0158"}, nil),
	}
}
