// Package join makes one scheduled kernel of two: of a producer and its consumer, or of two that read the same elements. It decides nothing: whether the
// two may be one, and whether that pays, package fuse says. Read next: passes/fuse/unite.go.
package join

import (
	"slices"
	"strconv"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/zspace"
	"tensortapestry.org/tapc/passes/fuse/access"
)

// Joiner makes one kernel of a producer and its consumer, or of two that read the same elements.
type Joiner struct {
	k, c    *schedule.Kernel
	links   []link
	loopOf  []int   // the consumer's loop for each of the producer's loops
	shift   []int64 // producer's loop = joined loop + shift
	operand [2][]int
	joined  *schedule.Kernel
	names   map[string]bool
}

// link is a result of the producer that the consumer reads.
type link struct {
	out   int   // the producer's operand
	in    []int // operands of the consumer that read it, all at the same place
	kept  bool  // it is stored as well
	value int   // number of the statement that computes it
}

// New makes a joiner of two kernels of which nothing is known yet.
func New(k, c *schedule.Kernel) *Joiner { return &Joiner{k: k, c: c} }

// Of makes the joiner of a producer and its consumer, some of whose operands read the producer's first result.
func Of(k, c *schedule.Kernel, in []int) *Joiner {
	out := slices.IndexFunc(k.Operands, func(o schedule.Operand) bool { return o.Mode == schedule.Write })
	j := &Joiner{k: k, c: c, links: []link{{out: out, in: in}}}
	j.loops(k.Operands[out].Access, c.Operands[in[0]].Access)
	return j
}

// Link notes that the consumer reads a result of the producer through some operands; kept says that it is stored as well.
func (j *Joiner) Link(out int, in []int, kept bool) {
	j.links = append(j.links, link{out: out, in: in, kept: kept})
}

// Links is how many results of the producer the consumer reads.
func (j *Joiner) Links() int { return len(j.links) }

// Loops gives the consumer's loop for each of the producer's loops, -1 for none; nil if nothing leads from one to the other.
func (j *Joiner) Loops() []int { return j.loopOf }

// Join makes the joined kernel, which waits for nothing yet.
func (j *Joiner) Join() *schedule.Kernel {
	for i, l := range j.k.Loops {
		j.loop(i, l)
	}
	j.operands()
	j.statements()
	return j.joined
}

// linkOf gives the link that one of the producer's operands is, if any.
func (j *Joiner) linkOf(out int) *link {
	for i := range j.links {
		if j.links[i].out == out {
			return &j.links[i]
		}
	}
	return nil
}

// linkTo gives the link that one of the consumer's operands reads, if any.
func (j *Joiner) linkTo(in int) *link {
	for i := range j.links {
		if slices.Contains(j.links[i].in, in) {
			return &j.links[i]
		}
	}
	return nil
}

func (j *Joiner) name(base string) string {
	try := base
	for i := 1; j.names[try]; i++ {
		try = base + "_" + strconv.Itoa(i)
	}
	j.names[try] = true
	return try
}

// loops keeps the consumer's loops first, and finds those of them that the producer's result runs along: what the producer accesses so, and the
// consumer so, are the same elements.
func (j *Joiner) loops(write, read zspace.AffineMap) {
	j.joined = &schedule.Kernel{Name: j.k.Name + "+" + j.c.Name, Device: j.c.Device,
		Applications: append(slices.Clone(j.k.Applications), j.c.Applications...)}
	j.names = map[string]bool{}
	for _, l := range j.c.Loops {
		l.Name = j.name(l.Name)
		j.joined.Loops = append(j.joined.Loops, l)
	}
	j.loopOf = make([]int, len(j.k.Loops))
	j.shift = make([]int64, len(j.k.Loops))
	for i := range j.loopOf {
		j.loopOf[i] = -1
	}
	for i, row := range write.Projection {
		a, _ := access.Unit(row, j.k.Loops)
		b, _ := access.Unit(read.Projection[i], j.c.Loops)
		if a < 0 { // one value of a loop that was cut: the whole operation runs along it, and sums follow that
			a, b = access.Part(row, j.k.Loops), access.Part(read.Projection[i], j.c.Loops)
		}
		if a >= 0 && b >= 0 {
			j.loopOf[a] = b
			j.shift[a] = j.k.Loops[a].Start - j.c.Loops[b].Start
		}
	}
}

// loop adds a loop of the producer that its result does not run along.
func (j *Joiner) loop(i int, l schedule.Loop) {
	if j.loopOf[i] >= 0 {
		return
	}
	if l.Extent() == 1 && slices.Contains(j.k.Parallel(), i) && !access.Folds(j.k, i) {
		j.shift[i] = l.Start // a single value: folded into offsets
		return
	}
	j.loopOf[i] = len(j.joined.Loops)
	l.Name = j.name(l.Name)
	j.joined.Loops = append(j.joined.Loops, l)
}

// access rewrites a producer's access in terms of the joined loops.
func (j *Joiner) access(a zspace.AffineMap) zspace.AffineMap {
	out := zspace.AffineMap{Projection: make(zspace.Matrix, len(a.Projection)), Offset: a.Offset.Clone()}
	for i, row := range a.Projection {
		out.Projection[i] = make([]int64, len(j.joined.Loops))
		for l, factor := range row {
			out.Offset[i] += factor * j.shift[l]
			if j.loopOf[l] >= 0 {
				out.Projection[i][j.loopOf[l]] += factor
			}
		}
	}
	return out
}

func (j *Joiner) operands() {
	add := func(o schedule.Operand) int {
		for i, have := range j.joined.Operands {
			if have.Buffer == o.Buffer && have.Mode == o.Mode && have.Access.Equal(o.Access) {
				return i
			}
		}
		o.Name = j.name(o.Name)
		j.joined.Operands = append(j.joined.Operands, o)
		return len(j.joined.Operands) - 1
	}
	for i, o := range j.k.Operands {
		number := -1
		if l := j.linkOf(i); l == nil || l.kept {
			o.Access = j.access(o.Access)
			number = add(o)
		}
		j.operand[0] = append(j.operand[0], number)
	}
	for i, o := range j.c.Operands {
		number := -1
		if j.linkTo(i) == nil {
			o.Access = j.widen(o.Access)
			number = add(o)
		}
		j.operand[1] = append(j.operand[1], number)
	}
}

// widen adds columns of zeros for the loops that the producer brought.
func (j *Joiner) widen(a zspace.AffineMap) zspace.AffineMap {
	out := zspace.AffineMap{Projection: make(zspace.Matrix, len(a.Projection)), Offset: a.Offset.Clone()}
	for i, row := range a.Projection {
		out.Projection[i] = append(slices.Clone(row), make([]int64, len(j.joined.Loops)-len(row))...)
	}
	return out
}

func (j *Joiner) statements() {
	for i, s := range j.k.Statements {
		if l := j.linkOf(int(s.Store)); l != nil {
			l.value, s.Store = i, -1
		} else if s.Store >= 0 {
			s.Store = int64(j.operand[0][s.Store])
		}
		var over []int64
		for _, l := range s.Over {
			if to := j.loopOf[l]; to >= 0 {
				over = append(over, int64(to))
			}
		}
		slices.Sort(over)
		s.Over = over
		s.Name = j.name(s.Name)
		s.Value = j.rename(s.Value, 0)
		j.joined.Statements = append(j.joined.Statements, s)
	}
	for _, l := range j.links {
		if s := j.joined.Statements[l.value]; l.kept {
			j.joined.Statements = append(j.joined.Statements, schedule.Statement{Name: j.name(s.Name), Over: s.Over,
				Store: int64(j.operand[0][l.out]), Value: scalar.NewLocal(l.value, s.Value.Type)})
		}
	}
	base := len(j.joined.Statements)
	for _, s := range j.c.Statements {
		if s.Store >= 0 {
			s.Store = int64(j.operand[1][s.Store])
		}
		s.Name = j.name(s.Name)
		s.Value = j.rename(s.Value, base)
		j.joined.Statements = append(j.joined.Statements, s)
	}
	passOn(j.joined)
	DropUnused(j.joined)
}

// passOn puts what is loaded, or computed by another statement, in place of local values that are just that.
func passOn(k *schedule.Kernel) {
	for i, s := range k.Statements {
		k.Statements[i].Value = s.Value.Map(func(e *scalar.Expr) *scalar.Expr {
			if e.Op == scalar.Local {
				if x := k.Statements[e.Ref].Value; k.Statements[e.Ref].Store < 0 && (x.Op == scalar.Load || x.Op == scalar.Local) {
					return x
				}
			}
			return e
		})
	}
}

// DropUnused removes the local values that nothing uses: those of a producer whose result a consumer has as an operand and
// does not read, as a kernel whose parameters leave nothing to compute.
func DropUnused(k *schedule.Kernel) {
	used := make([]bool, len(k.Statements))
	for i, s := range slices.Backward(k.Statements) {
		if used[i] = used[i] || s.Store >= 0; used[i] {
			s.Value.Walk(func(e *scalar.Expr) bool {
				if e.Op == scalar.Local {
					used[e.Ref] = true
				}
				return true
			})
		}
	}
	if !slices.Contains(used, false) {
		return
	}
	number, kept := make([]int, len(used)), k.Statements[:0:0]
	for i, s := range k.Statements {
		if number[i] = len(kept); used[i] {
			s.Value = s.Value.Map(func(e *scalar.Expr) *scalar.Expr {
				if e.Op == scalar.Local {
					return scalar.NewLocal(number[e.Ref], e.Type)
				}
				return e
			})
			kept = append(kept, s)
		}
	}
	k.Statements = kept
}

// rename rewrites the references of a value: of the producer (base 0) or of the consumer, whose statements come behind.
func (j *Joiner) rename(e *scalar.Expr, base int) *scalar.Expr {
	side := 0
	if base > 0 {
		side = 1
	}
	return e.Map(func(e *scalar.Expr) *scalar.Expr {
		switch {
		case e.Op == scalar.Load && side == 1 && j.linkTo(e.Ref) != nil:
			return scalar.NewLocal(j.linkTo(e.Ref).value, e.Type)
		case e.Op == scalar.Load && j.operand[side][e.Ref] != e.Ref:
			return scalar.NewLoad(j.operand[side][e.Ref], e.Type)
		case e.Op == scalar.Loop && side == 0:
			return j.loopValue(e.Ref)
		case e.Op == scalar.Local && base > 0:
			return scalar.NewLocal(e.Ref+base, e.Type)
		case e.Op == scalar.Reduce && side == 0:
			over := make([]int, len(e.Over))
			for i, l := range e.Over {
				over[i] = j.loopOf[l]
			}
			return e.WithOver(over)
		}
		return e
	})
}

// loopValue gives the value of a producer's loop in terms of the joined loops.
func (j *Joiner) loopValue(loop int) *scalar.Expr {
	shift := scalar.Number(j.shift[loop])
	switch {
	case j.loopOf[loop] < 0:
		return shift
	case j.shift[loop] == 0:
		return scalar.NewLoop(j.loopOf[loop])
	}
	return scalar.Must(scalar.Add, scalar.NewLoop(j.loopOf[loop]), shift)
}

// Follow takes the producer's loops for the consumer's that lead to the same elements of an operand of each, one at each point. It says whether
// there are such, and they are the same for all operands.
func (j *Joiner) Follow(out, in int) bool {
	if !samePoints(j.k, out, j.c, in) {
		return false
	}
	loops, shift := j.loopOf, j.shift
	j.loops(j.k.Operands[out].Access, j.c.Operands[in].Access)
	return loops == nil || slices.Equal(loops, j.loopOf) && slices.Equal(shift, j.shift)
}

// samePoints says whether an operand leads to the same elements, one at each point, as one of another kernel does.
func samePoints(k *schedule.Kernel, i int, c *schedule.Kernel, j int) bool {
	a, b := k.Operands[i].Access, c.Operands[j].Access
	_, okA := access.Inverse(k, a)
	_, okB := access.Inverse(c, b)
	if !okA || !okB {
		return false
	}
	for d, row := range a.Projection {
		x, _ := access.Unit(row, k.Loops)
		y, _ := access.Unit(b.Projection[d], c.Loops)
		if (x < 0) != (y < 0) {
			return false
		}
	}
	read, errA := access.Reach(k, i)
	also, errB := access.Reach(c, j)
	return errA == nil && errB == nil && read.Equal(also)
}

// Together lets the producer's folds run along loops of the consumer along which both read the same, so that what they read can become
// a local value for both.
func (j *Joiner) Together() {
	for i, l := range j.k.Loops {
		if j.loopOf[i] >= 0 || l.Extent() == 1 {
			continue
		}
		for m, c := range j.c.Loops {
			if slices.Contains(j.loopOf, m) || c.Extent() != l.Extent() || c.Start != l.Start {
				continue
			}
			if j.loopOf[i] = m; j.sameRead() {
				break
			}
			j.loopOf[i] = -1
		}
	}
}

// sameRead says whether the producer and the consumer read the same elements of some buffer at the same time, as far as their
// loops are known to be the same.
func (j *Joiner) sameRead() bool {
	for _, p := range j.k.Operands {
		for _, c := range j.c.Operands {
			if p.Mode != schedule.Read || p.Buffer != c.Buffer || c.Mode != schedule.Read {
				continue
			}
			same := true
			for d, row := range p.Access.Projection {
				a, okA := access.Unit(row, j.k.Loops)
				b, okB := access.Unit(c.Access.Projection[d], j.c.Loops)
				same = same && okA && okB && (a < 0) == (b < 0) && (a < 0 || j.loopOf[a] == b)
			}
			if same && len(p.Access.Projection) > 0 {
				return true
			}
		}
	}
	return false
}
