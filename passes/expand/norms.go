package expand

import (
	"fmt"
	"slices"

	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/permission"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/zspace"
	"tensortapestry.org/tapc/passes/rewrite"
)

// narrowless says whether a kernel computes on a type in the type itself.
func narrowless(d scalar.DType) bool { return d == scalar.Float32 || d == scalar.Float64 }

// statistics gives the mean of a tensor along dims, which follow each other, and that of the squared distances from it, with these dims kept, of size 1.
// ok is false if there is no such form.
type statistics func(b *builder, x rewrite.Operand, dims []int64) (mean, spread rewrite.Operand, ok bool)

// forms are the ways in which normalizations compute what they need.
var forms = []struct {
	name, text, because string
	allow               permission.Set
	of                  statistics
}{
	{"steps", "its steps", "they are the steps of its definition, (X - mean)·(1 / √(Σ (X - mean)² / n + epsilon))·scale + bias, with the squares rounded before their sum",
		permission.Reassociate, steps},
	{"statistics", "one by the kernels mean and variance", "they are the steps of its definition, each rounded as there: (X - mean)·(1 / √(variance + epsilon))·scale + bias",
		0, kernelsOf},
	{"one-sweep", "one by moments of blocks of at most 4096 cells, two at least, which are read once and combined",
		"Σ (X - mean)² = Σ_blocks (Σ (X - m)² + n·(m - mean)²), with m the mean of a block of n cells; sums are taken in another order", permission.Reassociate, blocks},
}

// steps are sums.
func steps(b *builder, x rewrite.Operand, dims []int64) (mean, spread rewrite.Operand, ok bool) {
	mean = b.average(x, dims)
	moved := b.two("sub", x, mean)
	return mean, b.average(b.many("mul", nil, moved, moved), dims), true
}

// average is the sum along dims, divided by how many cells it has.
func (b *builder) average(x rewrite.Operand, dims []int64) rewrite.Operand {
	return b.two("div", b.one("sum", kept(dims), x), b.number(ir.IntAttr(b.count(x, dims)), b.dtype()))
}

// dtype is the element type of the site's result.
func (b *builder) dtype() string {
	out, _ := b.s.Result()
	return b.s.Tensor(out.Tensor).DType
}

func (b *builder) count(x rewrite.Operand, dims []int64) (n int64) {
	n = 1
	for _, d := range dims {
		n *= b.shape(x)[d]
	}
	return n
}

func kept(dims []int64) ir.Attrs { return ints("dims", dims...).With("keepdims", ir.BoolAttr(true)) }

func kernelsOf(b *builder, x rewrite.Operand, dims []int64) (mean, spread rewrite.Operand, ok bool) {
	return b.one("mean", kept(dims), x), b.one("variance", kept(dims), x), true
}

// mostInBlock is how many cells a block has at most: they stay in the nearest cache between the two times that they are read.
const mostInBlock = 4096

// blocks cuts the cells into as few blocks as there can be of one size, and combines what each gives.
func blocks(b *builder, x rewrite.Operand, dims []int64) (mean, spread rewrite.Operand, ok bool) {
	n := b.count(x, dims)
	size := min(n/2, mostInBlock)
	for size > 1 && n%size != 0 {
		size--
	}
	if size < 2 {
		return mean, spread, false
	}
	at, shape := int(dims[0]), b.shape(x)
	cut := slices.Concat(shape[:at], []int64{n / size, size}, shape[at+len(dims):])
	ones := slices.Concat(shape[:at], slices.Repeat([]int64{1}, len(dims)), shape[at+len(dims):])
	first := []int64{int64(at)} // the dimension of blocks comes first
	for i := range int64(len(cut) - 1) {
		if i != int64(at) {
			first = append(first, i)
		}
	}
	parts := b.one("reshape", ints("shape", cut...), x)
	of := func(kernel, out string) rewrite.Operand {
		y := b.op(kernel, out, ints("dims", int64(at+1)), port("tensor", parts))
		return b.one("permute", ints("perm", first...), y)
	}
	totals, spreads := of("sum", "result"), of("moments", "spread")
	counts := b.s.Constant(ir.IntAttr(size), b.dtype(), zspace.MustShape(n/size))
	whole := func(y rewrite.Operand) rewrite.Operand {
		return b.two("div", b.one("reshape", ints("shape", ones...), y), b.number(ir.IntAttr(n), b.dtype()))
	}
	together := b.op("combine_moments", "spread", nil, port("counts", counts), port("spreads", spreads), port("totals", totals))
	return whole(b.one("sum", ints("dims", 0), totals)), whole(together), true
}

// normalized are the kernels that normalize; those of them whose second dimension has scale and bias.
var (
	normalized  = []string{"layer_norm", "instance_norm", "group_norm"}
	channelwise = []string{"instance_norm", "group_norm"}
)

// norm makes, of the operation at a site, one that computes what it needs in a form.
func norm(s *rewrite.Site, of statistics) (rewrite.Result, bool) {
	x, ok := input(s, "X")
	if !ok || !narrowless(s.Type(x)) || s.Op.Outputs.Len() != 1 {
		return rewrite.Result{}, false
	}
	b, v := builder{s: s}, at(x)
	shape, axis := x.Range().Shape(), int64(2)
	switch s.Kernel() {
	case "layer_norm":
		if axis = number(s, "axis", -1); axis < 0 {
			axis += int64(len(shape))
		}
	case "group_norm":
		groups := number(s, "groups", 1)
		v = b.one("reshape", ints("shape", append([]int64{shape[0], groups, shape[1] / max(groups, 1)}, shape[2:]...)...), v)
	}
	var dims []int64
	for i := axis; i >= 0 && i < int64(len(b.shape(v))); i++ {
		dims = append(dims, i)
	}
	if len(dims) == 0 || b.failed {
		return rewrite.Result{}, false
	}
	mean, spread, ok := of(&b, v, dims)
	if !ok {
		return rewrite.Result{}, false
	}
	root := b.one("sqrt", nil, b.many("add", nil, spread, b.epsilon()))
	y := b.many("mul", nil, b.two("sub", v, mean), b.two("div", b.number(ir.IntAttr(1), b.dtype()), root))
	if s.Kernel() == "group_norm" {
		y = b.one("reshape", ints("shape", shape...), y)
	}
	return b.done(b.scaled(y))
}

// number is a parameter that is an integer.
func number(s *rewrite.Site, name string, otherwise int64) int64 {
	if v, ok := s.Op.Params.Get(name); ok {
		return v.Int
	}
	return otherwise
}

func (b *builder) epsilon() rewrite.Operand {
	if v, ok := b.s.Op.Params.Get("epsilon"); ok {
		return b.number(v, b.dtype())
	}
	return b.number(ir.FloatAttr(1e-5), b.dtype())
}

// scaled is a normalized tensor times scale plus bias, where the site's operation has them: for each channel, or as they are.
func (b *builder) scaled(y rewrite.Operand) rewrite.Operand {
	for _, by := range scaling {
		x, ok := input(b.s, by.port)
		if !ok {
			continue
		}
		v := at(x)
		if slices.Contains(channelwise, b.s.Kernel()) {
			behind := slices.Repeat([]int64{1}, len(b.shape(y))-2)
			v = b.one("reshape", ints("shape", append(b.shape(v), behind...)...), v)
		}
		y = b.many(by.kernel, nil, y, v)
	}
	return y
}

// scaling are the operands of normalizations beside the tensor, and what is done with them.
var scaling = []struct{ port, kernel string }{{"scale", "mul"}, {"bias", "add"}}

var rmsNormSteps = rewrite.Rule{Name: "rms-norm-steps", Source: "Go", Roots: []string{"rms_norm"},
	Text:    "A normalization by the root of the mean square, of float32 or float64, becomes its steps.",
	Because: "they are the steps of its definition, each rounded as there: X·(1 / √(Σ X² / n + epsilon))·scale",
	Match: func(s *rewrite.Site) (rewrite.Result, bool) {
		x, ok := input(s, "X")
		if !ok || !narrowless(s.Type(x)) {
			return rewrite.Result{}, false
		}
		b, rank := builder{s: s}, int64(x.Range().Rank())
		axis := number(s, "axis", -1)
		if axis < 0 {
			axis += rank
		}
		var dims []int64
		for i := axis; i >= 0 && i < rank; i++ {
			dims = append(dims, i)
		}
		if len(dims) == 0 {
			return rewrite.Result{}, false
		}
		spread := b.two("div", b.one("sum_square", kept(dims), at(x)), b.number(ir.IntAttr(b.count(at(x), dims)), b.dtype()))
		root := b.one("sqrt", nil, b.many("add", nil, spread, b.epsilon()))
		return b.done(b.scaled(b.many("mul", nil, at(x), b.two("div", b.number(ir.IntAttr(1), b.dtype()), root))))
	}}

var stepsRMSNorm = undo("steps-rms-norm", "The steps of a normalization by the root of the mean square become it.", rmsNormSteps, []string{"mul"},
	func(r *reader, y ir.Selection) []whence { return normGuesses(r, "rms_norm", y) })

// normRules are the rules of all normalizations and forms, each with the one that goes back.
func normRules() (list []rewrite.Rule) {
	for _, kernel := range normalized {
		words := map[string]string{"layer_norm": "a layer", "instance_norm": "an instance", "group_norm": "a group"}[kernel]
		name := kernel[:len(kernel)-len("_norm")] + "-norm"
		for _, f := range forms {
			r := rewrite.Rule{Name: name + "-" + f.name, Source: "Go", Roots: []string{kernel}, Allow: f.allow,
				Text:    fmt.Sprintf("The normalization of %s, of float32 or float64, of which only the result is asked for, becomes %s.", words, f.text),
				Because: f.because,
				Match:   func(s *rewrite.Site) (rewrite.Result, bool) { return norm(s, f.of) }}
			list = append(list, r, undo(f.name+"-"+name, fmt.Sprintf("What %s makes becomes the normalization again.", r.Name), r, []string{"add", "mul", "reshape"},
				func(r *reader, y ir.Selection) []whence { return normGuesses(r, kernel, y) }))
		}
	}
	return append(list, rmsNormSteps, stepsRMSNorm, varianceOneSweep, oneSweepVariance)
}

// normGuesses reads which normalizations may have given a result.
func normGuesses(r *reader, kernel string, y ir.Selection) (list []whence) {
	channels := slices.Contains(channelwise, kernel)
	for _, given := range []int{3, 2, 1, 0} { // bits: scale, bias
		w, x := whence{kernel: kernel, out: "Y"}, y
		r.failed = false
		for i := len(scaling) - 1; i >= 0; i-- {
			if given>>i&1 == 0 {
				continue
			}
			by := r.arg(x, scaling[i].kernel, 1, "tensors")
			if channels {
				by = r.arg(by, "reshape", 0, "tensor")
			}
			w, x = w.with(scaling[i].port, by), r.arg(x, scaling[i].kernel, 0, "tensors")
		}
		if kernel == "group_norm" {
			x = r.arg(x, "reshape", 0, "tensor")
		}
		from := r.arg(x, "mul", 0, "tensors")
		if kernel != "rms_norm" {
			from = r.arg(from, "sub", 0, "a")
		}
		w = w.set("epsilon", r.number(r.arg(r.arg(r.arg(r.arg(x, "mul", 1, "tensors"), "div", 0, "b"), "sqrt", 0, "tensor"), "add", 1, "tensors")))
		if kernel == "group_norm" && !r.failed {
			w = w.set("groups", ir.IntAttr(from.Range().Shape()[1]))
			from = r.arg(from, "reshape", 0, "tensor")
		}
		if w = w.with("X", from); r.failed {
			continue
		}
		if channels {
			list = append(list, w)
			continue
		}
		for axis := range from.Range().Rank() {
			list = append(list, w.set("axis", ir.IntAttr(int64(axis))))
		}
	}
	return list
}

var varianceOneSweep = rewrite.Rule{Name: "variance-one-sweep", Source: "Go", Roots: []string{"variance"}, Allow: permission.Reassociate,
	Text: "A variance of float32 or float64 along dimensions that follow each other becomes moments of blocks of at most 4096 cells, two at least, which are read " +
		"once and combined.",
	Because: "Σ (X - mean)² = Σ_blocks (Σ (X - m)² + n·(m - mean)²), with m the mean of a block of n cells; sums are taken in another order",
	Match: func(s *rewrite.Site) (rewrite.Result, bool) {
		x, ok := input(s, "tensor")
		dims, follow := following(s, x)
		out, _ := s.Result()
		if !ok || !follow || !narrowless(s.Type(x)) || number(s, "correction", 0) != 0 {
			return rewrite.Result{}, false
		}
		b := builder{s: s}
		_, spread, ok := blocks(&b, at(x), dims)
		if v, _ := s.Op.Params.Get("keepdims"); !v.Equal(ir.BoolAttr(true)) && ok {
			spread = b.one("reshape", ints("shape", out.Range().Shape()...), spread)
		}
		if !ok {
			return rewrite.Result{}, false
		}
		return b.done(spread)
	}}

// following gives the dimensions that a reduction at a site has, if these follow each other.
func following(s *rewrite.Site, x ir.Selection) (dims []int64, ok bool) {
	rank := int64(x.Range().Rank())
	v, given := s.Op.Params.Get("dims")
	dims, _ = v.Ints()
	if !given {
		for i := range rank {
			dims = append(dims, i)
		}
	}
	dims = slices.Clone(dims)
	for i, d := range dims {
		if d < 0 {
			dims[i] += rank
		}
	}
	slices.Sort(dims)
	for i, d := range dims {
		if d != dims[0]+int64(i) || d >= rank {
			return nil, false
		}
	}
	return dims, len(dims) > 0
}

var oneSweepVariance = undo("one-sweep-variance", "What variance-one-sweep makes becomes the variance again.", varianceOneSweep, []string{"div", "reshape"},
	func(r *reader, y ir.Selection) (list []whence) {
		for _, keep := range []bool{true, false} {
			r.failed = false
			x := y
			if !keep {
				x = r.arg(x, "reshape", 0, "tensor")
			}
			together := r.arg(r.arg(x, "div", 0, "a"), "reshape", 0, "tensor")
			parts := r.arg(r.arg(r.arg(together, "combine_moments", 0, "spreads"), "permute", 0, "tensor"), "moments", 0, "tensor")
			from := r.arg(parts, "reshape", 0, "tensor")
			if r.failed {
				continue
			}
			rank := int64(from.Range().Rank())
			for first := range rank {
				var dims []int64
				for last := first; last < rank; last++ {
					dims = append(dims, last)
					list = append(list, whence{kernel: "variance", out: "result"}.with("tensor", from).set("dims", ir.IntsAttr(dims...)).set("keepdims", ir.BoolAttr(keep)))
				}
			}
		}
		return list
	})
