package glyph

import (
	"math"
	"math/rand/v2"
)

// pen is a round nib: radius and softness of its edge in pixels, darkness, and
// how much it swells along a stroke.
type pen struct{ radius, soft, ink, swell float64 }

func randomPen(r *rand.Rand) pen {
	return pen{
		radius: between(r, 0.75, 1.75),
		soft:   between(r, 0.4, 1.1),
		ink:    between(r, 0.8, 1),
		swell:  between(r, 0, 0.25),
	}
}

// steps is the number of straight pieces between two control points.
const steps = 8

// draw renders a style through a warp with a pen.
func draw(way style, w warp, p pen) *Image {
	img := new(Image)
	for _, s := range way {
		path := smooth(s)
		for i := range path {
			path[i] = w.apply(path[i])
		}
		for i := 1; i < len(path); i++ {
			at := float64(i) / float64(len(path))
			img.line(path[i-1], path[i], p, p.radius*(1+p.swell*math.Sin(math.Pi*at)))
		}
	}
	return img
}

// smooth samples the Catmull-Rom curve through a stroke's points. A stroke that
// ends where it begins is a smooth loop; at other ends the end point is doubled.
func smooth(s stroke) []point {
	last := len(s) - 1
	before, after := s[0], s[last]
	if s[0] == s[last] {
		before, after = s[last-1], s[1]
	}
	at := func(i int) point {
		switch {
		case i < 0:
			return before
		case i > last:
			return after
		}
		return s[i]
	}
	path := []point{s[0]}
	for i := range last {
		for k := 1; k <= steps; k++ {
			t := float64(k) / steps
			path = append(path, point{
				spline(at(i-1).x, s[i].x, s[i+1].x, at(i+2).x, t),
				spline(at(i-1).y, s[i].y, s[i+1].y, at(i+2).y, t),
			})
		}
	}
	return path
}

// spline is the uniform Catmull-Rom cubic between b (t = 0) and c (t = 1).
func spline(a, b, c, d, t float64) float64 {
	return 0.5 * (2*b + t*(c-a+t*(2*a-5*b+4*c-d+t*(3*b-a-3*c+d))))
}

// line inks every pixel within reach of the segment from a to b. Where strokes
// cross, the darker ink stays.
func (img *Image) line(a, b point, p pen, radius float64) {
	reach := radius + p.soft + 0.5
	for y := cell(min(a.y, b.y) - reach); y <= cell(max(a.y, b.y)+reach); y++ {
		for x := cell(min(a.x, b.x) - reach); x <= cell(max(a.x, b.x)+reach); x++ {
			d := distance(point{float64(x) + 0.5, float64(y) + 0.5}, a, b)
			v := float32(p.ink * edge((radius+p.soft-d)/(2*p.soft)))
			img[y*Side+x] = max(img[y*Side+x], v)
		}
	}
}

// cell is the pixel that holds a coordinate, or the nearest in the image.
func cell(v float64) int { return int(clamp(math.Floor(v), 0, Side-1)) }

// edge rises smoothly from 0 to 1 on [0, 1].
func edge(t float64) float64 {
	t = clamp(t, 0, 1)
	return t * t * (3 - 2*t)
}

// distance is from q to the nearest point of the segment from a to b.
func distance(q, a, b point) float64 {
	dx, dy := b.x-a.x, b.y-a.y
	t := 0.0
	if l := dx*dx + dy*dy; l > 0 {
		t = clamp(((q.x-a.x)*dx+(q.y-a.y)*dy)/l, 0, 1)
	}
	return math.Hypot(q.x-a.x-t*dx, q.y-a.y-t*dy)
}
