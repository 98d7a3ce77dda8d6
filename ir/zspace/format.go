package zspace

import "strconv"

// String writes the map as "(d0, d1) -> (d0 + 10, 2*d1)". [ParseAffineMap] reads
// it back. A matrix without rows writes no dimensions: "() -> ()".
func (a AffineMap) String() string {
	if err := a.Validate(); err != nil {
		return "invalid map: " + err.Error()
	}
	b := a.appendTo(nil, '(')
	return string(append(b, ')'))
}

// String writes the projection as "(d0, d1) -> [d0 + 10, 2*d1] + [1, 5]": the
// start of the box that a point selects, and its shape. [ParseProjectionMap]
// reads it back.
func (p ProjectionMap) String() string {
	if err := p.Validate(); err != nil {
		return "invalid projection: " + err.Error()
	}
	b := p.AffineMap.appendTo(nil, '[')
	b = append(b, "] + ["...)
	b = appendList(b, p.Shape)
	return string(append(b, ']'))
}

// appendTo writes the dimensions, the arrow and the rows, without the closing
// bracket.
func (a AffineMap) appendTo(b []byte, open byte) []byte {
	b = append(b, '(')
	for j := range a.Projection.Cols() {
		b = appendComma(b, j)
		b = appendDim(b, j)
	}
	b = append(b, ") -> "...)
	b = append(b, open)
	for k, row := range a.Projection {
		b = appendComma(b, k)
		b = appendRow(b, row, a.Offset[k])
	}
	return b
}

func appendComma(b []byte, i int) []byte {
	if i > 0 {
		b = append(b, ", "...)
	}
	return b
}

func appendDim(b []byte, j int) []byte { return strconv.AppendInt(append(b, 'd'), int64(j), 10) }

// appendRow writes row·d + off as a sum without zero terms, "0" if none is left.
func appendRow(b []byte, row []int64, off int64) []byte {
	first := true
	for j, c := range row {
		if c == 0 {
			continue
		}
		b = appendSign(b, c < 0, first)
		if m := magnitude(c); m != 1 {
			b = append(strconv.AppendUint(b, m, 10), '*')
		}
		b = appendDim(b, j)
		first = false
	}
	if off != 0 || first {
		b = appendSign(b, off < 0, first)
		b = strconv.AppendUint(b, magnitude(off), 10)
	}
	return b
}

func appendSign(b []byte, negative, first bool) []byte {
	switch {
	case first && negative:
		return append(b, '-')
	case first:
		return b
	case negative:
		return append(b, " - "...)
	}
	return append(b, " + "...)
}
