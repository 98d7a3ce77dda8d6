// Package reads derives from a kernel's statements what each of its operands is read at: pieces over the index, exact for every
// point of it.
//
// The facts are those of the declaration, which every back end computes from: accesses, the conditions on loops that guard them,
// and the whole numbers that places are computed from, with quotients, remainders and limits. What data decides counts as read
// wherever some data would read it. It knows nothing of graphs and of declarations. Read next: ir/zspace/pieces.
package reads

import (
	"cmp"
	"fmt"
	"slices"

	"tensortapestry.org/tapc/ir/affine"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/zspace"
	"tensortapestry.org/tapc/ir/zspace/pieces"
)

// Body is what a kernel computes: statements over dims from 0, which read operands.
type Body struct {
	Extents    []int64
	Index      []bool                     // which dims are those of the index
	Accesses   []zspace.AffineMap         // of each operand: from the dims to a coordinate
	Selections []int                      // the first operand that reads the same selection as each
	Known      func(selection int) *Known // what the constant that a selection's first operand reads holds; nil where that is none
	Statements []Statement
}

// Statement computes Value at every point of the dims in Over, for an output or, with Local, for later statements.
type Statement struct {
	Over  []int
	Local bool
	Value *scalar.Expr
}

// MaxPieces bounds the pieces of one operand.
const MaxPieces = 64

// TooMany is the reason where an operand has more pieces than that.
var TooMany = fmt.Sprintf("more than %d pieces", MaxPieces)

// TooManyCases is the reason where an expression that a place or a condition needs would be followed on more paths than that.
var TooManyCases = fmt.Sprintf("more than %d cases", maxCases)

// Derived is what a body reads of each selection over its index, by the number of the selection's first operand.
type Derived []struct {
	Pieces []pieces.Piece
	Reason string // why there are none, "" if there are or nothing is read
}

// Of gives what a body reads.
func Of(b *Body) Derived {
	w := &walker{body: b, found: make(Derived, len(b.Accesses))}
	for i, index := range b.Index {
		if index {
			w.index.Start, w.index.End = append(w.index.Start, 0), append(w.index.End, b.Extents[i])
		}
	}
	for _, s := range b.Statements {
		if !s.Local {
			w.walk(s.Value, w.start(s.Over))
		}
	}
	return w.found
}

type walker struct {
	body   *Body
	index  zspace.Range
	found  Derived
	reason string // why an expression has no values on a path, if others like it have some
}

// start gives the path of a statement that is stored: the dims of the index are its first variables, and others run.
func (w *walker) start(over []int) *path {
	p := &path{env: make([]affine.Sum, len(w.body.Extents)), known: make([]bool, len(w.body.Extents))}
	for i, index := range w.body.Index {
		if index {
			p.env[i], p.known[i] = p.variable(w.body.Extents[i]), true
		}
	}
	for _, d := range over {
		if !p.known[d] {
			p.run(d, w.body.Extents[d])
		}
	}
	return p
}

// walk notes what an expression reads at the points of a path.
func (w *walker) walk(e *scalar.Expr, p *path) {
	switch {
	case e.Op == scalar.Load:
		w.load(e.Ref, p)
	case e.Op == scalar.Local:
		w.walk(w.body.Statements[e.Ref].Value, p)
	case e.IsAt():
		w.walk(e.Args[1], p)
		w.at(e, p)
	case e.Op == scalar.Reduce:
		q := p.clone()
		for _, d := range e.Over {
			q.run(d, w.body.Extents[d])
		}
		w.walk(e.Args[0], q)
	case e.Op == scalar.Where:
		w.walk(e.Args[0], p)
		for i, want := range []bool{true, false} {
			for _, q := range w.truth(e.Args[0], want, p) {
				w.walk(e.Args[1+i], q)
			}
		}
	default:
		for _, a := range e.Args {
			w.walk(a, p)
		}
	}
}

// at walks what is read at a place, which is nothing where it lies outside the dim.
func (w *walker) at(e *scalar.Expr, p *path) {
	d := e.Over[0]
	w.reason = ""
	places, ok := w.values(e.Args[1], p)
	if !ok {
		q := w.given(p)
		q.run(d, w.body.Extents[d])
		w.walk(e.Args[0], q)
		return
	}
	for _, v := range places {
		q := v.path.clone()
		q.env[d], q.known[d] = v.sum, true
		if q.within(v.sum, 0, w.body.Extents[d]) {
			w.walk(e.Args[0], q)
		}
	}
}

// given is a path on which data, as far as is known, decides an expression that has no values: with the reason, if there is one.
func (w *walker) given(p *path) *path {
	q := p.clone()
	q.reason = cmp.Or(q.reason, w.reason)
	return q
}

// load notes that an operand is read at the points of a path.
func (w *walker) load(operand int, p *path) {
	found := &w.found[w.body.Selections[operand]]
	if found.Reason != "" {
		return
	}
	q := p
	for _, row := range w.body.Accesses[operand].Projection {
		for d, a := range row {
			if a != 0 && !q.known[d] { // what no statement runs along is read whole
				q = q.clone()
				q.run(d, w.body.Extents[d])
			}
		}
	}
	cells, _ := w.cell(operand, q)
	if p.wild() {
		found.Pieces, found.Reason = nil, "a coordinate leaves 50 bits"
		return
	}
	vars := q.box.Rank()
	x := pieces.Piece{Window: slices.Clone(q.box.End[w.index.Rank():]), Guards: affineOf(q.guards, vars), Cells: affineOf(cells, vars)}
	if w.index.Empty() {
		return
	}
	x, some := x.Simplify(w.index)
	if !some || slices.ContainsFunc(found.Pieces, func(y pieces.Piece) bool { return y.Covers(&x) }) {
		return
	}
	if q.reason != "" {
		found.Pieces, found.Reason = nil, q.reason
		return
	}
	found.Pieces = slices.DeleteFunc(found.Pieces, func(y pieces.Piece) bool { return x.Covers(&y) })
	found.Pieces = append(found.Pieces, x)
	if len(found.Pieces) > MaxPieces {
		found.Pieces, found.Reason = nil, TooMany
	}
}

func affineOf(sums []affine.Sum, vars int) zspace.AffineMap {
	var a zspace.AffineMap
	for _, s := range sums {
		a.Projection, a.Offset = append(a.Projection, s.Row(vars)), append(a.Offset, s.Constant)
	}
	return a
}
