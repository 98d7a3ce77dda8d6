package zspace

import (
	"cmp"
	"math/big"
	"slices"
)

// The largest system that solve takes on: its cost grows with the cube of these.
const (
	maxSolveDims = 16
	maxSolveRows = 64
)

// solve applies linear algebra to the system |rows[k]·d| ≤ slack[k]. Rows without
// slack are equations. Each vector of the basis of their kernel is tried as a
// step; and if the kernel has one dimension or none, that decides, since every
// other solution is a multiple. Otherwise the reach of each dimension that the
// rows together determine is reduced to what their slack allows.
func (s *stepSearch) solve() (step Point, decided bool) {
	if len(s.dims) > maxSolveDims || len(s.rows) > maxSolveRows {
		return nil, false
	}
	order := make([]int, len(s.rows))
	for k := range order {
		order[k] = k
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(s.slack[a], s.slack[b]) })
	equations := 0
	for equations < len(order) && s.slack[order[equations]] == 0 {
		equations++
	}
	if step, decided := s.kernel(order[:equations]); decided {
		return step, true
	}
	s.reduceReach(order)
	return nil, false
}

// kernel tries the kernel of the equations. decided without a step means that
// there is none.
func (s *stepSearch) kernel(equations []int) (step Point, decided bool) {
	m := newElimination(s.rows, equations, len(s.dims))
	pivotOf := make([]int, len(s.dims)) // row by column, -1 for a free column
	for j := range pivotOf {
		pivotOf[j] = slices.Index(m.pivots, j)
	}
	free := len(s.dims) - len(m.pivots)
	for j, row := range pivotOf {
		if row >= 0 {
			continue
		}
		step, ok := primitive(m.kernelVector(j, pivotOf))
		if ok && s.within(step) && s.solved(step) != nil {
			return step, true
		}
	}
	return nil, free <= 1
}

func (s *stepSearch) within(step Point) bool {
	for i, d := range step {
		if magnitude(d) > uint64(s.reach[i]) {
			return false
		}
	}
	return true
}

// reduceReach uses that d[j] = Σ t[k]·(rows[k]·d) for every dimension j that the
// rows determine, so |d[j]| ≤ Σ |t[k]|·slack[k].
func (s *stepSearch) reduceReach(order []int) {
	m := newElimination(s.rows, order, len(s.dims))
	for r, j := range m.pivots {
		if !m.single(r) {
			continue
		}
		bound, t := new(big.Rat), new(big.Rat)
		for n, k := range order {
			t.Mul(t.Abs(m.rows[r][len(s.dims)+n]), new(big.Rat).SetInt64(s.slack[k]))
			bound.Add(bound, t)
		}
		whole := new(big.Int).Quo(bound.Num(), bound.Denom())
		if whole.IsInt64() {
			s.reach[j] = min(s.reach[j], whole.Int64())
		}
	}
}

// elimination is a matrix brought to reduced row echelon form in its first cols
// columns; the columns beyond hold the combination of the given rows that each
// row is.
type elimination struct {
	rows   [][]*big.Rat
	cols   int
	pivots []int // column of the leading one of row 0, 1, …
}

func newElimination(m Matrix, order []int, cols int) *elimination {
	e := &elimination{cols: cols, rows: make([][]*big.Rat, len(order))}
	for n, k := range order {
		e.rows[n] = make([]*big.Rat, cols+len(order))
		for j := range e.rows[n] {
			e.rows[n][j] = new(big.Rat)
		}
		for j, v := range m[k] {
			e.rows[n][j].SetInt64(v)
		}
		e.rows[n][cols+n].SetInt64(1)
	}
	for j := range cols {
		e.pivot(j)
	}
	return e
}

// pivot makes column j a unit column if a row below the pivots so far allows it.
// It takes the first such row, which keeps the given order.
func (e *elimination) pivot(j int) {
	top := len(e.pivots)
	r := top
	for r < len(e.rows) && e.rows[r][j].Sign() == 0 {
		r++
	}
	if r == len(e.rows) {
		return
	}
	e.rows[top], e.rows[r] = e.rows[r], e.rows[top]
	lead := new(big.Rat).Inv(e.rows[top][j])
	for _, v := range e.rows[top] {
		v.Mul(v, lead)
	}
	for i, row := range e.rows {
		if i != top && row[j].Sign() != 0 {
			subtractRow(row, e.rows[top], new(big.Rat).Set(row[j]))
		}
	}
	e.pivots = append(e.pivots, j)
}

func subtractRow(row, from []*big.Rat, factor *big.Rat) {
	t := new(big.Rat)
	for i, v := range row {
		v.Sub(v, t.Mul(from[i], factor))
	}
}

// single reports whether row r determines its pivot column by itself.
func (e *elimination) single(r int) bool {
	for j, v := range e.rows[r][:e.cols] {
		if j != e.pivots[r] && v.Sign() != 0 {
			return false
		}
	}
	return true
}

// kernelVector is the kernel vector with 1 at the free column j and 0 at the
// other free columns.
func (e *elimination) kernelVector(j int, pivotOf []int) []*big.Rat {
	out := make([]*big.Rat, e.cols)
	for i := range out {
		out[i] = new(big.Rat)
		if r := pivotOf[i]; r >= 0 {
			out[i].Neg(e.rows[r][j])
		}
	}
	out[j].SetInt64(1)
	return out
}

// primitive is the shortest integer multiple of v; ok is false when it does not
// fit in 64 bits.
func primitive(v []*big.Rat) (p Point, ok bool) {
	lcm, gcd, t := big.NewInt(1), new(big.Int), new(big.Int)
	for _, x := range v {
		t.GCD(nil, nil, lcm, x.Denom())
		lcm.Mul(lcm, t.Quo(x.Denom(), t))
	}
	whole := make([]*big.Int, len(v))
	for i, x := range v {
		whole[i] = new(big.Int).Mul(x.Num(), lcm)
		whole[i].Quo(whole[i], x.Denom())
		gcd.GCD(nil, nil, gcd, t.Abs(whole[i]))
	}
	p = make(Point, len(v))
	for i, x := range whole {
		x.Quo(x, gcd)
		if !x.IsInt64() {
			return nil, false
		}
		p[i] = x.Int64()
	}
	return p, true
}
