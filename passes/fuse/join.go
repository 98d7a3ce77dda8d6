package fuse

import (
	"slices"
	"strconv"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/zspace"
	"tensortapestry.org/tapc/passes/fuse/access"
)

// joiner makes one kernel of a producer and its consumer, or of two that read the same elements.
type joiner struct {
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

// become makes a kernel part of one that comes behind it: the node of that one stays, with the joined kernel.
func (f *fuser) become(producer, consumer ir.NodeID, joined *schedule.Kernel) {
	n := f.g.Node(consumer)
	before, _ := schedule.After(f.g.Node(producer))
	after, _ := schedule.After(n)
	joined.After = mergeAfter(before, after, producer)
	n.Label = joined.Name
	n.Body = joined
	n.SetOrigin(&ir.Origin{Rule: "fuse", From: origins(f.g.Node(producer), n)})
	f.rewire(producer, consumer)
	f.g.Remove(producer)
}

func newJoiner(k, c *schedule.Kernel, in []int) *joiner {
	out := slices.IndexFunc(k.Operands, func(o schedule.Operand) bool { return o.Mode == schedule.Write })
	j := &joiner{k: k, c: c, links: []link{{out: out, in: in}}}
	j.loops(k.Operands[out].Access, c.Operands[in[0]].Access)
	return j
}

// join makes the joined kernel, which waits for nothing yet.
func (j *joiner) join() *schedule.Kernel {
	for i, l := range j.k.Loops {
		j.loop(i, l)
	}
	j.operands()
	j.statements()
	return j.joined
}

// linkOf gives the link that one of the producer's operands is, if any.
func (j *joiner) linkOf(out int) *link {
	for i := range j.links {
		if j.links[i].out == out {
			return &j.links[i]
		}
	}
	return nil
}

// linkTo gives the link that one of the consumer's operands reads, if any.
func (j *joiner) linkTo(in int) *link {
	for i := range j.links {
		if slices.Contains(j.links[i].in, in) {
			return &j.links[i]
		}
	}
	return nil
}

func (j *joiner) name(base string) string {
	try := base
	for i := 1; j.names[try]; i++ {
		try = base + "_" + strconv.Itoa(i)
	}
	j.names[try] = true
	return try
}

// loops keeps the consumer's loops first, and finds those of them that the producer's result runs along: what the producer accesses so, and the
// consumer so, are the same elements.
func (j *joiner) loops(write, read zspace.AffineMap) {
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
func (j *joiner) loop(i int, l schedule.Loop) {
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
func (j *joiner) access(a zspace.AffineMap) zspace.AffineMap {
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

func (j *joiner) operands() {
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
func (j *joiner) widen(a zspace.AffineMap) zspace.AffineMap {
	out := zspace.AffineMap{Projection: make(zspace.Matrix, len(a.Projection)), Offset: a.Offset.Clone()}
	for i, row := range a.Projection {
		out.Projection[i] = append(slices.Clone(row), make([]int64, len(j.joined.Loops)-len(row))...)
	}
	return out
}

func (j *joiner) statements() {
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
	dropUnused(j.joined)
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

// dropUnused removes the local values that nothing uses: those of a producer whose result a consumer has as an operand and
// does not read, as a kernel whose parameters leave nothing to compute.
func dropUnused(k *schedule.Kernel) {
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
func (j *joiner) rename(e *scalar.Expr, base int) *scalar.Expr {
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
func (j *joiner) loopValue(loop int) *scalar.Expr {
	shift := scalar.NewConst(scalar.IntValue(scalar.Int64, j.shift[loop]))
	switch {
	case j.loopOf[loop] < 0:
		return shift
	case j.shift[loop] == 0:
		return scalar.NewLoop(j.loopOf[loop])
	}
	sum, err := scalar.New(scalar.Add, scalar.NewLoop(j.loopOf[loop]), shift)
	if err != nil {
		panic(err) // two int64 have a sum
	}
	return sum
}
