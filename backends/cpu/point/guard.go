package point

import (
	"fmt"
	"slices"
	"strings"

	"tensortapestry.org/tapc/ir/affine"

	"tensortapestry.org/tapc/backends/cpu/vector"
	"tensortapestry.org/tapc/ir/scalar"
)

// Guarded writes a load under a guard that lanes differ in.
func (p *Point) Guarded(e *scalar.Expr) (vector.Value, bool) {
	sums, ok := affine.Guards(e)
	if !ok || p.Along < 0 || e.Type == scalar.Bool || !UsesAny(p.Axes[p.Along].Loops, e.Args[0]) {
		return vector.Value{}, false
	}
	ref, far := e.Args[1].Ref, false
	guards := make([]vector.Guard, len(sums))
	for i, a := range sums {
		guards[i] = vector.Guard{Text: p.affine(a), Growth: a.Factor(p.Axes[p.Along].Inner())}
		far = far || max(guards[i].Growth, -guards[i].Growth) > 1
	}
	if far || p.Axes[p.Along].Step(p.Views[ref]) != 1 {
		return p.laneByLane(e), true
	}
	return p.V.Of(e.Type, p.N).Guarded(p.address(ref), guards, e.Args[2].Value, p.Count), true
}

// affine writes the value of a sum of loop values at the first lane.
func (p *Point) affine(a affine.Sum) string {
	constant := a.Constant
	var terms []string
	for l, f := range a.Factors {
		if f == 0 {
			continue
		}
		constant += f * p.K.Loops[l].Start
		for _, x := range p.Axes {
			switch {
			case x.Inner() != l:
			case f == 1:
				terms = append(terms, x.Variable)
			default:
				terms = append(terms, fmt.Sprintf("%s * %s", x.Variable, Number(f)))
			}
		}
	}
	return strings.Join(append(terms, Number(constant)), " + ")
}

// laneByLane writes a guarded load whose lanes are not neighbours.
func (p *Point) laneByLane(e *scalar.Expr) vector.Value {
	ref, lane := e.Args[1].Ref, *p
	lane.Axes = slices.Clone(p.Axes)
	at := func(offset string) string {
		lane.Axes[p.Along].Variable = fmt.Sprintf("(%s + %s)", p.Axes[p.Along].Variable, offset)
		lane.Along = -1
		return p.V.Expr(e.Args[0], p.N, &lane).Text
	}
	first, last, inside := at("0"), at(fmt.Sprintf("(%s) - 1", p.Count)), at("l")
	return p.V.Of(e.Type, p.N).LaneByLane(first, last, p.Load(ref), inside, lane.Load(ref).Text, e.Args[2].Value, p.Count)
}
