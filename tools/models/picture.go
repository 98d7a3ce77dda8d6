package main

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/tensorfile"
)

// glyphs are digits of three by five cells, a row a number in octal.
var glyphs = [10]int64{0o75557, 0o26227, 0o71747, 0o71717, 0o55711, 0o74717, 0o74757, 0o71111, 0o75757, 0o75717}

// Cells of a picture: paper is white, ink is black, as the networks that read text want them.
const (
	paper = 1
	ink   = -1
)

// picture gives a .npy file with lines of digits: "digits 1x3x48x320" has the shape batch, channels, height, width. Networks that find or read
// text answer noise with numbers near 0, which say little about their program.
func picture(what string) ([]byte, error) {
	var n, c, h, w int64
	if _, err := fmt.Sscanf(what, "digits %dx%dx%dx%d", &n, &c, &h, &w); err != nil || min(n, c, h, w) < 1 || max(n, c, h, w) > 4096 {
		return nil, fmt.Errorf("%q: expected digits and four sizes, as in digits 1x3x48x320", what)
	}
	scale := max(1, min(h, 48)/8) // of a cell
	t := tensorfile.Tensor{DType: scalar.Float32, Shape: []int64{n, c, h, w}}
	plane := make([]byte, 0, h*w*4)
	for y := range h {
		for x := range w {
			plane = binary.LittleEndian.AppendUint32(plane, math.Float32bits(cell(x/scale, y/scale)))
		}
	}
	t.Data = []byte(strings.Repeat(string(plane), int(n*c)))
	return tensorfile.NPY(t)
}

// cell says what is at a place of a page whose digits take four by eight cells.
func cell(x, y int64) float32 {
	row, column := y%8-1, x%4
	if row < 0 || row > 4 || column > 2 {
		return paper
	}
	digit := glyphs[(x/4+y/8*7)%10]
	if digit>>((4-row)*3+(2-column))&1 == 0 {
		return paper
	}
	return ink
}
