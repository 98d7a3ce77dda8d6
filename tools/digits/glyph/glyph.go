// Package glyph draws synthetic handwritten digits: 28 x 28 grey images, 0 for
// the ground and 1 for full ink, in the manner of a scanned digit that was
// centred by hand.
//
// An image is a function of (seed, number) alone. Each has a style of its digit,
// shaken control points, an affine distortion, a bend, a pen width, a blur and
// noise, all drawn from one stream. It imports only the standard library.
// Read next: styles.go for the shapes, draw.go for the pen.
package glyph

import (
	"math"
	"math/rand/v2"
)

// Side is the width and height of an image; Pixels its number of cells.
const (
	Side   = 28
	Pixels = Side * Side
)

// Image is a row-major 28 x 28 picture with cells in [0, 1].
type Image [Pixels]float32

// Random draws image number n of the stream seed; its digit is n mod 10.
func Random(seed, n uint64) *Image {
	r := rand.New(rand.NewPCG(seed, n))
	ways := styles[n%10]
	way := ways[r.IntN(len(ways))]
	pen := randomPen(r)
	img := draw(shake(r, way, 3.2), randomWarp(r), pen)
	return img.speckle(r)
}

// Neat draws image number n of the stream seed like Random, with a steady hand
// and no noise: a picture to show.
func Neat(seed, n uint64) *Image {
	r := rand.New(rand.NewPCG(seed, n))
	ways := styles[n%10]
	way := ways[r.IntN(len(ways))]
	w := warp{a: 0.2, b: between(r, -0.05, 0.01), c: between(r, -0.015, 0.015), d: 0.2, bend: 0.3, phase: between(r, 0, 6)}
	return draw(shake(r, way, 1.8), w, pen{radius: between(r, 1.1, 1.4), soft: 0.6, ink: 1})
}

// shake moves every control point by a normal deviate of the given size. Points
// that coincide stay together, so that corners and loops stay closed.
func shake(r *rand.Rand, way style, size float64) style {
	moved := map[point]point{}
	out := make(style, len(way))
	for i, s := range way {
		out[i] = make(stroke, len(s))
		for j, p := range s {
			q, ok := moved[p]
			if !ok {
				q = point{p.x + size*r.NormFloat64(), p.y + size*r.NormFloat64()}
				moved[p] = q
			}
			out[i][j] = q
		}
	}
	return out
}

// warp maps glyph coordinates, centred, to pixels: an affine map and a bend.
type warp struct {
	a, b, c, d   float64 // x' = a x + b y; y' = c x + d y
	dx, dy       float64 // shift in pixels
	bend, phase  float64 // sideways bend: amplitude in pixels and phase
	wave, offset float64 // the same upwards
}

// randomWarp turns by up to 12 degrees, leans, scales and shifts.
func randomWarp(r *rand.Rand) warp {
	turn := 0.21 * clamp(r.NormFloat64()/2, -1, 1)
	lean := between(r, -0.35, 0.18)
	high := 0.2 * between(r, 0.78, 1.08)
	wide := high * between(r, 0.72, 1.3)
	sin, cos := math.Sincos(turn)
	return warp{
		a: cos * wide, b: cos*lean*high - sin*high,
		c: sin * wide, d: sin*lean*high + cos*high,
		dx: between(r, -1.6, 1.6), dy: between(r, -1.6, 1.6),
		bend: between(r, 0, 0.9), phase: between(r, 0, 2*math.Pi),
		wave: between(r, 0, 0.7), offset: between(r, 0, 2*math.Pi),
	}
}

// apply maps a glyph point to pixel coordinates.
func (w warp) apply(p point) point {
	x, y := p.x-35, p.y-50
	u, v := w.a*x+w.b*y, w.c*x+w.d*y
	u += w.bend * math.Sin(v*0.25+w.phase)
	v += w.wave * math.Sin(u*0.25+w.offset)
	return point{Side/2 + u + w.dx, Side/2 + v + w.dy}
}

// speckle adds noise: uneven ink, and on half of the images stray specks.
func (img *Image) speckle(r *rand.Rand) *Image {
	grain := between(r, 0, 0.12)
	rate := max(0, between(r, -0.02, 0.02))
	for i, v := range img {
		if v > 0 {
			v *= float32(1 + grain*r.NormFloat64())
		}
		if rate > 0 && r.Float64() < rate {
			v += float32(between(r, 0.1, 0.6))
		}
		img[i] = min(max(v, 0), 1)
	}
	return img
}

func between(r *rand.Rand, lo, hi float64) float64 { return lo + (hi-lo)*r.Float64() }

func clamp(v, lo, hi float64) float64 { return min(max(v, lo), hi) }
