// Package scan finds the reductions in a scheduled kernel whose values at all points of a dimension can be computed together: prefix
// scans, scatters, and the ranks and selections of a sort.
//
// A reduction of which a statement needs a value at every point of a dimension mostly costs time for each point and each value that it
// reduces. Those found here take the time of one. They are recognised by how they are built, never by name, so fused and user-made kernels have them
// too. The package must not import nest, which lists them among what a kernel is. Read next: form.go.
package scan

import (
	"slices"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/ir/permission"
	"tensortapestry.org/tapc/ir/scalar"
)

// Scans is a kernel with such reductions. Its statements are computed one after the other for all points of the loops that are not free.
type Scans struct {
	Forms   map[int][]*Form // by statement
	Free    []int           // loops of which each point is computed by itself: fewer than usual
	Live    []bool          // statements that are needed still
	Indexed *Indexed        // what the whole kernel is, or nil
	k       *schedule.Kernel
}

// Find finds the reductions with a form, if there are any, and none of them stands in the way of another.
func Find(k *schedule.Kernel) (*Scans, bool) {
	x := &Scans{Forms: map[int][]*Form{}, Free: k.Free(), k: k}
	r := reader{k}
	for i, s := range k.Statements {
		prefixes := 0
		s.Value.Walk(func(e *scalar.Expr) bool {
			f := r.formOf(s, e)
			if f == nil {
				return e.Op != scalar.Reduce // what is below depends on the loops reduced over
			}
			if f.Kind == Prefix {
				prefixes++
			}
			x.Forms[i] = append(x.Forms[i], f)
			x.Free = slices.DeleteFunc(x.Free, func(l int) bool { return slices.Contains(f.Ends(), l) })
			return false
		})
		if prefixes > 1 {
			return nil, false
		}
	}
	if len(x.Forms) == 0 || k.Space().Empty() {
		return nil, false
	}
	x.selections()
	x.needed()
	x.Indexed = x.indexed(r)
	return x, true
}

// Prefixes says whether no reduction that is needed has another form.
func (x *Scans) Prefixes() bool {
	for i, forms := range x.Forms {
		if x.Live[i] && slices.ContainsFunc(forms, func(f *Form) bool { return f.Kind != Prefix }) {
			return false
		}
	}
	return true
}

// Name is a word for what the kernel is.
func (*Scans) Name() string { return "scans" }

// Needs is no permission.
func (*Scans) Needs() permission.Set { return 0 }

// Inner gives those of some loops that are not free, ascending.
func (x *Scans) Inner(over []int64) []int {
	var out []int
	for _, l := range over {
		if !slices.Contains(x.Free, int(l)) {
			out = append(out, int(l))
		}
	}
	return out
}

// selections finds the scatters that give a selection. Those of one rank share it.
func (x *Scans) selections() {
	of := map[int]*Selection{}
	for i, s := range x.k.Statements {
		for _, f := range x.Forms[i] {
			rank := x.rankOf(s, f)
			if rank == nil {
				continue
			}
			at := f.Targets[0].Place.Ref
			if of[at] == nil {
				of[at] = &Selection{Rank: rank, Count: x.k.Loops[rank.Loop].Extent()}
			}
			of[at].First = max(of[at].First, x.k.Loops[f.Targets[0].Loop].End)
			f.Selection = of[at]
		}
	}
}

// rankOf gives the rank that is the place of the values of a scatter, if there is one cell for each of them; else nil.
func (x *Scans) rankOf(s schedule.Statement, f *Form) *Form {
	if f.Kind != Scatter || len(f.Targets) != 1 || len(f.Reduce.Over) != 1 || f.Targets[0].Place.Op != scalar.Local {
		return nil
	}
	t := f.Targets[0]
	place := x.k.Statements[t.Place.Ref]
	forms := x.Forms[t.Place.Ref]
	if len(forms) != 1 || forms[0].Kind != Rank || forms[0].Reduce != place.Value || forms[0].Loop != f.Reduce.Over[0] {
		return nil
	}
	i, j, p := x.k.Loops[forms[0].Loop], x.k.Loops[place.Value.Over[0]], x.k.Loops[t.Loop]
	if i.Start != j.Start || i.End != j.End || p.Start < 0 || p.End > j.Extent() ||
		!slices.Equal(x.Inner(place.Over), []int{forms[0].Loop}) || !slices.Equal(x.Inner(s.Over), []int{t.Loop}) {
		return nil
	}
	return forms[0]
}

// needed finds the statements that are computed, and the selections that stay: if something else reads a rank, all of it is
// computed, and so read.
func (x *Scans) needed() {
	x.Live = make([]bool, len(x.k.Statements))
	for i, s := range x.k.Statements {
		if s.Store >= 0 {
			x.need(i)
		}
	}
	for _, forms := range x.Forms {
		for _, f := range forms {
			if f.Selection != nil && x.Live[f.Targets[0].Place.Ref] {
				f.Selection = nil
			}
		}
	}
}

// need notes that a statement is computed, and those that it reads.
func (x *Scans) need(statement int) {
	if x.Live[statement] {
		return
	}
	x.Live[statement] = true
	x.needs(x.k.Statements[statement].Value, x.Forms[statement])
}

func (x *Scans) needs(e *scalar.Expr, forms []*Form) {
	e.Walk(func(e *scalar.Expr) bool {
		if e.Op == scalar.Local {
			x.need(e.Ref)
		}
		for _, f := range forms {
			if f.Reduce == e {
				for _, part := range f.Parts() {
					x.needs(part, nil)
				}
				return false
			}
		}
		return true
	})
}
