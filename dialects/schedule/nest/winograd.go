package nest

import (
	"slices"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
)

// Winograd is a convolution of float32 with constant filters of 3 by 3, which steps by 1, carried out as F(m×m, 3×3) (S. Winograd,
// "Arithmetic Complexity of Computations", 1980; A. Lavin and S. Gray, "Fast Algorithms for Convolutional Neural Networks", 2015):
// m by m results of a channel come from m+2 by m+2 elements of the image, and in a transformed space each of these Points is one product of
// the image's tiles by channels with the filters. That takes (m+2)²/m² products for a result instead of 9, and rounds otherwise, so only
// kernels that have the permission are carried out like this.
//
// The schedule says which convolutions are, and m: it is the tile of the two loops that the window moves along.
type Winograd struct {
	Sum           *scalar.Expr // the reduction itself
	Image, Filter int          // operands
	Batch         []Dim        // loops that are none of the others: images, groups
	Down, Across  Slide        // the window
	In, Out       Dim          // channels that are summed over, and channels of the results
	Size          int64        // m, which whoever cuts the loops chooses, or reads in the schedule
	Views         []View       // of all operands
}

// Slide is a dimension of an image that a window of 3 moves along.
type Slide struct {
	Dim         // free
	Tap   int   // loop over the window
	First int64 // coordinate, counted from the image's first, that the first result reads first; negative with pads
	Bound int64 // coordinates of the image; there are zeros outside
}

// Of gives the same convolution carried out with tiles of a size.
func (w *Winograd) Of(size int64) *Winograd {
	x := *w
	x.Size = size
	return &x
}

// Tiles is how many tiles of some size cover the results.
func (s Slide) Tiles(size int64) int64 { return (s.Extent + size - 1) / size }

// Points is how many products there are in the transformed space.
func (w *Winograd) Points() int64 { return (w.Size + 2) * (w.Size + 2) }

// Images is the number in Batch of the dimension along which filters are the same and a piece may have several values; -1 if there
// is none.
func (w *Winograd) Images() int {
	best := -1
	for i, d := range w.Batch {
		if d.Step(w.Views[w.Filter]) == 0 && (best < 0 || d.Extent > w.Batch[best].Extent) {
			best = i
		}
	}
	return best
}

// FindWinograd recognises a convolution that may be carried out like this. Its Size is not set.
func FindWinograd(k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer) (*Winograd, bool) {
	c := &Contraction{}
	if !findProducts(c, k, nil) || c.Sum.Type != scalar.Float32 {
		return nil, false
	}
	w := &Winograd{Sum: c.Sum, Views: Views(k, buffers)}
	a, b := c.Sum.Args[0].Args[0], c.Sum.Args[0].Args[1]
	if !w.factors(k, buffers, a, b) && !w.factors(k, buffers, b, a) || !w.loops(k, buffers) {
		return nil, false
	}
	return w, true
}

// factors finds the image and the filters in the two sides of the products.
func (w *Winograd) factors(k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer, image, filter *scalar.Expr) bool {
	if filter.Op != scalar.Load || !Prepackable(buffers[k.Operands[filter.Ref].Buffer]) || !Inside(k, buffers, filter.Ref) {
		return false
	}
	w.Filter = filter.Ref
	if image.Op == scalar.Load {
		w.Image = image.Ref
		return Inside(k, buffers, w.Image)
	}
	operand, live, ok := paddedOperand(k, buffers, image)
	w.Image = operand
	return ok && used(k, w.Image, nil) == 1 && live.Equal(reached(k, buffers, w.Image))
}

// loops sorts the loops into their roles.
func (w *Winograd) loops(k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer) bool {
	slides, ok := w.slides(k, buffers)
	if !ok || len(slides) != 2 {
		return false
	}
	w.Down, w.Across = slides[0], slides[1]
	if w.Views[w.Image].Steps[w.Down.Inner()] < w.Views[w.Image].Steps[w.Across.Inner()] {
		w.Down, w.Across = w.Across, w.Down
	}
	taken := []int{w.Down.Inner(), w.Across.Inner(), w.Down.Tap, w.Across.Tap}
	w.In, w.Out = Dim{Extent: 1}, Dim{Extent: 1}
	for l, loop := range k.Loops {
		if loop.Extent() == 1 || slices.Contains(taken, l) {
			continue
		}
		d, into := Dim{[]int{l}, loop.Extent()}, &w.Out
		image, filter := w.Views[w.Image].Steps[l] != 0, w.Views[w.Filter].Steps[l] != 0
		switch {
		case slices.Contains(w.Sum.Over, l):
			if !image || !filter {
				return false
			}
			into = &w.In
		case image || !filter:
			w.Batch = append(w.Batch, d)
			continue
		}
		if len(into.Loops) > 0 {
			return false
		}
		*into = d
	}
	return len(w.In.Loops) == 1 && len(w.Out.Loops) == 1
}

// slides finds the dimensions that a window of 3 moves along, step by step, and checks that the image is read within its other ones.
func (w *Winograd) slides(k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer) (out []Slide, ok bool) {
	o := k.Operands[w.Image]
	r := buffers[o.Buffer].Range
	h, ok := HullOf(k, buffers, w.Image)
	if !ok {
		return nil, false
	}
	for d, row := range o.Access.Projection {
		s := Slide{Dim: Dim{Extent: 1}, Tap: -1, First: o.Access.Offset[d] - r.Start[d], Bound: r.End[d] - r.Start[d]}
		wide, steps := 0, true
		for l, f := range row {
			s.First += f * k.Loops[l].Start
			if f == 0 || k.Loops[l].Extent() == 1 {
				continue
			}
			wide++
			steps = steps && f == 1
			if slices.Contains(w.Sum.Over, l) {
				s.Tap = l
			} else {
				s.Dim = Dim{[]int{l}, k.Loops[l].Extent()}
			}
		}
		slide := wide == 2 && steps && s.Tap >= 0 && len(s.Loops) == 1 && k.Loops[s.Tap].Extent() == 3 &&
			w.Views[w.Filter].Steps[s.Tap] != 0 && w.Views[w.Filter].Steps[s.Inner()] == 0 && !moves(o.Access.Projection, d, s)
		switch {
		case slide:
			out = append(out, s)
		case h.Below(d) || h.Above(d):
			return nil, false
		}
	}
	return out, true
}

// moves says whether a loop of a window moves along another dimension of the image too.
func moves(projection [][]int64, dim int, s Slide) bool {
	for d, row := range projection {
		if d != dim && (row[s.Tap] != 0 || row[s.Inner()] != 0) {
			return true
		}
	}
	return false
}
