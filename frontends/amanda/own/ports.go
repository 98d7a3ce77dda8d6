package own

import (
	"fmt"
	"slices"
	"strings"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/frontends/amanda"
	"tensortapestry.org/tapc/frontends/amanda/closed"
	"tensortapestry.org/tapc/frontends/namespace"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
)

// CodeSays is the code of an attribute that says something else of a value than what it is.
const CodeSays = "TAP0863"

// isRemark says whether an attribute is one that means nothing to tapc.
func isRemark(name string) bool { return strings.HasPrefix(name, "_") }

// What attributes may be where, besides remarks. Those of ops without an inside are parameters.
var (
	ofGraphs  = []string{"namespace"}
	ofSubs    = []string{"name", "type"}
	ofEdges   []string
	ofInputs  = []string{"name", "dtype", "type_attr", "shape", startAttr, "optional", boxAttr}
	ofOutputs = []string{"name", "dtype", "type_attr", "shape", startAttr, "optional", amanda.ValueName}
	ofBorders = []string{"name", "dtype", "type_attr", "shape", startAttr, "optional"}
	ofResults = append([]string{memoryAttr, roomAttr}, ofOutputs...) // of the program
)

// meaning refuses attributes of a graph that mean nothing where they are.
func meaning(g *amanda.Graph) error {
	m := &meanings{file: g.File}
	m.only(g.Attrs, ofGraphs, g.Place, "the graph")
	m.inside(g.Ops, g.Edges, len(g.Ops) == 1)
	return m.bad.Err()
}

type meanings struct {
	file string
	bad  diag.List
}

func (m *meanings) inside(ops []*amanda.Op, edges []amanda.Edge, alone bool) {
	for i, o := range ops {
		in, out, title := ofInputs, ofOutputs, fmt.Sprintf("%q", o.Name)
		if o.Name == "" {
			title = fmt.Sprint("number ", i)
		}
		if o.Sub {
			in = ofBorders
			if alone {
				out = ofResults
			}
			m.only(o.Attrs, ofSubs, o.Place, "subgraph "+title)
			m.inside(o.Ops, o.Edges, false)
		} else if v, io := o.Attrs.Get(ioAttr); io && (v.Kind != ir.AttrMap || len(v.Map) > 0) {
			m.report(o.Place, "an empty map, {}", amanda.Flow(v), "op %s: the tag %s has no parameters", title, ioAttr)
		}
		for _, p := range o.Inputs {
			m.only(p.Attrs, in, p.Place, fmt.Sprintf("input port %q of %s", p.Name, title))
		}
		for _, p := range o.Outputs {
			m.only(p.Attrs, out, p.Place, fmt.Sprintf("output port %q of %s", p.Name, title))
		}
	}
	for _, e := range edges {
		m.only(e.Attrs, ofEdges, e.Place, "the edge")
	}
}

func (m *meanings) report(at amanda.Place, expected, found, format string, args ...any) {
	m.bad = append(m.bad, diag.Errorf(closed.CodeMeaning, constraint, diag.Location{File: m.file, Line: at.Line, Column: at.Column}, format, args...).Want(expected, found))
}

// only holds attributes to those that mean something there.
func (m *meanings) only(attrs ir.Attrs, known []string, at amanda.Place, what string) {
	for _, a := range attrs {
		if isRemark(a.Name) || slices.Contains(known, a.Name) {
			continue
		}
		expected := "no attributes but remarks, whose names begin with _"
		if len(known) > 0 {
			expected = "one of " + strings.Join(slices.Sorted(slices.Values(known)), ", ")
		}
		d := diag.Errorf(closed.CodeMeaning, constraint, diag.Location{File: m.file, Line: at.Line, Column: at.Column}, "%s: the attribute %s means nothing there", what, a.Name).Want(expected, a.Name)
		switch a.Name {
		case memoryAttr, roomAttr:
			d.Hint = "an output of the program may have the memory of an input, which a subgraph that is the only op of its graph states"
		case boxAttr:
			d.Hint = "an op without an inside takes a part of a tensor, at an input port"
		case ioAttr:
			d.Hint = "ops have effects, and subgraphs their ops: put it on the op inside"
		}
		m.bad = append(m.bad, d)
	}
}

// region is a graph or the inside of a subgraph on its way to the tensors of its ports.
type region struct {
	ops      []*amanda.Op
	self     *amanda.Op // nil for the graph
	at       int        // of self in the region around
	outer    *region
	children map[int]*region
	feeds    map[[2]int][2]int // the op and port that an op's port takes its value from; selfOp is the subgraph around
}

const selfOp = -1

func newRegion(ops []*amanda.Op, edges []amanda.Edge, self *amanda.Op, at int, outer *region) *region {
	r := &region{ops: ops, self: self, at: at, outer: outer, children: map[int]*region{}, feeds: map[[2]int][2]int{}}
	names := map[string]int{}
	for i, o := range ops {
		names[o.Name] = i
		if o.Sub {
			r.children[i] = newRegion(o.Ops, o.Edges, o, i, r)
		}
	}
	if self != nil {
		names[self.Name] = selfOp
	}
	names[amanda.Self] = selfOp
	find := func(e amanda.End, source bool) [2]int {
		op := e.Op.Index
		if e.Op.Name != "" {
			op = names[e.Op.Name]
		}
		port := e.Port.Index
		if e.Port.Name != "" {
			port = slices.IndexFunc(r.side(op, source), func(p amanda.Port) bool { return p.Name == e.Port.Name })
		}
		return [2]int{op, port}
	}
	for _, e := range edges {
		if to := find(e.To, false); to[1] != amanda.Control {
			r.feeds[to] = find(e.From, true)
		}
	}
	return r
}

// side gives the ports of an op that edges start from, or end at; those of the subgraph around have turned round.
func (r *region) side(op int, source bool) []amanda.Port {
	o := r.self
	if op != selfOp {
		o = r.ops[op]
	}
	if source != (op == selfOp) {
		return o.Outputs
	}
	return o.Inputs
}

// origin follows a port to the op without an inside, or the port of the program, that gives its value; ok is false if nothing does.
func (r *region) origin(to [2]int) (o *amanda.Op, port int, ok bool) {
	from, ok := r.feeds[to]
	switch {
	case !ok:
		return nil, 0, false
	case from[0] != selfOp && r.children[from[0]] != nil:
		return r.children[from[0]].origin([2]int{selfOp, from[1]})
	case from[0] != selfOp:
		return r.ops[from[0]], from[1], true
	case r.outer.self == nil && len(r.outer.ops) == 1:
		return r.self, from[1], true
	}
	return r.outer.origin([2]int{r.at, from[1]})
}

// ports holds what the ports of a graph say to what they give and take, and gives the graph with the dtype and the shape of every port of a subgraph.
func (b *raiser) ports(g *amanda.Graph) (*amanda.Graph, error) {
	s := &sayer{b: b, of: map[*amanda.Op]map[int]*tensorops.Tensor{}}
	for op, from := range b.f.Of {
		s.of[from.Op] = map[int]*tensorops.Tensor{}
		for i, k := range from.Out {
			if id, there := b.tensors[op.Out[i]]; there && k >= 0 {
				s.of[from.Op][k] = tensorops.TensorOf(b.g, id)
			}
		}
	}
	out := *g
	out.Ops = s.inside(newRegion(g.Ops, g.Edges, nil, 0, nil))
	return &out, b.bad.Err()
}

// sayer knows the tensors that ops without an inside give.
type sayer struct {
	b  *raiser
	of map[*amanda.Op]map[int]*tensorops.Tensor
}

// inside gives the ops of a region, with subgraphs whose ports say what they are.
func (s *sayer) inside(r *region) []*amanda.Op {
	out := slices.Clone(r.ops)
	for i, o := range r.ops {
		program := o.Sub && r.self == nil && len(r.ops) == 1
		for k, p := range o.Inputs {
			if !program {
				s.said(o, p, s.tensor(r, [2]int{i, k}))
			}
		}
		if !o.Sub {
			for k, p := range o.Outputs {
				s.said(o, p, s.of[o][k])
			}
			continue
		}
		child, sub := r.children[i], *o
		for k, p := range o.Outputs {
			s.said(o, p, s.tensor(child, [2]int{selfOp, k}))
		}
		sub.Ops = s.inside(child)
		sub.Inputs = s.filled(o.Inputs, func(k int) *tensorops.Tensor { return s.tensor(r, [2]int{i, k}) })
		sub.Outputs = s.filled(o.Outputs, func(k int) *tensorops.Tensor { return s.tensor(child, [2]int{selfOp, k}) })
		out[i] = &sub
	}
	return out
}

// tensor gives what comes in at a port, nil if nothing does.
func (s *sayer) tensor(r *region, to [2]int) *tensorops.Tensor {
	o, port, ok := r.origin(to)
	switch {
	case !ok:
		return nil
	case !o.Sub:
		return s.of[o][port]
	}
	return tensorops.TensorOf(s.b.g, s.b.tensors[s.b.f.Graph.Inputs[port].Name])
}

// filled gives ports that say the dtype and the shape of their tensors.
func (s *sayer) filled(ports []amanda.Port, tensor func(k int) *tensorops.Tensor) []amanda.Port {
	out := slices.Clone(ports)
	for k := range out {
		if t := tensor(k); t != nil {
			for _, a := range tensorPort(t) {
				out[k].Attrs = out[k].Attrs.With(a.Name, a.Value)
			}
		}
	}
	return out
}

// said holds what a port says to the tensor that it gives or takes.
func (s *sayer) said(o *amanda.Op, p amanda.Port, t *tensorops.Tensor) {
	if t == nil {
		return
	}
	dtype, there := p.Attrs.Get("dtype")
	if by, ok := p.Attrs.Get("type_attr"); ok && !there {
		dtype, there = o.Attrs.Get(by.Str)
	}
	if there && (dtype.Kind != ir.AttrString || namespace.DType(dtype.Str).String() != t.DType) {
		s.differs(o, p, "dtype "+t.DType, "dtype "+amanda.Flow(dtype))
	}
	shape := ir.IntsAttr(t.Range.Shape()...)
	if v, ok := p.Attrs.Get("shape"); ok && (v.Kind != ir.AttrList || !slices.EqualFunc(v.List, shape.List, agrees)) {
		s.differs(o, p, "shape "+amanda.Flow(shape), "shape "+amanda.Flow(v))
	}
	if v, ok := p.Attrs.Get(startAttr); ok && !v.Equal(ir.IntsAttr(t.Range.Start...)) {
		s.differs(o, p, startAttr+" "+amanda.Flow(ir.IntsAttr(t.Range.Start...)), startAttr+" "+amanda.Flow(v))
	}
}

// agrees says whether a size may be that of a dimension: sizes that are names, or -1, may be any.
func agrees(size, extent ir.AttrValue) bool {
	return size.Kind == ir.AttrString || size.Kind == ir.AttrInt && (size.Int == -1 || size.Int == extent.Int)
}

func (s *sayer) differs(o *amanda.Op, p amanda.Port, expected, found string) {
	at := diag.Location{File: s.b.g.File, Line: p.Line, Column: p.Column, Node: o.Name}
	s.b.bad = append(s.b.bad, diag.Errorf(CodeSays, constraint, at, "port %q says something else than the value that it gives or takes is", p.Name).Want(expected, found))
}
