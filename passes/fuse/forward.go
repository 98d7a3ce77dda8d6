package fuse

import (
	"slices"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/zspace"
)

// forward lets the kernels that read a copy read what was copied, where it stands, and drops the copy: the heads of an attention are
// parts of the rows that one product writes, and images come with their channels innermost. That must not cost vectors: products put
// what they multiply in order themselves, and other kernels must read neighbours where they write neighbours.
func (f *fuser) forward(id ir.NodeID, k *schedule.Kernel, may func(kernel ir.NodeID) bool) bool {
	at, load := placesOf(k)
	if load == nil || len(at) > 0 {
		return false
	}
	in, out := &k.Operands[load.Ref], &k.Operands[k.Statements[0].Store]
	from, _ := body[*schedule.Buffer](f.g, in.Buffer)
	to, ok := body[*schedule.Buffer](f.g, out.Buffer)
	written, err := reach(k, int(k.Statements[0].Store))
	if !ok || from == nil || from.Space != schedule.Arena && from.Space != schedule.Input || to.Space != schedule.Arena || err != nil || !written.Equal(to.Range) ||
		from.DType != to.DType {
		return false
	}
	back, ok := inverse(k, out.Access)
	if !ok || len(in.Access.Projection) == 0 || len(out.Access.Projection) == 0 {
		return false
	}
	type use struct {
		kernel  *schedule.Kernel
		operand int
		access  zspace.AffineMap
	}
	var uses []use
	all := false // of what the copy's applications put out is used by somebody
	readers := f.readersOf(out.Buffer)
	for _, r := range readers {
		c, ok := body[*schedule.Kernel](f.g, r)
		if !ok || c.Device != k.Device {
			return false
		}
		for i, o := range c.Operands {
			if o.Buffer != out.Buffer {
				continue
			}
			through := compose(in.Access, compose(back, o.Access))
			read, err := reach(c, i)
			if err != nil || o.Mode != schedule.Read || !(factor(c, i) && neighbours(from, through)) && !f.alongside(c, from, through) {
				return false
			}
			uses = append(uses, use{c, i, through})
			all = all || read.Contains(written) || len(k.Applications) == 1 && read.Overlaps(written)
		}
	}
	if !all || !may(id) {
		return false
	}
	for _, u := range uses {
		u.kernel.Operands[u.operand].Buffer, u.kernel.Operands[u.operand].Access = in.Buffer, u.access
	}
	f.drop(id, k, readers)
	return true
}

// drop removes a copy: those who waited for it wait for what it waited for, and the first of its readers carries out its
// applications.
func (f *fuser) drop(id ir.NodeID, k *schedule.Kernel, readers []ir.NodeID) {
	for i, r := range readers {
		c, _ := body[*schedule.Kernel](f.g, r)
		c.After = mergeAfter(k.After, c.After, id)
		if i == 0 {
			c.Applications = append(slices.Clone(k.Applications), c.Applications...)
			c.Name = k.Name + "+" + c.Name
			n := f.g.Node(r)
			n.Label = c.Name
			n.SetOrigin(&ir.Origin{Rule: "fuse", From: origins(f.g.Node(id), n)})
		}
	}
	for _, o := range k.Operands {
		if o.Mode == schedule.Read {
			f.readers[o.Buffer] = append(f.readers[o.Buffer], readers...)
		}
	}
	waiters := f.waitersOf(id)
	for _, a := range k.After {
		f.waiters[f.now(a)] = append(f.waiters[f.now(a)], waiters...)
	}
	for _, w := range waiters {
		switch b := f.g.Node(w).Body.(type) {
		case *schedule.Kernel:
			b.After = mergeAfter(k.After, b.After, id)
		case *schedule.Transfer:
			b.After = mergeAfter(k.After, b.After, id)
		}
	}
	f.g.Remove(id)
}

// inverse gives the loops of a kernel from the coordinates of what it writes, if each coordinate follows one loop evenly.
func inverse(k *schedule.Kernel, a zspace.AffineMap) (zspace.AffineMap, bool) {
	out := zspace.AffineMap{Projection: make(zspace.Matrix, len(k.Loops)), Offset: make(zspace.Point, len(k.Loops))}
	for l := range k.Loops {
		out.Projection[l] = make([]int64, len(a.Projection))
		out.Offset[l] = k.Loops[l].Start
	}
	known := make([]bool, len(k.Loops))
	for d, row := range a.Projection {
		l, ok := unit(row, k.Loops)
		if !ok || l >= 0 && known[l] {
			return out, false
		}
		if l < 0 {
			continue
		}
		known[l] = true
		shift := a.Offset[d]
		for j, f := range row { // loops of one value
			if j != l {
				shift += f * k.Loops[j].Start
			}
		}
		out.Projection[l][d], out.Offset[l] = 1, -shift
	}
	for l := range k.Loops {
		if !known[l] && k.Loops[l].Extent() != 1 {
			return out, false
		}
	}
	return out, true
}

// compose gives a after b.
func compose(a, b zspace.AffineMap) zspace.AffineMap {
	out := zspace.AffineMap{Projection: make(zspace.Matrix, len(a.Projection)), Offset: a.Offset.Clone()}
	columns := 0
	if len(b.Projection) > 0 {
		columns = len(b.Projection[0])
	}
	for i, row := range a.Projection {
		out.Projection[i] = make([]int64, columns)
		for j, f := range row {
			out.Offset[i] += f * b.Offset[j]
			for x, g := range b.Projection[j] {
				out.Projection[i][x] += f * g
			}
		}
	}
	return out
}

// factor says whether an operand is nothing but a factor of the products that a kernel sums.
func factor(k *schedule.Kernel, operand int) bool {
	factors, all := 0, 0
	for _, s := range k.Statements {
		s.Value.Walk(func(e *scalar.Expr) bool {
			loads := func(e *scalar.Expr) bool {
				if e.Op == scalar.Where && e.Args[2].Op == scalar.Const { // inside the borders of an image
					e = e.Args[1]
				}
				return e.Op == scalar.Load && e.Ref == operand
			}
			switch {
			case e.Op == scalar.Load && e.Ref == operand:
				all++
			case e.Op == scalar.Reduce && e.Monoid == scalar.Add && e.Args[0].Op == scalar.Mul:
				for _, a := range e.Args[0].Args {
					if loads(a) {
						factors++
					}
				}
			}
			return true
		})
	}
	return factors > 0 && factors == all
}

// alongside says whether an access moves to the next element in memory, or stands still, along every loop along which the kernel writes
// neighbours.
func (f *fuser) alongside(k *schedule.Kernel, b *schedule.Buffer, a zspace.AffineMap) bool {
	found := false
	for _, o := range k.Operands {
		to, ok := body[*schedule.Buffer](f.g, o.Buffer)
		if o.Mode == schedule.Read || !ok {
			continue
		}
		for l := range k.Loops {
			if k.Loops[l].Extent() == 1 || step(to, o.Access, l) != 1 {
				continue
			}
			if s := step(b, a, l); s != 0 && s != 1 {
				return false
			}
			found = true
		}
	}
	return found
}

// step is how far an access moves in memory from one value of a loop to the next, in elements.
func step(b *schedule.Buffer, a zspace.AffineMap, loop int) int64 {
	n := int64(0)
	for d, row := range a.Projection {
		n += row[loop] * b.Strides[d]
	}
	return n
}

// neighbours says whether some loop moves an access from one element to the next in memory, so that a product can read vectors.
func neighbours(b *schedule.Buffer, a zspace.AffineMap) bool {
	for l := range a.Projection[0] {
		if step(b, a, l) == 1 {
			return true
		}
	}
	return false
}
