// Package cuts says how operations can be cut, from signatures and declarations alone: along which dimensions freely, with which
// halos, with partial results that are to be combined, and why not along others; and what a step along each takes. It is what `tapc explain cuts` prints. It must
// change no graph. Read next: passes/shard, which cuts.
package cuts

import (
	"cmp"
	"fmt"
	"slices"

	"tensortapestry.org/tapc/cost/marginal"
	"tensortapestry.org/tapc/dialects/application/cut"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/composite"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/instance"
	"tensortapestry.org/tapc/dialects/tensorops/reduced"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/zspace"
	"tensortapestry.org/tapc/passes/split"
)

// The ways in which an operation can be cut along a dimension.
const (
	Free    = "free"    // parts read disjoint cells of what they do not read alike
	Halo    = "halo"    // neighbouring parts read some of the same cells
	Reduced = "reduced" // parts give partial results, which are combined
	Never   = "never"
)

// Operation is what is said of one.
type Operation struct {
	Operation  string      `json:"operation"`
	Kernel     string      `json:"kernel"`
	Index      string      `json:"index"`            // "" of one that can not be cut at all
	Reason     string      `json:"reason,omitempty"` // why it can not be cut at all
	Dimensions []Dimension `json:"dimensions"`       // those of the index first, in its order: shard counts are given for these
}

// Dimension is what is said of one dimension. It is of the index if Cut is free or halo.
type Dimension struct {
	Name    string   `json:"name"`
	Extent  int64    `json:"extent"`
	Cut     string   `json:"cut"`
	Combine []string `json:"combine,omitempty"` // operators, one for each reduction along it, in the order in which they are carried out
	Reason  string   `json:"reason,omitempty"`
	Inputs  []Input  `json:"inputs,omitempty"` // those of which parts read different boxes
	Step    *Step    `json:"step,omitempty"`   // what one more along it takes; nil where neither a kernel nor a tag says it
}

// Step is what one more step along a dimension takes.
type Step struct {
	Operations float64 `json:"operations"` // scalar ones, of which a multiply-add is two
	Bytes      float64 `json:"bytes"`      // loaded and stored, as often as that happens
	Footprint  float64 `json:"footprint"`  // bytes of different cells
	Memory     float64 `json:"memory"`     // bytes held beside the operands
}

// Input is how parts along a dimension read an input selection along a dimension of its tensor.
type Input struct {
	Port      string `json:"port"`
	Entry     int    `json:"entry"`
	Dimension int    `json:"dimension"`
	Halo      int64  `json:"halo"`              // cells that two neighbouring parts both read, at the widest
	Inexact   bool   `json:"inexact,omitempty"` // it is less, but a signature does not say how much
}

// Of says how the operations of a graph with a label or a kernel can be cut, or all if name is "".
func Of(g *ir.Graph, lib *kernels.Library, name string) ([]Operation, error) {
	list := []Operation{}
	var names []string
	for n := range g.Nodes() {
		op, ok := n.Body.(*tensorops.Operation)
		if !ok {
			continue
		}
		names = append(names, n.Label, op.Kernel)
		if name != "" && name != n.Label && name != op.Kernel {
			continue
		}
		x, err := operation(g, lib, n)
		if err != nil {
			return nil, err
		}
		list = append(list, x)
	}
	if name != "" && len(list) == 0 {
		d := diag.Errorf("TAP1112", "explain", diag.Location{}, "the graph has no operation %q", name)
		if near, ok := diag.Nearest(name, names); ok {
			d = d.WithHint("did you mean %q?", near)
		}
		return nil, d
	}
	return list, nil
}

// operation says it of one, from the signature that it has or that its kernel derives.
func operation(g *ir.Graph, lib *kernels.Library, n *ir.Node) (Operation, error) {
	op, sig, index := n.Body.(*tensorops.Operation), tensorops.SignatureOf(n), tensorops.IndexOf(n)
	switch {
	case op.IsSource() || op.IsSink() || op.IsCheck():
		return ofInterface(g, n)
	case op.IsComposite():
		return ofComposite(g, lib, n)
	}
	in, err := lib.BindOperation(g, n.ID)
	s := signed{reads: tensorops.ReadsOf(n)}
	switch {
	case sig != nil && index != nil:
		s.maps, s.index = sig.Inputs, index.Range
	case err != nil:
		return Operation{}, err
	default:
		if s.maps, _, err = in.Signature(); err != nil {
			return Operation{}, err
		}
		reads := in.Pieces(s.maps)
		s.reads, s.index = &reads, in.Index()
	}
	out := Operation{Operation: g.Name(n.ID), Kernel: op.Kernel, Index: s.index.String(), Dimensions: []Dimension{}}
	if n.Label != "" {
		out.Operation = n.Label
	}
	for j := range s.index.Start {
		d, err := s.dimension(j)
		if err != nil {
			return out, err
		}
		out.Dimensions = append(out.Dimensions, d)
	}
	if in != nil {
		named(out.Dimensions, in)
		out.Dimensions = append(out.Dimensions, others(g, lib, n, in)...)
	}
	return out, out.steps(g, lib, n)
}

// steps says what a step along each dimension takes, where the operation's kernel or tag says it of the same index.
func (o *Operation) steps(g *ir.Graph, lib *kernels.Library, n *ir.Node) error {
	m, err := marginal.Of(g, lib, n)
	if err != nil || m.Box.Rank() < len(o.Dimensions) {
		return nil // a kernel that is not known, of which nothing is said
	}
	for i := range o.Dimensions {
		at := i
		if d := &o.Dimensions[i]; len(m.Names) > 0 {
			at = slices.Index(m.Names, d.Name)
		}
		if at < 0 {
			continue
		}
		a, err := m.Step(at)
		if err != nil {
			return err
		}
		o.Dimensions[i].Step = &Step{a.Operations(), a.Bytes, a.Footprint, a.Memory}
	}
	return nil
}

// ofInterface says it of a source, a sink or a check.
func ofInterface(g *ir.Graph, n *ir.Node) (Operation, error) {
	out := Operation{Operation: cmp.Or(n.Label, g.Name(n.ID)), Kernel: n.Body.(*tensorops.Operation).Kernel, Dimensions: []Dimension{}}
	sig, index, err := cut.Interface(g, n)
	if err != nil {
		d, ok := err.(diag.Diagnostic)
		if out.Reason = fmt.Sprintf("expected %s, found %s", d.Expected, d.Found); ok {
			err = nil
		}
		return out, err
	}
	s := signed{maps: sig.Inputs, index: index}
	out.Index = index.String()
	for j := range index.Start {
		d, err := s.dimension(j)
		if err != nil {
			return out, err
		}
		d.Name = fmt.Sprintf("d%d", j)
		out.Dimensions = append(out.Dimensions, d)
	}
	return out, nil
}

// ofComposite says it of an operation that uses a definition.
func ofComposite(g *ir.Graph, lib *kernels.Library, n *ir.Node) (Operation, error) {
	d, sig, err := composite.Signature(g, lib, n)
	if err != nil {
		return Operation{}, err
	}
	s := signed{maps: sig.Inputs, index: d.Index}
	out := Operation{Operation: cmp.Or(n.Label, g.Name(n.ID)), Kernel: n.Body.(*tensorops.Operation).Kernel, Index: s.index.String(), Dimensions: []Dimension{}}
	for j, name := range d.Names {
		x, err := s.dimension(j)
		if err != nil {
			return out, err
		}
		x.Name = name
		out.Dimensions = append(out.Dimensions, x)
	}
	for _, x := range d.Others {
		out.Dimensions = append(out.Dimensions, Dimension{Name: x.Name, Extent: x.Extent, Cut: Never, Reason: x.Why})
	}
	return out, nil
}

// named gives the dimensions of an index the names that the kernel has for them, if they are as many.
func named(list []Dimension, in *instance.Instance) {
	if len(list) != in.Index().Rank() {
		return
	}
	n := 0
	for _, d := range in.Dims {
		if d.Index {
			list[n].Name = d.Name
			n++
		}
	}
}

// others says it of the dims that are none of the index: those that are reduced, and those along which nothing can be cut.
func others(g *ir.Graph, lib *kernels.Library, n *ir.Node, in *instance.Instance) (list []Dimension) {
	for i, d := range in.Dims {
		if d.Index {
			continue
		}
		x := Dimension{Name: d.Name, Extent: d.Extent, Cut: Never}
		folds, placed := reduced.Reductions(in, i)
		runs := reduced.Stored(in, i)
		why, whole := "", error(nil)
		if len(folds) > 0 && !placed && d.Extent > 1 {
			why, whole = split.Undivided(g, lib, n, d.Name)
		}
		switch {
		case slices.ContainsFunc(in.Dims, func(d instance.Dim) bool { return d.Index && d.Extent == 0 }):
			x.Combine, x.Reason = folds, "there are no results"
		case placed:
			x.Reason = "a place along it is computed"
		case len(folds) > 0 && whole == nil:
			x.Cut, x.Combine = Reduced, folds
		case runs && len(folds) > 0:
			x.Combine, x.Reason = folds, "results along it depend on all of it"
		case runs:
			x.Reason = "results that differ in it are neighbours of others, or of one output alone"
		case len(folds) > 0:
			x.Combine, x.Reason = folds, "parts of it give no partial results"
			if why != "" {
				x.Reason += ", as " + why
			}
		default:
			x.Reason = "it is neither a dimension of all results nor reduced"
		}
		list = append(list, x)
	}
	return list
}

// signed is what cuts of an index are judged by.
type signed struct {
	maps  ir.PortMaps
	reads *tensorops.Reads
	index zspace.Range
}

// maxPlaces bounds the places at which a dimension is tried to be cut in two.
const maxPlaces = 64

// dimension says how an operation can be cut along a dimension of its index: what the two parts of it read, wherever it is cut.
func (s *signed) dimension(j int) (Dimension, error) {
	d := Dimension{Name: zspace.Point{int64(j)}.String(), Extent: s.index.End[j] - s.index.Start[j], Cut: Free}
	for _, p := range s.maps {
		for entry, m := range p.Maps {
			widest := make([]int64, len(m.Shape))
			moves := make([]bool, len(m.Shape))
			for i := range min(maxPlaces, d.Extent-1) {
				at := s.index.Start[j] + 1 + i*(d.Extent-1)/min(maxPlaces, d.Extent-1)
				if err := s.cut(p.Name, entry, m, j, at, widest, moves); err != nil {
					return d, err
				}
			}
			for k, moved := range moves {
				if moved {
					d.Inputs = append(d.Inputs, Input{Port: p.Name, Entry: entry, Dimension: k, Halo: widest[k], Inexact: s.inexact(p.Name, entry)})
				}
				if moved && widest[k] > 0 {
					d.Cut = Halo
				}
			}
		}
	}
	return d, nil
}

// cut notes what the parts before and behind a place read alike of an input, and along which dimensions they read different boxes.
func (s *signed) cut(port string, entry int, m zspace.ProjectionMap, j int, at int64, widest []int64, moves []bool) error {
	low, high := s.index.Clone(), s.index.Clone()
	low.End[j], high.Start[j] = at, at
	a, err := s.reads.Selects(port, entry, m, low)
	if err != nil {
		return err
	}
	b, err := s.reads.Selects(port, entry, m, high)
	if err != nil || a.Empty() || b.Empty() { // what one part alone reads needs no cut
		return err
	}
	for k := range widest {
		if a.Start[k] != b.Start[k] || a.End[k] != b.End[k] {
			moves[k] = true
			widest[k] = max(widest[k], min(a.End[k], b.End[k])-max(a.Start[k], b.Start[k]))
		}
	}
	return nil
}

// inexact says whether a signature gives a hull of what is read, for a reason.
func (s *signed) inexact(port string, entry int) bool {
	return s.reads != nil && slices.ContainsFunc(s.reads.Selections, func(x tensorops.SelectionReads) bool {
		return x.Port == port && x.Entry == int64(entry) && x.Reason != ""
	})
}
