package access

import (
	"slices"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/ir/affine"
	"tensortapestry.org/tapc/ir/scalar"
)

// mostWrapped bounds the parts of what a kernel reads round the ends of dimensions.
const mostWrapped = 4

// unwrap rewrites a kernel that copies from coordinates which go round the end of a dimension, as a roll does, into one that chooses between the parts before
// and behind the end. It says whether it did: a part for each time that a coordinate has gone round, and no more than a few.
func unwrap(k *schedule.Kernel, at map[int]*scalar.Expr) bool {
	if k.Space().Empty() {
		return false
	}
	w := &wrapped{cutter: &cutter{k: k, at: at, digits: slices.Repeat([][]int64{{1}}, len(k.Loops))}, to: int(k.Statements[0].Store)}
	value := w.value(0, map[int]linear{})
	written, ok := w.rows(w.to, nil)
	if !ok || value == nil {
		return false
	}
	from, out := k.Operands[1-w.to], k.Operands[w.to]
	k.Operands = nil
	for range w.parts {
		from.Name = FreshName(k, from.Name)
		k.Operands = append(k.Operands, from)
	}
	k.Operands = append(k.Operands, out)
	k.Statements = slices.Clone(k.Statements)
	k.Statements[0].Value, k.Statements[0].Store = value, int64(len(w.parts))
	w.rewrite(append(w.parts, written))
	return true
}

// wrapped finds the parts of what a kernel reads round the ends of dimensions.
type wrapped struct {
	*cutter
	to    int        // the operand that it writes
	parts [][]linear // where each part is read
}

// value gives the element that is copied, where those of all folded loops before one are known; nil if one is no sum of loops, or there are too many parts.
func (w *wrapped) value(loop int, known map[int]linear) *scalar.Expr {
	for loop < len(w.k.Loops) && w.at[loop] == nil {
		loop++
	}
	if loop == len(w.k.Loops) {
		rows, ok := w.rows(1-w.to, known)
		if w.parts = append(w.parts, rows); !ok || len(w.parts) > mostWrapped {
			return nil
		}
		return scalar.NewLoad(len(w.parts)-1, w.k.Operands[w.to].Type())
	}
	e, extent := w.at[loop], w.k.Loops[loop].Extent()
	around := e.Op == scalar.Mod && e.Args[1].Op == scalar.Const && e.Args[1].Value.I == extent
	if around {
		e = e.Args[0]
	}
	x, ok := w.sum(e)
	lo, hi := w.reach(x)
	first, last := floorDiv(lo, extent), floorDiv(hi, extent)
	if !ok || w.k.Loops[loop].Start != 0 || !around && (first != 0 || last != 0) || last-first >= mostWrapped {
		return nil
	}
	var all *scalar.Expr
	for n := first; n <= last; n++ { // the parts behind come first, so that each is chosen before what follows it
		known[loop] = x.plus((n - first - last) * extent)
		one := w.value(loop+1, known)
		if one == nil {
			return nil
		}
		if all == nil {
			all = one
			continue
		}
		end := scalar.Number((first + last - n + 1) * extent)
		all = scalar.Must(scalar.Where, scalar.Must(scalar.Lt, e, end), one, all)
	}
	return all
}

// sum reads an expression as a sum of multiples of loops that are not folded.
func (w *wrapped) sum(e *scalar.Expr) (x linear, ok bool) {
	s, ok := affine.Of(e)
	x = linear{factors: map[digit]int64{}, constant: s.Constant}
	for l, f := range s.Factors {
		if f != 0 {
			x.factors[digit{l, 1}] = f
			ok = ok && w.at[l] == nil
		}
	}
	return x, ok && x.small()
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// plus adds a constant.
func (x linear) plus(n int64) linear {
	out := x.clone()
	out.constant += n
	return out
}
