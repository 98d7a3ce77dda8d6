package fuse

import (
	"cmp"
	"slices"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/cost"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/affine"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/zspace"
	"tensortapestry.org/tapc/passes/fuse/access"
)

// prices compare kernels by what they take: as a model has it or, if there is none, by how many vectors they load.
type prices struct {
	g      *ir.Graph
	model  cost.Model
	failed error // why the model has no estimate of a kernel
}

// less says whether some kernels take less than others: by loads of a vector, these and more.
func (f *prices) less(a, b []*schedule.Kernel, more float64) bool {
	of := f.loads
	if f.model != nil {
		of, more = f.seconds, 0
	}
	others := 0.0
	for _, k := range a {
		more += of(k)
	}
	for _, k := range b {
		others += of(k)
	}
	return more < others && f.failed == nil
}

// seconds is what a kernel takes, as the model has it.
func (f *prices) seconds(k *schedule.Kernel) float64 {
	d, ok := body[*schedule.Device](f.g, k.Device)
	if !ok {
		return 0
	}
	e, err := f.model.Estimate(d.Type, nest.Analyze(k, f.buffersOf(k)))
	f.failed = cmp.Or(f.failed, err)
	return e.Seconds
}

// pays says whether kernels that read what is moved from where it comes are no worse than the mover and those that read its result.
func (f *prices) pays(m *mover, readers []ir.NodeID, joined []reader) bool {
	before, after, known := []*schedule.Kernel{m.k}, []*schedule.Kernel(nil), true
	for i, r := range readers {
		c, _ := body[*schedule.Kernel](f.g, r)
		a, okA := nest.Of[*nest.Rows](f.first(c))
		b, okB := nest.Of[*nest.Rows](f.first(joined[i].Kernel))
		same := okA && okB && joined[i].sumsLike(a, b)
		lanes := okA && okB && a.Free && b.Free && slices.EqualFunc(a.Reduction, b.Reduction, joined[i].alike) // each sums in the same order
		if f.inOrder(m, c, joined[i]) && (same || lanes || !okA || !rounds(c)) {
			continue
		}
		if !same || len(a.Reduction) > 0 && m.again(c) && (m.value.Op != scalar.Load || joined[i].parts != nil) {
			return false
		}
		before, after, known = append(before, c), append(after, joined[i].Kernel), false
	}
	return known || !f.less(before, after, 0)
}

// rounds says whether a kernel has sums or products of floats, whose bits follow their order.
func rounds(k *schedule.Kernel) bool {
	return slices.ContainsFunc(k.Statements, func(s schedule.Statement) bool {
		return s.Value.Any(func(e *scalar.Expr) bool {
			return e.Op == scalar.Reduce && (e.Monoid == scalar.Add || e.Monoid == scalar.Mul) && !e.Type.IsInt() && e.Type != scalar.Bool
		})
	})
}

// again says whether a kernel reads what is moved more than once, as a window does: then conditions are not worked out each time, and no loop of it is cut, so that
// channels can be its innermost ones.
func (m *mover) again(c *schedule.Kernel) bool {
	return c.Space().BigSize().Cmp(m.written.BigSize()) > 0
}

// losesVectors says whether one of two kernels of a processor reduces numbers that there are vectors of, and the other computes with others: as one they would go element by element, with sums
// in another order.
func (f *prices) losesVectors(k, c *schedule.Kernel) bool {
	if !nest.VectorsOnly(k) {
		k, c = c, k
	}
	d, ok := body[*schedule.Device](f.g, k.Device)
	return ok && d.Type.Has(schedule.Thread) && access.Folds(k, access.AnyLoop) && nest.VectorsOnly(k) && !nest.VectorsOnly(c)
}

// loads is the time of a kernel in loads of a vector: one load and one store for each point where it has no rows.
func (f *prices) loads(k *schedule.Kernel) float64 {
	if r, ok := nest.Of[*nest.Rows](f.first(k)); ok {
		return rowLoads(r, k)
	}
	return 2 * points(k)
}

// points is how many a kernel has, one at least.
func points(k *schedule.Kernel) float64 {
	n := 1.0
	for _, l := range k.Loops {
		n *= float64(max(l.Extent(), 1))
	}
	return n
}

// rowLoads is the time of all points of rows, in loads of a vector. Of the sides of a choice by loops, the longer one counts.
func rowLoads(r *nest.Rows, k *schedule.Kernel) float64 {
	one := func(operand int) float64 { return float64(r.Loads(k, operand, r.Lane)) }
	always := make([]bool, len(k.Operands)) // an operand that is read once is there for all statements
	loads := 0.0
	var of func(e *scalar.Expr) float64
	of = func(e *scalar.Expr) float64 {
		switch {
		case e.Op == scalar.Load && !always[e.Ref]:
			always[e.Ref] = true
			return one(e.Ref)
		case e.Op == scalar.Where:
			if _, ok := affine.Borders(e.Args[0]); ok {
				return max(of(e.Args[1]), of(e.Args[2]))
			}
		}
		sum := 0.0
		for _, a := range e.Args {
			sum += of(a)
		}
		return sum
	}
	for _, s := range k.Statements {
		loads += of(s.Value)
		if s.Store >= 0 {
			loads += one(int(s.Store))
		}
	}
	vectors := (r.Lane.Extent + lanes - 1) / lanes
	return loads * points(k) * float64(vectors) / float64(r.Lane.Extent)
}

// lanes is how many lanes of a vector are counted on.
const lanes = 16

// first gives the form that a kernel is carried out in, if nothing is allowed: none, or one.
func (f *prices) first(k *schedule.Kernel) nest.Forms {
	forms := nest.Classify(k, f.buffersOf(k)).Allowed(0)
	return forms[:min(len(forms), 1)]
}

// buffersOf gives the buffers of a kernel's operands.
func (f *prices) buffersOf(k *schedule.Kernel) map[ir.NodeID]*schedule.Buffer {
	out := map[ir.NodeID]*schedule.Buffer{}
	for _, o := range k.Operands {
		out[o.Buffer], _ = body[*schedule.Buffer](f.g, o.Buffer)
	}
	return out
}

// inOrder says whether a kernel reads what is moved as well from where it comes: as a factor of products of which neighbours are read, or
// along all loops along which it writes neighbours.
func (f *prices) inOrder(m *mover, c *schedule.Kernel, joined reader) bool {
	if m.value.Op != scalar.Load || joined.parts != nil {
		return f.padded(m, c, joined)
	}
	from := m.k.Operands[m.value.Ref]
	b, _ := body[*schedule.Buffer](f.g, from.Buffer)
	for i, o := range c.Operands {
		if o.Buffer != m.k.Operands[m.out].Buffer {
			continue
		}
		through := access.Compose(from.Access, access.Compose(m.back, o.Access))
		if !(access.Factor(c, i) && access.Neighbours(b, through)) && !f.alongside(c, b, through) {
			return false
		}
	}
	stays, is := f.multiplies(c, joined)
	return stays || !is
}

// padded says whether a contraction stays one, with the same sums, when it reads an operand with zeros around as it is without them, or along loops that are
// cut.
func (f *prices) padded(m *mover, c *schedule.Kernel, joined reader) bool {
	for i, o := range c.Operands {
		if o.Buffer == m.k.Operands[m.out].Buffer && !access.Factor(c, i) {
			return false
		}
	}
	stays, _ := f.multiplies(c, joined)
	return stays
}

// multiplies says whether a kernel is a contraction, and stays one with the same sums.
func (f *prices) multiplies(c *schedule.Kernel, joined reader) (stays, is bool) {
	a, is := nest.Of[*nest.Contraction](f.first(c))
	b, ok := nest.Of[*nest.Contraction](f.first(joined.Kernel))
	return is && ok && joined.multipliesLike(f, a, b), is
}

// alongside says whether an access moves to the next element in memory, or stands still, along every loop along which the kernel writes
// neighbours.
func (f *prices) alongside(k *schedule.Kernel, b *schedule.Buffer, a zspace.AffineMap) bool {
	found := false
	for _, o := range k.Operands {
		to, ok := body[*schedule.Buffer](f.g, o.Buffer)
		if o.Mode == schedule.Read || !ok {
			continue
		}
		for l := range k.Loops {
			if k.Loops[l].Extent() == 1 || access.Step(to, o.Access, l) != 1 {
				continue
			}
			if s := access.Step(b, a, l); s != 0 && s != 1 {
				return false
			}
			found = true
		}
	}
	return found
}
