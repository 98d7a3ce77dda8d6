package rows

import (
	"fmt"

	"tensortapestry.org/tapc/backends/cpu/point"
	"tensortapestry.org/tapc/backends/cpu/unit"
)

// task writes what a thread does: some places.
func (r *Kernel) task() {
	unit.Task(r.Text, "", fmt.Sprintf("%s_task", r.name), "")
	r.Open("for (int64_t place = begin; place < end; place++) {")
	cut := r.r.Free && r.pieces() > 1
	rest := "place"
	if cut && len(r.Outer) > 0 {
		r.Line("const int64_t j0 = place %% %d * %d;", r.pieces(), r.piece)
		rest = fmt.Sprintf("place / %d", r.pieces())
	} else if cut {
		r.Line("const int64_t j0 = place * %d;", r.piece)
	}
	for i := len(r.Outer) - 1; i >= 0; i-- {
		a, step := r.Outer[i], ""
		if r.span.places > 0 && i == len(r.Outer)-1 {
			step = fmt.Sprintf(" * %d", r.span.places)
		}
		if i == 0 {
			r.Line("const int64_t %s = %s%s;", a.Variable, rest, step)
			break
		}
		r.Line("const int64_t rest%d = %s, %s = rest%d %% %d%s;", i, rest, a.Variable, i, r.placesOf(i), step)
		rest = fmt.Sprintf("rest%d / %d", i, r.placesOf(i))
	}
	switch {
	case len(r.r.Splits) > 0 && r.r.Free:
		r.sewn(cut)
	case r.span.places > 0:
		r.spans(cut)
	case r.r.Free:
		ahead := r.fetchAhead()
		r.vectors(cut, func(j, live, inside string) string {
			if !r.inside.guarded {
				return fmt.Sprintf("%s_cell(b%s, %s, %s%s);", r.name, point.Coordinates(r.Outer, ""), j, live, ahead)
			}
			return fmt.Sprintf("%s_cell(b%s, %s, %s, %s%s);", r.name, point.Coordinates(r.Outer, ""), j, live, inside, ahead)
		})
	default:
		r.Line("%s_cell(b%s);", r.name, point.Coordinates(r.Outer, ""))
	}
	r.Close()
	if r.streamed {
		r.Line("tapc_fence();")
	}
	r.Close()
}

// sewn writes the loops over the vectors of each part of a row, as far as they are in a piece.
func (r *Kernel) sewn(cut bool) {
	inside := ""
	if r.inside.guarded {
		inside = ", " + point.AtBorder
	}
	for i, x := range r.parts() {
		from, to := fmt.Sprint(x.From), fmt.Sprint(x.To)
		r.Open("{")
		if cut {
			r.Line("const int64_t from = j0 > %s ? j0 : %s, to = j0 + %d < %s ? j0 + %d : %s;", from, from, r.piece, to, r.piece, to)
			from, to = "from", "to"
		}
		r.Line("int64_t j = %s;", from)
		r.Line("for (; j + %d <= %s; j += %d) %s_cell%d(b%s, j, %d%s);", r.n, to, r.n, r.name, i, point.Coordinates(r.Outer, ""), r.n, inside)
		if cut || (x.To-x.From)%int64(r.n) != 0 {
			r.Line("if (j < %s) %s_cell%d(b%s, j, (int)(%s - j)%s);", to, r.name, i, point.Coordinates(r.Outer, ""), to, inside)
		}
		r.Close()
	}
}

// vectors writes the loop over the vectors of a piece, the last of which may have fewer live lanes. call gives the statement for the
// vector at j with some live lanes, at a border or inside of all.
func (r *Kernel) vectors(cut bool, call func(j, live, inside string) string) {
	n, extent := int64(r.n), r.lane.Extent
	whole, live := extent/n*n, extent%n
	from, to := "0", fmt.Sprint(whole)
	if cut {
		from = "j0"
		r.Line("const int64_t j1 = j0 + %d < %d ? j0 + %d : %d;", r.piece, whole, r.piece, whole)
		to = "j1"
	}
	if whole > 0 {
		r.Open("for (int64_t j = %s; j < %s; j += %d) {", from, to, n)
		border := call("j", fmt.Sprint(n), point.AtBorder)
		if b := r.inside; b.guarded && b.to-b.from >= n {
			r.Line("if (j >= %d && j <= %d) %s", b.from, b.to-n, call("j", fmt.Sprint(n), point.LanesInside))
			r.Line("else %s", border)
		} else {
			r.Line("%s", border)
		}
		r.Close()
	}
	if live == 0 {
		return
	}
	last := ""
	if cut {
		last = fmt.Sprintf("if (j0 + %d >= %d) ", r.piece, extent)
	}
	r.Line("%s%s", last, call(fmt.Sprint(whole), fmt.Sprint(live), point.AtBorder))
}
