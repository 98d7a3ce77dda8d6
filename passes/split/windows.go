package split

import (
	"slices"

	"tensortapestry.org/tapc/dialects/tensorops/kernels/instance"
	"tensortapestry.org/tapc/ir"
)

// windowed are the kernels that reduce along windows of their first operand, whose cell h is read at o·stride + k·dilation - pad, and has one value beyond the border.
// A part of the window from k0 on reads at o·stride + k·dilation - (pad - k0·dilation): it is the same kernel with other pads, on what it reads.
var windowed = []string{"conv", "conv_integer", "max_pool", "sum_pool"}

// window is how a dim runs along the windows of an operation's first operand.
type window struct {
	in      *instance.Instance
	dim     int
	row     int // the coordinate of the operand that it moves along
	spatial int // which of the spatial dimensions that is
}

// windowOf gives it, or nil if the dim is none of windows.
func windowOf(in *instance.Instance, dim int) *window {
	if !slices.Contains(windowed, in.Decl.Name) {
		return nil
	}
	row, ok := coordinate(in, dim)
	pads, _ := in.Params["pads"].Ints()
	spatial := row - (len(in.Operands[0].Access.Projection) - len(pads))
	if !ok || spatial < 0 {
		return nil
	}
	return &window{in, dim, row, spatial}
}

// part selects what a part of the window reads of the operand, and gives the parameters with which it is read.
func (w *window) part(params ir.Attrs, inputs ir.Ports, start, end int64) ir.Attrs {
	o := w.in.Operands[0]
	if v, ok := params.Get("ceil_mode"); ok && v.Equal(ir.BoolAttr(true)) {
		params = params.Without("ceil_mode").With("pads_end", ir.IntsAttr(ends(w.in)...))
	}
	first := o.Access.Offset[w.row] + o.Access.Projection[w.row][w.dim]*start
	past := past(w.in, w.row) - o.Access.Projection[w.row][w.dim]*(w.in.Dims[w.dim].Extent-end)
	sel := &inputs.Get(o.Port).Sel[o.Entry]
	r, whole := sel.Range().Clone(), o.Sel.Range()
	r.Start[w.row], r.End[w.row] = max(first, whole.Start[w.row]), min(past, whole.End[w.row])
	before, behind := r.Start[w.row]-first, past-r.End[w.row]
	if r.Start[w.row] >= r.End[w.row] { // all of it lies beyond a border
		r.Start[w.row], r.End[w.row] = whole.Start[w.row], whole.Start[w.row]
		before, behind = past-first, 0
	}
	sel.SetRange(r)
	params = w.set(w.set(params, "pads", before), "pads_end", behind)
	if _, ok := w.in.Params["kernel"]; ok {
		params = w.set(params, "kernel", end-start)
	}
	return params
}

// fits says whether a part has the dims of the whole, with so many values of the one that is cut. Of an operand without cells there are dims beside.
func (w *window) fits(part *instance.Instance, length int64) bool {
	for i, d := range w.in.Dims {
		want := d.Extent
		if i == w.dim {
			want = length
		}
		if !slices.ContainsFunc(part.Dims, func(x instance.Dim) bool { return x.Name == d.Name && x.Extent == want }) {
			return false
		}
	}
	return true
}

// past gives where what an operation reads of its first operand ends along a coordinate.
func past(in *instance.Instance, row int) int64 {
	end := in.Operands[0].Access.Offset[row] + 1
	for d, x := range in.Operands[0].Access.Projection[row] {
		end += x * (in.Dims[d].Extent - 1)
	}
	return end
}

// ends gives how many cells behind each spatial dimension windows reach: so many pads give as many windows as there are, without ceil_mode too.
func ends(in *instance.Instance) (pads []int64) {
	o := in.Operands[0]
	list, _ := in.Params["pads"].Ints()
	for j := range list {
		row := len(o.Access.Projection) - len(list) + j
		pads = append(pads, max(0, past(in, row)-o.Sel.Range().End[row]))
	}
	return pads
}

// set gives a parameter with one number for each spatial dimension another number for that of the window.
func (w *window) set(params ir.Attrs, name string, to int64) ir.Attrs {
	list, _ := w.in.Params[name].Ints()
	if len(list) == 0 {
		return params
	}
	if v, ok := params.Get(name); ok { // what an earlier name of this call has set
		if set, ok := v.Ints(); ok && len(set) == len(list) {
			list = set
		}
	}
	list = slices.Clone(list)
	list[w.spatial] = to
	return params.With(name, ir.IntsAttr(list...))
}
