package expand

import (
	"slices"

	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/permission"
	"tensortapestry.org/tapc/passes/rewrite"
)

// conv is a convolution without padding.
type conv struct {
	b                  builder
	x, w               ir.Selection
	strides, dilations []int64
	in, out, cells     []int64 // extents of spatial dimensions: of X, of the result, of the filters
	groups             ir.AttrValue
}

// convOf reads a convolution; false if it has padding.
func convOf(s *rewrite.Site) (*conv, bool) {
	x, ok := input(s, "X")
	w, ok2 := input(s, "W", "F")
	y, ok3 := s.Result()
	if !ok || !ok2 || !ok3 || x.Range().Rank() < 3 {
		return nil, false
	}
	n := x.Range().Rank() - 2
	c := &conv{b: builder{s: s}, x: x, w: w, strides: listOf(s, "strides", n, 1), dilations: listOf(s, "dilations", n, 1),
		in: x.Range().Shape()[2:], out: y.Range().Shape()[2:], cells: w.Range().Shape()[2:], groups: ir.IntAttr(1)}
	if g, ok := s.Op.Params.Get("groups"); ok {
		c.groups = g
	}
	pads := append(listOf(s, "pads", n, 0), listOf(s, "pads_end", n, 0)...)
	padded := slices.ContainsFunc(pads, func(p int64) bool { return p != 0 })
	empty := slices.Contains(c.out, 0) || slices.Contains(c.in, 0) || slices.Contains(c.cells, 0)
	return c, len(c.strides) == n && len(c.dilations) == n && !padded && !empty
}

// listOf gives a parameter with a number for each spatial dimension.
func listOf(s *rewrite.Site, name string, n int, otherwise int64) []int64 {
	v, ok := s.Op.Params.Get(name)
	if !ok {
		return slices.Repeat([]int64{otherwise}, n)
	}
	if v.Kind == ir.AttrInt {
		return slices.Repeat([]int64{v.Int}, n)
	}
	list, _ := v.Ints()
	return list
}

// slice gives of each spatial dimension so many cells, the first at starts and the others steps apart.
func (c *conv) slice(x rewrite.Operand, starts, steps, lengths []int64) rewrite.Operand {
	shape := c.b.shape(x)
	p := ints("lengths", append(slices.Clone(shape[:2]), lengths...)...).With("starts", ir.IntsAttr(append([]int64{0, 0}, starts...)...)).
		With("steps", ir.IntsAttr(append([]int64{1, 1}, steps...)...))
	return c.b.one("slice", p, x)
}

// dense is a convolution with strides and dilations of 1, without a bias.
func (c *conv) dense(x, w rewrite.Operand) rewrite.Operand {
	return c.strided(x, w, nil, nil)
}

func (c *conv) strided(x, w rewrite.Operand, strides, dilations []int64) rewrite.Operand {
	p := ir.Attrs{}.With("groups", c.groups)
	if strides != nil {
		p = p.With("strides", ir.IntsAttr(strides...))
	}
	if dilations != nil {
		p = p.With("dilations", ir.IntsAttr(dilations...))
	}
	return c.b.op("conv", "Y", p, port("W", w), port("X", x))
}

// biased adds the bias, if there is one, to a result with the filters in dimension 1.
func (c *conv) biased(y rewrite.Operand) (rewrite.Result, bool) {
	if bias, ok := input(c.b.s, "B"); ok {
		column := append([]int64{bias.Range().Shape()[0]}, slices.Repeat([]int64{1}, len(c.in))...)
		y = c.b.many("add", nil, y, c.b.one("reshape", ints("shape", column...), at(bias)))
	}
	return c.b.done(y)
}

func some(list []int64) bool {
	return slices.ContainsFunc(list, func(n int64) bool { return n > 1 })
}

var convSlice = rewrite.Rule{Name: "conv-slice", Source: "Go", Roots: []string{"conv"},
	Text:    "A convolution with strides and no padding becomes a strided view of one without strides.",
	Because: "place o of it is place strides·o of the other, which sums the same products",
	Match: func(s *rewrite.Site) (rewrite.Result, bool) {
		c, ok := convOf(s)
		if !ok || !some(c.strides) {
			return rewrite.Result{}, false
		}
		y := c.strided(at(c.x), at(c.w), nil, c.dilations)
		return c.biased(c.slice(y, slices.Repeat([]int64{0}, len(c.in)), c.strides, c.out))
	}}

// maxParts bounds the convolutions or views that one convolution becomes.
const maxParts = 64

// each calls visit with every point of a box that begins at 0, unless it has too many; then it is false.
func each(extents []int64, visit func(at []int64)) bool {
	n := int64(1)
	for _, e := range extents {
		if n *= e; n > maxParts || n < 0 {
			return false
		}
	}
	at := make([]int64, len(extents))
	for range n {
		visit(slices.Clone(at))
		for d := len(at) - 1; d >= 0; d-- {
			if at[d]++; at[d] < extents[d] {
				break
			}
			at[d] = 0
		}
	}
	return true
}

var convPhases = rewrite.Rule{Name: "conv-phases", Source: "Go", Roots: []string{"conv"}, Allow: permission.Reassociate,
	Text:    "A convolution with strides and no padding or dilation becomes a sum of dense ones: of strided views of X with strided views of the filters.",
	Because: "Σ_k X[s·o + k]·W[k] = Σ_{u<s} Σ_t X[s·(o + t) + u]·W[s·t + u], with the inner sums rounded",
	Match: func(s *rewrite.Site) (rewrite.Result, bool) {
		c, ok := convOf(s)
		if !ok || !some(c.strides) || some(c.dilations) {
			return rewrite.Result{}, false
		}
		var parts []rewrite.Operand
		ok = each(c.strides, func(u []int64) {
			if part, there := c.phase(u); there {
				parts = append(parts, part)
			}
		})
		if !ok || len(parts) < 2 {
			return rewrite.Result{}, false
		}
		return c.biased(c.b.many("add", nil, parts...))
	}}

// phase is the dense convolution of the cells that leave the remainder u; false if no cell of the filters does.
func (c *conv) phase(u []int64) (rewrite.Operand, bool) {
	taps, lengths := make([]int64, len(u)), make([]int64, len(u))
	for d, s := range c.strides {
		if taps[d] = (c.cells[d] - u[d] + s - 1) / s; taps[d] <= 0 {
			return rewrite.Operand{}, false
		}
		lengths[d] = c.out[d] + taps[d] - 1
	}
	return c.dense(c.slice(at(c.x), u, c.strides, lengths), c.slice(at(c.w), u, c.strides, taps)), true
}

var convInterleave = rewrite.Rule{Name: "conv-interleave", Source: "Go", Roots: []string{"conv"},
	Text:    "A convolution with dilations and no padding or strides becomes dense ones of strided views of X, whose results are interleaved: along the first dimension whose dilation divides the result's extent.",
	Because: "place o = d·q + r reads X at d·(q + k) + r alone, so the places of a remainder r are a dense convolution of the cells of that remainder, with the same sums",
	Match: func(s *rewrite.Site) (rewrite.Result, bool) {
		c, ok := convOf(s)
		if !ok || some(c.strides) {
			return rewrite.Result{}, false
		}
		dim := slices.IndexFunc(c.dilations, func(d int64) bool { return d > 1 })
		if dim < 0 || c.out[dim]%c.dilations[dim] != 0 || c.dilations[dim] > maxParts {
			return rewrite.Result{}, false
		}
		d, rest := c.dilations[dim], slices.Clone(c.dilations)
		rest[dim] = 1
		var parts []rewrite.Operand
		for r := range d {
			starts, steps, lengths := make([]int64, len(c.in)), slices.Repeat([]int64{1}, len(c.in)), slices.Clone(c.in)
			starts[dim], steps[dim], lengths[dim] = r, d, c.out[dim]/d+c.cells[dim]-1
			parts = append(parts, c.strided(c.slice(at(c.x), starts, steps, lengths), at(c.w), nil, rest))
		}
		return c.biased(c.b.many("interleave", ir.Attrs{}.With("axis", ir.IntAttr(int64(dim+2))), parts...))
	}}

var convPatches = rewrite.Rule{Name: "conv-patches", Source: "Go", Roots: []string{"conv"}, Allow: permission.Reassociate,
	Text:    "A convolution without padding and groups, by filters of 64 cells or fewer, becomes a product: of its patches, views of X for each cell of the filters, with the filters.",
	Because: "Σ_{c,k} X[c, s·o + d·k]·W[f, c, k] is a sum over one dimension of patches P[o, (c, k)] and filters W[f, (c, k)]",
	Match: func(s *rewrite.Site) (rewrite.Result, bool) {
		c, ok := convOf(s)
		if !ok || c.groups.Int != 1 {
			return rewrite.Result{}, false
		}
		var views []rewrite.Operand
		if !each(c.cells, func(k []int64) {
			starts := make([]int64, len(k))
			for i := range k {
				starts[i] = k[i] * c.dilations[i]
			}
			views = append(views, c.slice(at(c.x), starts, c.strides, c.out))
		}) {
			return rewrite.Result{}, false
		}
		return c.biased(c.product(views))
	}}

// product multiplies patches, a view of X for each cell, with the filters, and puts the filters' dimension where a convolution has it.
func (c *conv) product(views []rewrite.Operand) rewrite.Operand {
	shape, w := c.b.shape(views[0]), c.w.Range().Shape()
	n, cells, places := shape[0], shape[1]*int64(len(views)), int64(1)
	for _, e := range shape[2:] {
		places *= e
	}
	stacked := c.b.many("stack", ir.Attrs{}.With("axis", ir.IntAttr(2)), views...) // n, c, k, *o
	patches := c.b.one("reshape", ints("shape", n, cells, places), stacked)
	y := c.b.product(c.b.one("reshape", ints("shape", w[0], cells), at(c.w)), patches)
	return c.b.one("reshape", ints("shape", append([]int64{n, w[0]}, shape[2:]...)...), y)
}

// convRead is what undoing a rule of convolutions reads: the result without its bias, into an operation with its input and filters.
type convRead func(r *reader, y ir.Selection, w whence) whence

// undoConv makes the rule that finds what a rule of convolutions makes, with and without a bias.
func undoConv(name, text string, of rewrite.Rule, root string, read convRead) rewrite.Rule {
	return undo(name, text, of, []string{root, "add"}, func(r *reader, y ir.Selection) []whence {
		w := whence{kernel: "conv", out: "Y"}
		list := r.read(nil, func() whence { return read(r, y, w) })
		return r.read(list, func() whence {
			return read(r, r.arg(y, "add", 0, "tensors"), w.with("B", r.arg(r.arg(y, "add", 1, "tensors"), "reshape", 0, "tensor")))
		})
	})
}

// like gives w the parameters of the convolution that computes y.
func (r *reader) like(y ir.Selection, w whence) whence {
	if d := r.def(y, "conv"); !r.failed {
		w.params = d.Op.Params
	}
	return w
}

// spatial gives a list of a slice, of the spatial dimensions.
func (r *reader) spatial(x ir.Selection, name string) []int64 {
	list := r.ints(x, "slice", name)
	if r.failed = r.failed || len(list) < 3; r.failed {
		return nil
	}
	return list[2:]
}

var sliceConv = undoConv("slice-conv", "A strided view of a convolution without strides and padding becomes one with strides.", convSlice, "slice",
	func(r *reader, y ir.Selection, w whence) whence {
		inner := r.arg(y, "slice", 0, "tensor")
		w = r.like(inner, w).set("strides", ir.IntsAttr(r.spatial(y, "steps")...))
		return w.with("X", r.arg(inner, "conv", 0, "X")).with("W", r.arg(inner, "conv", 0, "W", "F"))
	})

var phasesConv = undoConv("phases-conv", "A sum of dense convolutions, of strided views of X with strided views of the filters, becomes one with strides.", convPhases, "add",
	func(r *reader, y ir.Selection, w whence) whence {
		part := r.arg(y, "add", 0, "tensors")
		x, f := r.arg(part, "conv", 0, "X"), r.arg(part, "conv", 0, "W", "F")
		w = r.like(part, w).set("strides", ir.IntsAttr(r.spatial(x, "steps")...))
		return w.with("X", r.arg(x, "slice", 0, "tensor")).with("W", r.arg(f, "slice", 0, "tensor"))
	})

var interleaveConv = undoConv("interleave-conv", "Dense convolutions of strided views of X, interleaved, become one with dilations.", convInterleave, "interleave",
	func(r *reader, y ir.Selection, w whence) whence {
		part := r.arg(y, "interleave", 0, "tensors")
		x, f := r.arg(part, "conv", 0, "X"), r.arg(part, "conv", 0, "W", "F")
		dilations := r.spatial(x, "steps")
		w = r.like(part, w)
		if rest, given := w.params.Get("dilations"); given && !r.failed {
			list, _ := rest.Ints()
			for i := range min(len(list), len(dilations)) {
				dilations[i] *= list[i]
			}
		}
		return w.set("dilations", ir.IntsAttr(dilations...)).with("X", r.arg(x, "slice", 0, "tensor")).with("W", f)
	})

var patchesConv = undoConv("patches-conv", "A product of the patches of X, views of it for each cell of the filters, with the filters becomes a convolution.", convPatches, "reshape",
	func(r *reader, y ir.Selection, w whence) whence {
		product := r.arg(y, "reshape", 0, "tensor")
		f := r.arg(r.arg(product, "matmul", 0, "X"), "reshape", 0, "tensor")
		stacked := r.arg(r.arg(product, "matmul", 0, "Y", "W"), "reshape", 0, "tensor")
		first := r.arg(stacked, "stack", 0, "tensors")
		w = w.set("strides", ir.IntsAttr(r.spatial(first, "steps")...)).with("X", r.arg(first, "slice", 0, "tensor")).with("W", f)
		if r.failed || f.Range().Rank() < 3 {
			r.failed = true
			return w
		}
		cells := f.Range().Shape()[2:]
		dilations, behind := slices.Repeat([]int64{1}, len(cells)), 1
		for i := len(cells) - 1; i >= 0; i-- { // the second view of a dimension begins where the filter's second cell lies
			if cells[i] > 1 {
				if starts := r.spatial(r.arg(stacked, "stack", behind, "tensors"), "starts"); i < len(starts) {
					dilations[i] = starts[i]
				}
			}
			behind *= int(min(cells[i], maxParts))
		}
		return w.set("dilations", ir.IntsAttr(dilations...))
	})
