package access

import (
	"fmt"
	"slices"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/zspace"
)

// Cut rewrites a kernel that copies from places which it works out with quotients and remainders, as one that joins dimensions
// does, into one that steps through them: its loops are cut where the quotients jump. So it does with products of such places, as
// of heads of queries that share their keys. It says whether it did.
func Cut(k *schedule.Kernel) bool {
	at, load := placesOf(k)
	if load == nil {
		at = sharedPlaces(k)
	}
	if len(at) == 0 {
		return false
	}
	c := &cutter{k: k, at: at}
	for l := range k.Loops {
		c.digits = append(c.digits, []int64{1})
		if _, folded := at[l]; !folded && k.Loops[l].Start == 0 && k.Loops[l].Extent() > 1 {
			c.digits[l] = c.steps(l)
		}
	}
	accesses := make([][]linear, len(k.Operands))
	for i := range accesses {
		var ok bool
		if accesses[i], ok = c.follow(i); !ok {
			return load != nil && unwrap(k, at)
		}
	}
	c.rewrite(accesses)
	return true
}

// sharedPlaces gives, for a kernel that sums products of operands at worked out places, these places by their loops; nil if it is
// none, or something else is done at such a place.
func sharedPlaces(k *schedule.Kernel) map[int]*scalar.Expr {
	at, products, good := map[int]*scalar.Expr{}, false, true
	for _, s := range k.Statements {
		s.Value.Walk(func(e *scalar.Expr) bool {
			if e.IsAt() {
				index, known := at[e.Over[0]]
				good = good && e.Args[0].Op == scalar.Load && (!known || index.Equal(e.Args[1]))
				at[e.Over[0]] = e.Args[1]
			}
			products = products || e.Op == scalar.Reduce && e.Monoid == scalar.Add && e.Args[0].Op == scalar.Mul &&
				slices.ContainsFunc(e.Args[0].Args, (*scalar.Expr).IsAt)
			return true
		})
	}
	if !good || !products {
		return nil
	}
	for _, s := range k.Statements { // their loops do nothing else
		s.Value.Walk(func(e *scalar.Expr) bool {
			if e.Op == scalar.Loop {
				good = good && at[e.Ref] == nil
			}
			if e.Op == scalar.Reduce && !e.IsAt() {
				good = good && !slices.ContainsFunc(e.Over, func(l int) bool { return at[l] != nil })
			}
			return true
		})
		good = good && !slices.ContainsFunc(s.Over, func(l int64) bool { return at[int(l)] != nil })
	}
	if !good {
		return nil
	}
	return at
}

// placesOf gives, for a kernel that only copies, the places at which the loops of what it reads stand, and the load; nil if it is
// none.
func placesOf(k *schedule.Kernel) (at map[int]*scalar.Expr, load *scalar.Expr) {
	if len(k.Statements) != 1 || len(k.Operands) != 2 || k.Statements[0].Store < 0 {
		return nil, nil
	}
	at = map[int]*scalar.Expr{}
	e := k.Statements[0].Value
	for ; e.IsAt(); e = e.Args[0] {
		at[e.Over[0]] = e.Args[1]
	}
	if e.Op != scalar.Load || k.Operands[e.Ref].Mode != schedule.Read {
		return nil, nil
	}
	return at, e
}

type cutter struct {
	k      *schedule.Kernel
	at     map[int]*scalar.Expr
	digits [][]int64 // by loop: the steps of the loops that it becomes, outermost first
}

// linear is a sum of multiples of the loops that loops become, and a constant.
type linear struct {
	factors  map[digit]int64
	constant int64
}

// digit is one of the loops that a loop becomes.
type digit struct {
	loop int
	step int64
}

// steps gives the steps that a loop is cut into: wherever a quotient or remainder of a sum that it is part of jumps.
func (c *cutter) steps(loop int) []int64 {
	out := []int64{1}
	extent := c.k.Loops[loop].Extent()
	add := func(n int64) {
		if n > 1 && n < extent && extent%n == 0 && !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	for _, e := range c.at {
		for e.Op == scalar.Mod || e.Op == scalar.Rem || e.Op == scalar.Div {
			if e.Args[1].Op != scalar.Const || e.Args[1].Value.I <= 0 {
				break
			}
			if f := factorOf(e.Args[0], loop); f > 0 && e.Args[1].Value.I%f == 0 {
				add(e.Args[1].Value.I / f)
			}
			e = e.Args[0]
		}
	}
	slices.Sort(out)
	for i := 1; i < len(out); i++ {
		if out[i]%out[i-1] != 0 {
			return []int64{1}
		}
	}
	slices.Reverse(out)
	return out
}

// factorOf gives the multiple of a loop's value in a sum, or 0 if that is not known.
func factorOf(e *scalar.Expr, loop int) int64 {
	switch {
	case e.Op == scalar.Loop && e.Ref == loop:
		return 1
	case e.Op == scalar.Add:
		return max(factorOf(e.Args[0], loop), factorOf(e.Args[1], loop))
	case e.Op == scalar.Mul && e.Args[1].Op == scalar.Const:
		return factorOf(e.Args[0], loop) * max(0, e.Args[1].Value.I)
	case e.Op == scalar.Mul && e.Args[0].Op == scalar.Const:
		return factorOf(e.Args[1], loop) * max(0, e.Args[0].Value.I)
	}
	return 0
}

// value reads an expression of loops as a sum of multiples of digits; ok is false for others.
func (c *cutter) value(e *scalar.Expr) (x linear, ok bool) {
	x.factors = map[digit]int64{}
	if e.Type != scalar.Int64 {
		return x, false
	}
	switch e.Op {
	case scalar.Const:
		x.constant = e.Value.I
		return x, x.small()
	case scalar.Loop:
		if _, folded := c.at[e.Ref]; folded {
			return x, false
		}
		for _, step := range c.digits[e.Ref] {
			x.factors[digit{e.Ref, step}] = step
		}
		return x, true
	case scalar.Add, scalar.Mul, scalar.Div, scalar.Rem, scalar.Mod:
	default:
		return x, false
	}
	a, okA := c.value(e.Args[0])
	b, okB := c.value(e.Args[1])
	switch {
	case !okA || !okB:
		return x, false
	case e.Op == scalar.Add:
		for d, f := range b.factors {
			a.factors[d] += f
		}
		a.constant += b.constant
		return a, a.small()
	case len(b.factors) > 0:
		a, b = b, a
		if e.Op != scalar.Mul || len(b.factors) > 0 {
			return x, false
		}
		fallthrough
	case e.Op == scalar.Mul:
		for d := range a.factors {
			a.factors[d] *= b.constant
		}
		a.constant *= b.constant
		return a, a.small()
	}
	return c.divided(a, b.constant, e.Op == scalar.Div)
}

// mostFactor bounds the numbers in a sum, so that products of two of them do not overflow.
const mostFactor = 1 << 31

func (x linear) small() bool {
	for _, f := range x.factors {
		if f > mostFactor || f < -mostFactor {
			return false
		}
	}
	return x.constant <= mostFactor && x.constant >= -mostFactor
}

// divided gives the quotient or the remainder of a sum by n, if the part of it that n does not divide stays below n.
func (c *cutter) divided(x linear, n int64, quotient bool) (linear, bool) {
	lo, _ := c.reach(x)
	if n <= 0 || lo < 0 {
		return x, false
	}
	whole, rest := linear{factors: map[digit]int64{}, constant: x.constant / n}, linear{factors: map[digit]int64{}, constant: x.constant % n}
	for d, f := range x.factors {
		if f%n == 0 {
			whole.factors[d] = f / n
		} else {
			rest.factors[d] = f
		}
	}
	if lo, hi := c.reach(rest); lo < 0 || hi >= n {
		return x, false
	}
	if quotient {
		return whole, true
	}
	return rest, true
}

// ends gives the first and the last value of a digit.
func (c *cutter) ends(d digit) (first, last int64) {
	loop := c.k.Loops[d.loop]
	steps := c.digits[d.loop]
	if i := slices.Index(steps, d.step); i > 0 {
		return 0, steps[i-1]/d.step - 1
	}
	return loop.Start, (loop.End - 1) / d.step
}

// follow gives the access of what is read in terms of digits, a sum for each dimension; ok is false if one may be beyond its loop.
func (c *cutter) follow(operand int) ([]linear, bool) {
	places := map[int]linear{}
	for l, e := range c.at {
		x, ok := c.value(e)
		if !ok {
			return nil, false
		}
		if lo, hi := c.reach(x); lo < c.k.Loops[l].Start || hi >= c.k.Loops[l].End {
			return nil, false // zero stands for some elements
		}
		places[l] = x
	}
	return c.rows(operand, places)
}

// rows gives the access of an operand in terms of digits, where folded loops have known values.
func (c *cutter) rows(operand int, known map[int]linear) ([]linear, bool) {
	o := c.k.Operands[operand]
	out := make([]linear, len(o.Access.Projection))
	for d, row := range o.Access.Projection {
		out[d] = linear{factors: map[digit]int64{}, constant: o.Access.Offset[d]}
		for l, f := range row {
			x, folded := known[l]
			if !folded {
				x, _ = c.value(scalar.NewLoop(l))
			}
			for dig, g := range x.factors {
				out[d].factors[dig] += f * g
			}
			out[d].constant += f * x.constant
		}
		if !out[d].small() {
			return nil, false
		}
	}
	return out, true
}

// rewrite gives the kernel a loop for every digit and none for those whose place is known.
func (c *cutter) rewrite(accesses [][]linear) {
	k, number := c.k, map[digit]int{}
	var loops []schedule.Loop
	for l, old := range k.Loops {
		if _, folded := c.at[l]; folded {
			continue
		}
		for i, step := range c.digits[l] {
			one := schedule.Loop{Name: old.Name, Start: old.Start, End: old.End, Levels: []schedule.Level{{Tile: 1, Bind: schedule.Serial}}}
			if len(c.digits[l]) == 1 {
				one.Of = old.Of
			} else {
				one.Name = FreshName(k, fmt.Sprintf("%s_%d", old.Name, i))
				first, last := c.ends(digit{l, step})
				one.Start, one.End = first, last+1
			}
			number[digit{l, step}] = len(loops)
			loops = append(loops, one)
		}
	}
	for i, rows := range accesses {
		access := zspace.AffineMap{Projection: make(zspace.Matrix, len(rows)), Offset: make(zspace.Point, len(rows))}
		for d, x := range rows {
			access.Projection[d] = make([]int64, len(loops))
			access.Offset[d] = x.constant
			for dig, f := range x.factors {
				access.Projection[d][number[dig]] = f
			}
		}
		k.Operands[i].Access = access
	}
	for i := range k.Statements {
		s := &k.Statements[i]
		over := make([]int, len(s.Over))
		for x, l := range s.Over {
			over[x] = int(l)
		}
		s.Over = nil
		for _, l := range c.over(over, number) {
			s.Over = append(s.Over, int64(l))
		}
		s.Value = s.Value.Map(func(e *scalar.Expr) *scalar.Expr { return c.moved(e, number) })
	}
	k.Loops = loops
}

// over gives the loops that some loops become.
func (c *cutter) over(loops []int, number map[digit]int) []int {
	var out []int
	for _, l := range loops {
		for _, step := range c.digits[l] {
			out = append(out, number[digit{l, step}])
		}
	}
	slices.Sort(out)
	return out
}

// moved gives what stands in an expression's place in terms of the loops that loops become.
func (c *cutter) moved(e *scalar.Expr, number map[digit]int) *scalar.Expr {
	switch {
	case e.IsAt():
		return e.Args[0]
	case e.Op == scalar.Reduce:
		return e.WithOver(c.over(e.Over, number))
	case e.Op != scalar.Loop:
		return e
	}
	var sum *scalar.Expr
	for _, step := range c.digits[e.Ref] {
		term := scalar.NewLoop(number[digit{e.Ref, step}])
		if step != 1 {
			term = scalar.Must(scalar.Mul, term, scalar.Number(step))
		}
		if sum != nil {
			term = scalar.Must(scalar.Add, sum, term)
		}
		sum = term
	}
	return sum
}

// Reach gives the least and greatest value of a sum.
func (c *cutter) reach(x linear) (lo, hi int64) {
	lo, hi = x.constant, x.constant
	for d, f := range x.factors {
		first, last := c.ends(d)
		lo += min(f*first, f*last)
		hi += max(f*first, f*last)
	}
	return lo, hi
}
