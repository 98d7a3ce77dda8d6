// Package alike says which kernels one function can carry out: those that differ only in names and in which buffers they read and write. It finds that
// from what decides a function's text, and not from the text. And it says which kernels are carried out best in the same way. Read next: backends/cpu/unit.
package alike

import (
	"fmt"
	"slices"
	"strings"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/zspace"
)

// Key says all of a kernel, of what was decided about it and of its operands' buffers that its code follows from. Loops, operands and statements have
// numbers in the place of names, and so have buffers: of two operands it is known whether they are of one buffer, and by same whether they are of one tensor,
// or of tensors that hold the same.
func Key(k *schedule.Kernel, config *schedule.Config, buffers map[ir.NodeID]*schedule.Buffer, same func(tensor ir.NodeID) int) string {
	w := writer{numbers: map[any]int{}, shared: map[*scalar.Expr]int{}}
	w.kernel(k, buffers, same)
	if config != nil {
		w.config(config)
	}
	return w.String()
}

// period is how many bytes apart offsets are equally good: whole lines of a cache, and whole vectors and transactions of memory of every device.
const period = 256

// Shape says all of a kernel and of its operands' buffers, before anything is decided about it, that it depends on which way to carry it out is best. It is as a key is, with the operands' names, by which a way
// says what it means, and the spaces of buffers. Of where operands are in their buffers it has the byte in a period alone, unless values follow from coordinates: blocks of an operation that lie elsewhere have one shape.
func Shape(k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer) string {
	w := writer{numbers: map[any]int{}, shared: map[*scalar.Expr]int{}, anywhere: true}
	for _, o := range k.Operands {
		fmt.Fprintf(&w, "%q ", o.Name)
		if b := buffers[o.Buffer]; b != nil {
			fmt.Fprintf(&w, "%v ", b.Space)
		}
	}
	w.kernel(k, buffers, func(tensor ir.NodeID) int { return int(tensor) })
	return w.String()
}

// kernel writes a kernel and its operands' buffers.
func (w *writer) kernel(k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer, same func(tensor ir.NodeID) int) {
	fmt.Fprintf(w, "%d %d\n", k.Allow, k.Sums)
	first, all, values := starts(k, w.anywhere)
	w.anywhere = w.anywhere && !values
	for i, l := range k.Loops {
		fmt.Fprintf(w, "loop %d %d %d %v\n", l.Start-first[i], l.End-first[i], l.Of, l.Levels)
	}
	for _, o := range k.Operands {
		fmt.Fprintf(w, "operand %d %d %v %d", w.number(o.Name), w.number(o.Buffer), o.Mode, o.Access.Projection)
		if b := buffers[o.Buffer]; b != nil {
			fmt.Fprintf(w, " %t tensor %d over %d %d", b.Space == schedule.Constant, w.number(same(b.Tensor)), w.number(updated(b)), b.Bytes)
			w.buffer(b, o.Access, first)
			if part := buffers[b.Tensor]; part != nil && part != b {
				w.buffer(part, o.Access, all)
			}
		}
		w.WriteString("\n")
	}
	for _, s := range k.Statements {
		fmt.Fprintf(w, "statement %d %d ", s.Over, s.Store)
		w.expr(s.Value)
		w.WriteString("\n")
	}
}

// updated is the input that a buffer is an output over, if it is one.
func updated(b *schedule.Buffer) ir.NodeID {
	if b.Updates() {
		return b.Over
	}
	return ir.NoNode
}

// writer writes a key.
type writer struct {
	strings.Builder
	numbers  map[any]int          // of names, buffers and tensors, in the order in which they come
	shared   map[*scalar.Expr]int // parts of expressions that were written
	anywhere bool                 // offsets are those in a period, if no values follow from coordinates
}

// number gives a name, a buffer or a tensor a number.
func (w *writer) number(x any) int {
	if _, ok := w.numbers[x]; !ok {
		w.numbers[x] = len(w.numbers)
	}
	return w.numbers[x]
}

// buffer writes how elements of a buffer lie, and where an operand is when its loops are at their starts.
func (w *writer) buffer(b *schedule.Buffer, access zspace.AffineMap, starts []int64) {
	fmt.Fprintf(w, " %s %d %d at", b.DType, b.Range.Shape(), b.Strides)
	byte := int64(0)
	for d, at := range access.Offset {
		for l, f := range access.Projection[d] {
			at += f * starts[l]
		}
		if at -= b.Range.Start[d]; !w.anywhere {
			fmt.Fprintf(w, " %d", at)
			continue
		}
		byte += at % period * (b.Strides[d] % period) % period * int64(b.Type().Size())
	}
	if w.anywhere {
		fmt.Fprintf(w, " byte %d", (byte%period+period)%period)
	}
}

// starts gives the values that loops are counted from, and those of the whole operation: the first, or 0 where a value is more than a place, and says whether there are such values. What is reduced counts as such
// but where sums are the same wherever they begin.
func starts(k *schedule.Kernel, anywhere bool) (first, all []int64, values bool) {
	value := make([]bool, len(k.Loops))
	for _, s := range k.Statements {
		s.Value.Walk(func(e *scalar.Expr) bool {
			if e.Op == scalar.Loop {
				value[e.Ref] = true
			}
			for _, l := range e.Over {
				value[l] = value[l] || !anywhere || e.Op != scalar.Reduce
			}
			return true
		})
	}
	first, all = make([]int64, len(k.Loops)), make([]int64, len(k.Loops))
	for i, l := range k.Loops {
		if value[i] {
			continue
		}
		first[i], all[i] = l.Start, l.Start
		if len(l.Of) == 2 {
			all[i] = l.Of[0]
		}
	}
	return first, all, slices.Contains(value, true)
}

// expr writes an expression, and a part of it once that is used in several places.
func (w *writer) expr(e *scalar.Expr) {
	if at, ok := w.shared[e]; ok {
		fmt.Fprintf(w, "@%d", at)
		return
	}
	w.shared[e] = len(w.shared)
	fmt.Fprintf(w, "(%d %d %d %q %v %d %d", e.Op, e.Type, e.Ref, e.Name, e.Value, e.Monoid, e.Over)
	for _, a := range e.Args {
		w.expr(a)
	}
	w.WriteString(")")
}

// config writes what was decided, with numbers for the names of operands.
func (w *writer) config(c *schedule.Config) {
	fmt.Fprintf(w, "config %q %v\n", c.Target, c.Workspaces)
	for _, s := range c.Stages {
		s.Placements, s.Stream = slices.Clone(s.Placements), slices.Clone(s.Stream)
		for i, p := range s.Placements {
			s.Placements[i].Operand = fmt.Sprint(w.number(p.Operand))
		}
		for i, name := range s.Stream {
			s.Stream[i] = fmt.Sprint(w.number(name))
		}
		fmt.Fprintf(w, "stage %v\n", s)
	}
}
