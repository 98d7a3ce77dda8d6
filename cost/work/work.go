// Package work counts what a kernel takes, whatever carries it out: scalar operations by class, and bytes of each operand.
//
// Counts come from the kernel's loops, statements and accesses alone. It knows no devices and no times. Read next: cost/price, which makes times
// of them.
package work

import (
	"cmp"
	"math"
	"slices"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/instance"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/zspace"
)

// Count is how many scalar operations of each class there are.
type Count struct {
	Products float64 // multiply-adds of sums of products; each is two operations
	Vector   float64 // arithmetic, comparisons, choices and conversions
	Function float64 // of functions such as exp, in additions that take about as long
	Powers   float64 // of Function, those of exp and exp2
	Division float64 // of divisions and roots, in the same
	Loads    float64 // elements that are read
	Stores   float64 // elements that are written
	Gathers  float64 // of both, those that are no neighbours along the lanes of vectors,
	Shuffles float64 // but for those that are read two apart or backwards: out of two vectors, or of one
	Factors  float64 // of Vector, those on the factors of sums of products
	Extremes float64 // of Vector, those that give the lesser or greater of two floats, which is not a number if one of them is none; none of those beside a constant
}

// Operations is how many scalar operations there are together, where a multiply-add is two.
func (c Count) Operations() float64 { return 2*c.Products + c.Vector + c.Function + c.Division }

func (c *Count) add(x Count, times float64) {
	c.Products += x.Products * times
	c.Vector += x.Vector * times
	c.Function += x.Function * times
	c.Powers += x.Powers * times
	c.Division += x.Division * times
	c.Loads += x.Loads * times
	c.Stores += x.Stores * times
	c.Gathers += x.Gathers * times
	c.Shuffles += x.Shuffles * times
	c.Factors += x.Factors * times
	c.Extremes += x.Extremes * times
}

// Plus is what there is of both.
func (c Count) Plus(x Count) Count {
	c.add(x, 1)
	return c
}

// Times is so many times as much.
func (c Count) Times(n float64) (out Count) {
	out.add(c, n)
	return out
}

// Minus is what there is more than of another.
func (c Count) Minus(x Count) Count {
	c.add(x, -1)
	return c
}

// Touch is what a kernel reads or writes of a buffer through one operand.
type Touch struct {
	Operand int
	Buffer  ir.NodeID
	Write   bool
	Bytes   float64      // of different elements
	Times   float64      // how often one is read or written
	Box     zspace.Range // of the buffer, in which they are
	Pieces  Pieces       // in which they lie
}

// Pieces is how what is touched of a buffer lies in memory: in pieces of neighbours, each of which begins and ends within lines of a cache.
type Pieces struct {
	Run   float64 // bytes of one
	Lines float64 // how many bytes travel for each byte, in whole lines
}

// Work is what a kernel takes.
type Work struct {
	Count
	Beside  Count        // of rows, what is once for a row, and not along the lanes of vectors
	Type    scalar.DType // that most operations compute with
	Touches []Touch      // one for each operand that is touched, in their order
}

// Bytes is the size of all that is read and written, each operand once.
func (w *Work) Bytes() float64 {
	sum := 0.0
	for _, t := range w.Touches {
		sum += t.Bytes
	}
	return sum
}

// Of counts what a kernel takes. Buffers are those of the graph.
func Of(k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer) *Work {
	r, _ := nest.Of[*nest.Rows](nest.Classify(k, buffers))
	return OfRows(k, buffers, r)
}

// OfRows counts it with lanes of rows, nil for none, that are others than those of the kernel's form.
func OfRows(k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer, r *nest.Rows) *Work {
	c := newCounting(k)
	w := &Work{}
	for _, s := range k.Statements {
		w.add(c.statement(s.Value, int(s.Store), c.extents(s.Over)), 1)
	}
	first := scalar.Invalid
	if len(k.Operands) > 0 {
		first = k.Operands[0].Type()
	}
	w.Type = c.main(first)
	if r != nil {
		w.Beside = beside(k, r.Lane.Inner())
		for i, v := range r.Views {
			switch step := r.Lane.Step(v); {
			case step == 0 || step == 1:
			case k.Operands[i].Mode == schedule.Read && (step == 2 || step == -1):
				w.Shuffles += c.loads[i]
			default:
				w.Gathers += c.loads[i]
			}
		}
	}
	for i, o := range k.Operands {
		if c.loads[i] > 0 {
			bytes, box := footprint(k, buffers, i, c.loads[i])
			w.Touches = append(w.Touches, Touch{i, o.Buffer, o.Mode == schedule.Write, bytes, c.loads[i], box, PiecesOf(buffers[o.Buffer], box)})
		}
	}
	return w
}

// statement counts a value that is computed so many times, and stored to an operand, or to none.
func (c *counting) statement(value *scalar.Expr, store int, times float64) Count {
	sum := c.of(value, times)
	if store >= 0 {
		c.loads[store] += times
		sum.Stores += times
	}
	return sum
}

// beside counts what a kernel takes that does not go along a loop.
func beside(k *schedule.Kernel, loop int) (sum Count) {
	c := newCounting(k)
	c.lane = loop
	for _, s := range k.Statements {
		if !slices.Contains(s.Over, int64(loop)) {
			sum.add(c.statement(s.Value, int(s.Store), c.extents(s.Over)), 1)
		}
	}
	return sum
}

// OfInstance counts what an operation takes of which so much is computed along each dim, from the declaration of its kernel: the operations, the type that most
// compute with, and how many elements of each operand are read or written, each as often as that happens.
func OfInstance(in *instance.Instance, extents []int64) (sum Count, of scalar.DType, touched []float64) {
	c := counting{loads: make([]float64, len(in.Operands)), types: map[scalar.DType]float64{}, lane: -1}
	for _, n := range extents {
		c.loops = append(c.loops, float64(n))
	}
	for _, s := range in.Statements {
		times := 1.0
		for _, d := range s.Over {
			times *= c.loops[d]
		}
		sum.add(c.statement(s.Value, s.Store, times), 1)
	}
	first := scalar.Invalid
	if len(in.Operands) > 0 {
		first = in.Operands[0].Type
	}
	return sum, c.main(first), c.loads
}

// counting counts expressions over loops.
type counting struct {
	loops []float64 // their extents
	loads []float64 // of each operand, and stores
	types map[scalar.DType]float64
	lane  int // a loop: reductions along it are left out; -1 for none
}

func newCounting(k *schedule.Kernel) counting {
	c := counting{loads: make([]float64, len(k.Operands)), types: map[scalar.DType]float64{}, lane: -1}
	for _, l := range k.Loops {
		c.loops = append(c.loops, float64(l.Extent()))
	}
	return c
}

func (c *counting) extents(loops []int64) float64 {
	n := 1.0
	for _, l := range loops {
		n *= c.loops[l]
	}
	return n
}

// of counts an expression that is computed so many times.
func (c *counting) of(e *scalar.Expr, times float64) (sum Count) {
	switch {
	case e.Op == scalar.Load:
		c.loads[e.Ref] += times
		return Count{Loads: times}
	case e.Op <= scalar.Attr || coordinates(e) || e.Op == scalar.Reduce && slices.Contains(e.Over, c.lane):
		return Count{}
	case e.Op == scalar.Where && coordinates(e.Args[0]): // loops are split where it changes
	case e.IsAt(): // an element at a computed place
		sum = Count{Vector: times}
	case e.Op == scalar.Reduce:
		for _, l := range e.Over {
			times *= c.loops[l]
		}
		if body := e.Args[0]; e.Monoid == scalar.Add && body.Op == scalar.Mul {
			sum = Count{Products: times}
			c.types[e.Type] += 2 * times
			for _, a := range body.Args {
				sum.add(c.of(a, times), 1)
			}
			sum.Factors = sum.Vector
			return sum
		}
		sum = Count{Vector: times}
		if e.Monoid == scalar.Max || e.Monoid == scalar.Min {
			sum = extreme(e.Type, times)
		}
	default:
		sum = class(e, times)
	}
	c.types[computed(e)] += sum.Operations()
	for _, a := range e.Args {
		sum.add(c.of(a, times), 1)
	}
	return sum
}

// class counts one operator.
func class(e *scalar.Expr, times float64) Count {
	switch w := instance.Weight(e); e.Op.Class() {
	case scalar.Transcendental:
		c := Count{Function: functionWeight(e.Op) * times}
		if e.Op == scalar.Exp || e.Op == scalar.Exp2 {
			c.Powers = c.Function
		}
		return c
	case scalar.Division, scalar.Root:
		return Count{Division: w * times}
	}
	if (e.Op == scalar.Max || e.Op == scalar.Min) && !slices.ContainsFunc(e.Args, func(a *scalar.Expr) bool { return a.Op == scalar.Const }) {
		return extreme(e.Type, times)
	}
	return Count{Vector: times}
}

// extreme counts the lesser or greater of two.
func extreme(of scalar.DType, times float64) Count {
	if of.IsFloat() {
		return Count{Vector: times, Extremes: times}
	}
	return Count{Vector: times}
}

// functionWeight is how long a function takes where exp takes 16: as measured of vectors of float32 that the CPU back end writes for AVX-512
// (docs/performance.md). Those that it leaves to the C library are not on vectors.
func functionWeight(op scalar.Op) float64 {
	switch op {
	case scalar.Exp, scalar.Exp2:
		return 16
	case scalar.Tanh:
		return 30
	case scalar.Log, scalar.Erf:
		return 46
	case scalar.Sin, scalar.Cos:
		return 125
	case scalar.Log2:
		return 240
	case scalar.Erfc:
		return 400
	}
	return 700
}

// computed is the type that an operator computes with: that of what it compares, where its result is a truth value.
func computed(e *scalar.Expr) scalar.DType {
	if e.Type == scalar.Bool && len(e.Args) > 0 {
		return e.Args[0].Type
	}
	return e.Type
}

// coordinates says whether an expression computes with coordinates alone, which loops have at no cost.
func coordinates(e *scalar.Expr) bool {
	if e.Op == scalar.Load || e.Op == scalar.Local || e.Op == scalar.Reduce {
		return false
	}
	for _, a := range e.Args {
		if !coordinates(a) {
			return false
		}
	}
	return true
}

// main is the type of most operations; that of the first operand if there are none.
func (c *counting) main(first scalar.DType) scalar.DType {
	best, most := scalar.Invalid, 0.0
	for _, d := range scalar.DTypes() {
		if n := c.types[d]; n > most {
			best, most = d, n
		}
	}
	if best == scalar.Invalid {
		return first
	}
	return best
}

// footprint is the bytes of different elements that an operand touches at so many points, and the box in which they are: no more than its loops lead to, and than there are.
func footprint(k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer, operand int, points float64) (bytes float64, box zspace.Range) {
	b := buffers[k.Operands[operand].Buffer]
	box = b.Range.Clone()
	if h, ok := nest.HullOf(k, buffers, operand); ok {
		n := 1.0
		for d := range h.First {
			box.Start[d] = max(h.First[d], box.Start[d])
			box.End[d] = max(min(h.Last[d]+1, box.End[d]), box.Start[d])
			n *= float64(box.End[d] - box.Start[d])
		}
		points = min(points, n)
	}
	return points * float64(b.Type().Size()), box
}

// PiecesOf says how a part of a buffer lies in memory; all of it is one piece. Pieces begin and end within lines at any multiple of the greatest power of two that divides their distances.
func PiecesOf(b *schedule.Buffer, box zspace.Range) Pieces {
	one := Pieces{Run: math.Inf(1), Lines: 1}
	if b == nil || box.Rank() != b.Range.Rank() || box.Empty() || box.Equal(b.Range) {
		return one
	}
	dtype, err := scalar.ParseDType(b.DType)
	if err != nil {
		return one
	}
	dims := make([]int, box.Rank())
	for d := range dims {
		dims[d] = d
	}
	slices.SortStableFunc(dims, func(d, e int) int { return cmp.Compare(b.Strides[d], b.Strides[e]) })
	size, run, neighbours, apart := int64(dtype.Size()), int64(1), true, int64(schedule.LineBytes)
	for _, d := range dims {
		extent, all := box.End[d]-box.Start[d], b.Range.End[d]-b.Range.Start[d]
		if all == 1 { // whose stride says nothing
			continue
		}
		apart |= (box.Start[d] - b.Range.Start[d]) * b.Strides[d] * size
		if neighbours = neighbours && b.Strides[d] == run; neighbours {
			run *= extent
			neighbours = extent == all
		} else if extent > 1 {
			apart |= b.Strides[d] * size
		}
	}
	bytes := run * size
	apart |= bytes
	return Pieces{Run: float64(bytes), Lines: float64(bytes+schedule.LineBytes-apart&-apart) / float64(bytes)}
}
