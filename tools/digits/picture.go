package main

import (
	"bytes"
	"image"
	"image/color"
	"image/png"

	"tensortapestry.org/tapc/tools/digits/glyph"
)

// zoom is the side of a picture's block for each cell of an image; gap the ground
// between images, in blocks.
const (
	zoom = 5
	gap  = 1
)

// picture renders images as one PNG, perRow to a row, bright ink on a dark ground.
func picture(images []*glyph.Image, perRow int) ([]byte, error) {
	rows := (len(images) + perRow - 1) / perRow
	const pitch = (glyph.Side + gap) * zoom
	out := image.NewGray(image.Rect(0, 0, perRow*pitch+gap*zoom, rows*pitch+gap*zoom))
	for i := range out.Pix {
		out.Pix[i] = 64
	}
	for n, img := range images {
		left, top := gap*zoom+n%perRow*pitch, gap*zoom+n/perRow*pitch
		for y := range glyph.Side * zoom {
			for x := range glyph.Side * zoom {
				v := img[y/zoom*glyph.Side+x/zoom]
				out.SetGray(left+x, top+y, color.Gray{Y: uint8(v*255 + 0.5)})
			}
		}
	}
	var data bytes.Buffer
	err := png.Encode(&data, out)
	return data.Bytes(), err
}
