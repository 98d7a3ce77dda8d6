// Package reshard says how a tensor gets from one layout on a mesh of devices to another: by which collectives, how many bytes arrive, and how long that
// takes on a machine.
//
// Groups of devices that differ along some axes of the mesh alone carry each step out, all groups at the same time. It knows layouts and machines, and no
// graphs. Read next: place.go, which prices steps; cost/collective has the algorithms.
package reshard

import (
	"slices"

	"tensortapestry.org/tapc/cost/collective"
	"tensortapestry.org/tapc/dialects/application/planfile"
)

// Layout says how a tensor lies on a mesh: along which axes each dimension is cut, and along which axes devices have partial results of it. Wide is how many
// times as large as its elements those of partial results are, as sums of narrow floats are rounded once; 0 is 1.
type Layout struct {
	Dims    []planfile.Axes
	Partial planfile.Axes
	Wide    int
}

// Slice is the step in which each device keeps a part of what it has: nothing is sent.
const Slice collective.Kind = "slice"

// Step is one collective, in each group of devices that differ along Axes alone. Bytes are those of one group, as package collective counts them: of an
// all-to-all, what a device has, of all others the whole.
type Step struct {
	Kind  collective.Kind
	Axes  planfile.Axes
	Dim   int // of the tensor, which it gathers, cuts or scatters; -1 for an all-reduce
	Bytes float64
}

// Arrives is how many bytes arrive at all devices of the mesh together. An all-reduce is a reduce-scatter and an all-gather, which is the least that it can be.
func (s Step) Arrives(m planfile.Mesh) float64 {
	n := float64(m.Parts(s.Axes))
	each := s.Bytes * (n - 1) / n
	switch s.Kind {
	case Slice:
		return 0
	case collective.Exchange:
		each = s.Bytes
	case collective.AllReduce:
		each *= 2
	}
	return each * float64(m.Devices())
}

// Arrive adds the bytes of steps up.
func Arrive(m planfile.Mesh, steps []Step) (sum float64) {
	for _, s := range steps {
		sum += s.Arrives(m)
	}
	return sum
}

// Leg is a step for tensors of any size on meshes of any sizes. Cut are the axes that cut what it begins with, and Wide is as a layout has it.
type Leg struct {
	Kind collective.Kind
	Axes planfile.Axes
	Dim  int
	Cut  planfile.Axes
	Wide int
}

// Step is that of a tensor of so many bytes on a mesh.
func (l Leg) Step(m planfile.Mesh, bytes float64) Step {
	return Step{l.Kind, l.Axes, l.Dim, bytes * float64(max(l.Wide, 1)) / float64(m.Parts(l.Cut))}
}

// Routes gives the sequences of steps that take a tensor from one layout to another, none twice: the first moves as little as it can; the
// last combines and gathers everything that does not agree, and keeps parts of that. There is none where the layouts are the same.
func Routes(from, to Layout) (routes [][]Leg) {
	for _, whole := range []bool{false, true} {
		w := &way{at: from.clone(), to: to}
		w.combine(whole)
		w.move(whole)
		if len(w.legs) > 0 && (len(routes) == 0 || !slices.EqualFunc(w.legs, routes[0], Leg.same)) {
			routes = append(routes, w.legs)
		}
	}
	return routes
}

func (l Leg) same(k Leg) bool {
	return l.Kind == k.Kind && l.Dim == k.Dim && slices.Equal(l.Axes, k.Axes)
}

// Ways gives the steps of the routes of a tensor of so many bytes on a mesh.
func Ways(m planfile.Mesh, bytes float64, from, to Layout) (ways [][]Step) {
	for _, r := range Routes(from, to) {
		steps := make([]Step, len(r))
		for i, l := range r {
			steps[i] = l.Step(m, bytes)
		}
		ways = append(ways, steps)
	}
	return ways
}

func (l Layout) clone() Layout {
	l.Dims, l.Partial = slices.Clone(l.Dims), slices.Clone(l.Partial)
	return l
}

// way is the work on one sequence.
type way struct {
	at   Layout // where it has got to
	to   Layout
	legs []Leg
}

// leg adds one, of what a device has here.
func (w *way) leg(k collective.Kind, axes planfile.Axes, dim int) {
	l := Leg{k, slices.Clone(axes), dim, slices.Concat(w.at.Dims...), 0}
	if k == collective.ReduceScatter || k == collective.AllReduce {
		l.Wide = w.at.Wide
	}
	w.legs = append(w.legs, l)
}

// combine combines partial results: scattered where they are to be cut along the axis, everywhere otherwise. What is wider until it is combined goes to all devices behind that.
func (w *way) combine(whole bool) {
	for k := range w.at.Dims {
		var run planfile.Axes
		for _, a := range w.rest(k) {
			if whole || !slices.Contains(w.at.Partial, a) {
				break
			}
			run = append(run, a)
		}
		if len(run) > 0 {
			w.leg(collective.ReduceScatter, run, k)
			w.at.Dims[k] = slices.Concat(w.at.Dims[k], run)
			w.at.Partial = without(w.at.Partial, run)
		}
	}
	if rest := without(w.at.Partial, w.to.Partial); len(rest) > 0 {
		if w.at.Wide > 1 && len(w.at.Dims) > 0 {
			w.leg(collective.ReduceScatter, rest, 0)
			w.leg(collective.AllGather, rest, 0)
		} else {
			w.leg(collective.AllReduce, rest, -1)
		}
		w.at.Partial = without(w.at.Partial, rest)
	}
}

// rest gives the axes by which a dimension is to be cut further than it is; none if it is cut by others.
func (w *way) rest(k int) planfile.Axes {
	if at, to := w.at.Dims[k], w.to.Dims[k]; len(at) <= len(to) && slices.Equal(at, to[:len(at)]) {
		return to[len(at):]
	}
	return nil
}

// move changes what is cut along which axes.
func (w *way) move(whole bool) {
	for {
		switch {
		case !whole && w.exchange():
		case !whole && w.keep():
		case w.gather():
		case w.keep():
		default:
			return
		}
	}
}

// exchange moves axes from the end of one dimension's to that of another's, as many as go together.
func (w *way) exchange() bool {
	for i, axes := range w.at.Dims {
		if len(axes) == 0 || len(axes) <= w.common(i) {
			continue
		}
		for j := range w.at.Dims {
			r := w.rest(j)
			for n := min(len(r), len(axes)-w.common(i)); j != i && n > 0; n-- {
				if last := axes[len(axes)-n:]; slices.Equal(last, r[:n]) {
					w.leg(collective.AllToAll, last, j)
					w.at.Dims[i] = axes[:len(axes)-n]
					w.at.Dims[j] = slices.Concat(w.at.Dims[j], last)
					return true
				}
			}
		}
	}
	return false
}

// common is how many of a dimension's axes are those that it is to have.
func (w *way) common(k int) int {
	n := 0
	for n < len(w.at.Dims[k]) && n < len(w.to.Dims[k]) && w.at.Dims[k][n] == w.to.Dims[k][n] {
		n++
	}
	return n
}

// keep cuts a dimension further by axes that cut no other.
func (w *way) keep() bool {
	for k := range w.at.Dims {
		var run planfile.Axes
		for _, a := range w.rest(k) {
			if slices.ContainsFunc(w.at.Dims, func(x planfile.Axes) bool { return slices.Contains(x, a) }) || slices.Contains(w.at.Partial, a) {
				break
			}
			run = append(run, a)
		}
		if len(run) > 0 {
			w.leg(Slice, run, k)
			w.at.Dims[k] = slices.Concat(w.at.Dims[k], run)
			return true
		}
	}
	return false
}

// gather gathers a dimension along the axes that it is not to have.
func (w *way) gather() bool {
	for k, axes := range w.at.Dims {
		if n := w.common(k); n < len(axes) {
			w.at.Dims[k] = axes[:n]
			w.leg(collective.AllGather, axes[n:], k)
			return true
		}
	}
	return false
}

func without(axes, others planfile.Axes) (list planfile.Axes) {
	for _, a := range axes {
		if !slices.Contains(others, a) {
			list = append(list, a)
		}
	}
	return list
}
