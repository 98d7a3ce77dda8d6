package builder

import (
	"slices"

	"tensortapestry.org/tapc/backends/tree"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/ir/scalar"
)

// Lane is the lane of its vector that is here.
func (b *Builder) Lane() *tree.Index {
	if b.Vector == nil {
		return tree.Const(0)
	}
	return tree.Use(b.Vector.Var).Minus(b.Vector.From)
}

// Vectors makes memory for vectors of some lanes. Those of truth values have some bytes.
func Vectors(name string, s tree.Scope, t scalar.DType, mask int, lanes int64, shape ...int64) *tree.Memory {
	m := tree.NewMemory(name, t, s, 0, append(shape, lanes)...)
	m.Lanes = lanes
	if t == scalar.Bool {
		m.Mask = int64(mask)
	}
	return m
}

// VectorAt gives the vector of a memory at some coordinates.
func (b *Builder) VectorAt(m *tree.Memory, at ...*tree.Index) tree.Access {
	return tree.Access{Memory: m, At: append(slices.Clone(at), b.Lane())}
}

// Follows says whether a value differs from lane to lane.
func (b *Builder) Follows(x tree.Computed) bool {
	if b.Vector == nil {
		return false
	}
	for _, a := range x.Args {
		if n, _ := a.Address().Multiple(b.Vector.Var); n != 0 {
			return true
		}
	}
	return slices.ContainsFunc(x.Loops, func(x *tree.Index) bool { return x.Uses(b.Vector.Var) })
}

// Register computes a value that is used again, in statements that are added to a list: of each lane if vector says so. Lanes of truth values have some bytes.
func (b *Builder) Register(list *[]tree.Stmt, x tree.Computed, about string, vector bool, mask int) Access {
	var m *tree.Memory
	to := func() tree.Access { return tree.Access{Memory: m} }
	if name := b.Fresh("v"); vector {
		m = Vectors(name, tree.Registers, x.Value.Type, mask, b.Vector.Lanes)
		to = func() tree.Access { return b.VectorAt(m) }
	} else {
		m = tree.NewMemory(name, x.Value.Type, tree.Registers, 0)
	}
	*list = append(*list, &tree.Declare{Memory: m}, &tree.Map{Dst: to(), Computed: x, About: about})
	return to
}

// Mask gives the size of the lanes of a truth vector: that of the numbers that it comes from.
func Mask(k *schedule.Kernel, e *scalar.Expr) int {
	if e.Op == scalar.Local {
		return Mask(k, k.Statements[e.Ref].Value)
	}
	size := 1
	for i, a := range e.Args {
		switch {
		case e.Op == scalar.Where && i == 0:
		case a.Type == scalar.Bool:
			size = max(size, Mask(k, a))
		default:
			size = max(size, a.Type.Size())
		}
	}
	return size
}

// Statements makes some of the kernel's statements, from one on: what is not stored is kept in registers.
func (b *Builder) Statements(list *[]tree.Stmt, from, to int) {
	for i, s := range b.K.Statements[from:to] {
		x, about := b.Computed(s.Value), s.Name+" = "+s.Value.Format(b.K)
		if s.Store < 0 {
			b.Locals[from+i] = Local{Kept: b.Register(list, x, about, b.Follows(x), Mask(b.K, s.Value))}
		} else {
			*list = append(*list, &tree.Map{Dst: b.Load(int(s.Store)), Computed: x, About: about})
		}
	}
}
