// Package sample makes random calls of kernels and values for them, for tests.
//
// What a call decides is found with the steps of dialects/tensorops/kernels/infer, from choices in place of operands. Same source, same calls.
package sample

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"tensortapestry.org/tapc/dialects/tensorops/kernels/bind"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/declaration"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/infer"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/zspace"
)

// Call makes a random call of the kernel that binds, for tests: the first type variable stands for t, if it may; shapes are
// small and awkward (0, 1, primes), optional operands and parameters are there or not, selections start at 0. It is nil if no
// try came to anything, as for a kernel whose parameters are texts. Same source, same call. An error is a fault of the
// declaration: shapes and types that are inferred, and then refused.
func Call(d *declaration.Kernel, rnd *rand.Rand, t scalar.DType) (*infer.Call, error) {
	return CallOf(d, rnd, t, Material{})
}

// Material is what samples are made of: the extents that dimensions are given where nothing else decides, and the element types
// of type variables but the first. Without them, a choice of awkward sizes and all types.
type Material struct {
	Sizes []int64
	Types []scalar.DType
}

// CallOf is Call with a choice of sizes and types, so that calls fit each other's results.
func CallOf(d *declaration.Kernel, rnd *rand.Rand, t scalar.DType, m Material) (*infer.Call, error) {
	if d.Equation != "" {
		return equation(d, rnd, t, m)
	}
	for range 400 {
		if c, err := try(d, rnd, t, m); c != nil || err != nil {
			return c, err
		}
	}
	return nil, nil
}

// Types gives the element types that the kernel's first type variable may stand for; one, scalar.Invalid, if it has none.
func Types(d *declaration.Kernel) []scalar.DType {
	if len(d.Types) == 0 {
		return []scalar.DType{scalar.Invalid}
	}
	var out []scalar.DType
	for _, t := range scalar.DTypes() {
		if d.Types[0].Allows(t) {
			out = append(out, t)
		}
	}
	return out
}

// maxSampleWork bounds the points of a sample's iteration space.
const maxSampleWork = 60_000

type sampler struct {
	decl  *declaration.Kernel
	args  *infer.Arguments
	ranks *infer.Ranks
	sizes *infer.Sizes
	rnd   *rand.Rand
	call  infer.Call
	of    Material
}

func newSampler(d *declaration.Kernel, rnd *rand.Rand, m Material) *sampler {
	args := infer.NewArguments(d)
	ranks := infer.NewRanks(args)
	return &sampler{decl: d, args: args, ranks: ranks, sizes: infer.NewSizes(ranks), rnd: rnd, of: m}
}

func (s *sampler) chance(p float64) bool { return s.rnd.Float64() < p }

// try makes one call; a nil one came to nothing.
func try(d *declaration.Kernel, rnd *rand.Rand, t scalar.DType, m Material) (*infer.Call, error) {
	s := newSampler(d, rnd, m)
	if !s.chooseTypes(t) || !s.chooseRanks() || !s.chooseAttrs() || s.args.DeriveTypes() != nil || s.args.SetParams(s.call.Params) != nil ||
		s.ranks.PlaceParams() != nil || !s.chooseSizes() {
		return nil, nil
	}
	for i := range d.Operands {
		if o := &d.Operands[i]; !o.Out {
			s.input(o)
		}
	}
	if !s.infer() {
		return nil, nil
	}
	in, err := bind.Instance(d, s.call)
	switch {
	case err != nil && (strings.Contains(err.Error(), "misses a parameter") || strings.Contains(err.Error(), "is not a value of")):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("%w; the call is %+v", err, s.call)
	case in.Work() > maxSampleWork:
		return nil, nil
	}
	return &s.call, nil
}

// infer adds the outputs.
func (s *sampler) infer() bool {
	shapes, types, err := infer.Outputs(s.decl, s.call)
	if err != nil {
		return false
	}
	n := 0
	for i := range s.decl.Operands {
		o := &s.decl.Operands[i]
		if !o.Out {
			continue
		}
		if types[n] == scalar.Invalid {
			types[n] = s.args.Types[o.Type]
		}
		if !o.Optional || s.chance(0.7) {
			s.call.Outputs = append(s.call.Outputs, infer.Port{Name: o.Name(), Sel: []infer.Selected{selected(shapes[n], types[n])}})
		}
		n++
	}
	return len(s.call.Outputs) > 0
}

func selected(shape []int64, t scalar.DType) infer.Selected {
	return infer.Selected{Sel: ir.Select(ir.NoNode, zspace.MustShape(shape...)), Type: t}
}

func (s *sampler) chooseTypes(t scalar.DType) bool {
	for i, v := range s.decl.Types {
		if v.Of != "" {
			continue
		}
		if i > 0 || t == scalar.Invalid {
			all := scalar.DTypes()
			wide := s.args.Types[v.Wide]
			allowed := func(d scalar.DType) bool { return v.Allows(d) && (!wide.Valid() || d.Bits() == wide.Bits()) }
			if slices.ContainsFunc(s.of.Types, allowed) {
				all = s.of.Types
			}
			for t = scalar.Invalid; !allowed(t); {
				t = all[s.rnd.IntN(len(all))]
			}
		}
		if !v.Allows(t) {
			return false
		}
		s.args.Types[v.Name] = t
	}
	return true
}

// chooseRanks gives every group a rank of at most 3, small ones most often.
func (s *sampler) chooseRanks() bool {
	for _, o := range s.decl.Operands {
		for _, x := range o.Index {
			if x.Group == "" {
				continue
			}
			same := append(s.decl.GroupsIn(x.At), x.Group)
			s.ranks.Same(same)
			if _, ok := s.ranks.Of[x.Group]; !ok {
				s.ranks.Of[x.Group] = []int{0, 1, 1, 2, 2, 2, 3}[s.rnd.IntN(7)]
			}
			if x.At != "" {
				s.ranks.Of[x.Group] = max(1, s.ranks.Of[x.Group])
				s.ranks.Same(same)
			}
		}
	}
	for _, a := range s.decl.Attrs {
		if a.Type == declaration.IntsAttr {
			if _, ok := s.ranks.Of[a.Of]; !ok {
				s.ranks.Of[a.Of] = 1 + s.rnd.IntN(2)
			}
		}
	}
	for _, l := range s.decl.Sizes {
		if s.decl.IsGroup(l.Name) {
			s.ranks.Same(append(s.decl.GroupsIn(l.Text), l.Name))
		}
	}
	return true
}

func (s *sampler) chooseAttrs() bool {
	for i := range s.decl.Attrs {
		a := &s.decl.Attrs[i]
		if a.HasDefault && a.Type != declaration.DTypeAttr && s.chance(0.35) {
			continue
		}
		if !a.HasDefault && a.Type != declaration.DTypeAttr && s.chance(0.1) {
			continue
		}
		v, ok := s.attrValue(a)
		if !ok {
			return false
		}
		s.call.Params = s.call.Params.With(a.Name, v)
	}
	return true
}

func (s *sampler) attrValue(a *declaration.Attr) (ir.AttrValue, bool) {
	switch a.Type {
	case declaration.NumberAttr:
		f := float64(s.rnd.IntN(4))
		if s.fractions() {
			f = []float64{-1.5, 0, 0.25, 0.5, 1, 2, 3}[s.rnd.IntN(7)]
		}
		return ir.FloatAttr(f), a.Within(f)
	case declaration.IntAttr:
		return ir.IntAttr(s.within(a)), true
	case declaration.BoolAttr:
		return ir.BoolAttr(s.chance(0.5)), true
	case declaration.WordAttr:
		return ir.StringAttr(a.Words[s.rnd.IntN(len(a.Words))]), true
	case declaration.IntsAttr:
		if s.chance(0.3) {
			return ir.IntAttr(s.within(a)), true
		}
		list := make([]int64, s.ranks.Of[a.Of])
		for i := range list {
			list[i] = s.within(a)
		}
		return ir.IntsAttr(list...), true
	case declaration.AxesAttr:
		var list []int64
		for i := range s.ranks.Of[a.Of] {
			if s.chance(0.5) {
				list = append(list, int64(i)-int64(s.rnd.IntN(2)*s.ranks.Of[a.Of]))
			}
		}
		return ir.IntsAttr(list...), true
	case declaration.PermAttr:
		var list []int64
		for _, p := range s.rnd.Perm(s.ranks.Of[a.Of]) {
			list = append(list, int64(p))
		}
		return ir.IntsAttr(list...), true
	case declaration.AxisAttr:
		if n, ok := s.decl.Between(a.Of, a.Then); ok && s.chance(0.4) {
			return ir.IntAttr(int64(-s.ranks.Of[a.Then] - n)), s.ranks.Of[a.Then]+n > 0
		}
		return ir.IntAttr(int64(s.ranks.Of[a.Of])), true
	case declaration.DTypeAttr:
		return ir.StringAttr(s.args.Types[a.Of].String()), true
	}
	return ir.AttrValue{}, false
}

// fractions says whether every type variable stands for a type that has fractions.
func (s *sampler) fractions() bool {
	for _, t := range s.args.Types {
		if !t.IsFloat() && !t.IsComplex() {
			return false
		}
	}
	return true
}

// within draws an integer inside an attribute's limits, near the least.
func (s *sampler) within(a *declaration.Attr) int64 {
	least := int64(-2)
	if a.Least != nil {
		least = *a.Least
	}
	n := least + int64(s.rnd.IntN(4))
	if a.Most != nil {
		n = min(n, *a.Most)
	}
	return n
}

// chooseSizes gives every dimension an extent: what a size clause says, or a random one.
func (s *sampler) chooseSizes() bool {
	small := s.of.Sizes
	if small == nil {
		small = []int64{1, 2, 2, 3, 3, 4, 5, 7, 7, 13, 17, 31}
	}
	zero := s.chance(0.08)
	for _, o := range s.decl.Operands {
		for _, x := range o.Index {
			n, ok := 1, len(x.To) == 0
			if x.Group != "" {
				n, ok = s.ranks.Of[x.Group]
			}
			if s.sizes.Clauses() != nil {
				return false
			}
			if _, known := s.sizes.Of[x.Name()]; known || !ok || x.Each {
				continue
			}
			list := make([]int64, n)
			for i := range list {
				list[i] = small[s.rnd.IntN(len(small))]
				if zero && s.chance(0.3) {
					list[i] = 0
				} else if s.chance(0.04) {
					list[i] = 67
				}
			}
			if !o.Out {
				s.sizes.Of[x.Name()] = list
			} else if x.At == "" {
				s.sizes.Of[x.Name()] = list
			}
		}
	}
	return true
}

// input adds a port for an operand, unless it is optional and not chosen.
func (s *sampler) input(o *declaration.Operand) {
	if o.Optional && s.chance(0.4) {
		return
	}
	n := 1
	if o.Variadic {
		n = 1 + s.rnd.IntN(3)
	}
	t, _ := s.args.TypeOf(o)
	p := infer.Port{Name: o.Names[s.rnd.IntN(len(o.Names))]}
	for range n {
		p.Sel = append(p.Sel, selected(s.shape(o), t))
	}
	s.call.Inputs = append(s.call.Inputs, p)
}

func (s *sampler) shape(o *declaration.Operand) []int64 {
	shape := []int64{}
	for _, x := range o.Index {
		sizes := s.sizes.Of[x.Name()]
		for _, y := range x.To {
			sizes = append(sizes, s.sizes.Of[y.Name()]...)
		}
		switch {
		case x.Each:
			shape = append(shape, int64(s.rnd.IntN(5)))
			continue
		case x.Use == declaration.Keep:
			for _, i := range s.args.Axes(x.Attr) {
				shape = append(shape, sizes[i])
			}
			continue
		case x.Use == declaration.Drop:
			shape = append(shape, s.sizes.Kept(x, sizes)...)
			continue
		case x.Use == declaration.Broadcast && s.chance(0.4):
			sizes = s.narrow(sizes)
		}
		shape = append(shape, sizes...)
	}
	return shape
}

// narrow gives a shape that broadcasts to another.
func (s *sampler) narrow(sizes []int64) []int64 {
	out := append([]int64{}, sizes[s.rnd.IntN(len(sizes)+1):]...)
	for i := range out {
		if s.chance(0.3) {
			out[i] = 1
		}
	}
	return out
}
