package split

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"tensortapestry.org/tapc/dialects/application/cut"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/instance"
	"tensortapestry.org/tapc/dialects/tensorops/reduced"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/permission"
	"tensortapestry.org/tapc/ir/zspace"
)

// Request asks for the operations that Target names, a kernel or a label, to be cut along dimensions that they reduce, one after the other.
type Request struct {
	Target string
	Cuts   []Cut
}

// Cut is how the dimension of a name is cut.
type Cut struct {
	Name string
	Part cut.Part
}

// maxParts bounds the parts of one dimension.
const maxParts = 1024

// Parse reads "TARGET=NAME:4", "TARGET=NAME:by4096" or "TARGET=NAME:3+5", with commas between several dimensions, as package cut has them.
func Parse(text string) (Request, error) {
	target, list, ok := strings.Cut(text, "=")
	if !ok || target == "" {
		return Request{}, diag.Usage("split %q: expected TARGET=NAME:PARTS, such as op:matmul=k:4 or op:matmul=k:by4096", text)
	}
	c, err := cut.Parse(list)
	if err == nil && (len(c.Levels) != 1 || c.Levels[0].Names == nil) {
		err = errors.New("expected one level of dimensions with names, NAME:PARTS")
	}
	if err != nil {
		return Request{}, diag.Usage("split %q: %v", text, err)
	}
	r := Request{Target: target}
	for i, name := range c.Levels[0].Names {
		r.Cuts = append(r.Cuts, Cut{name, c.Levels[0].Parts[i]})
	}
	return r, nil
}

// All cuts operations along those dimensions which they reduce and the first level of a cut names, as it says. It gives the operations with partial
// results, those of each reduction, and what is left of the cut for these; no operations if it names none of such dimensions.
func All(g *ir.Graph, lib *kernels.Library, allow permission.Set, list []*ir.Node, c cut.Cut) ([][]*ir.Node, cut.Cut, error) {
	list = slices.DeleteFunc(slices.Clone(list), func(n *ir.Node) bool {
		op := tensorops.OperationOf(g, n.ID)
		return op.IsSource() || op.IsSink() || op.IsCheck()
	})
	return along(g, lib, allow, list, c)
}

// One does so with one operation, and gives the operations with partial results of all reductions.
func One(g *ir.Graph, lib *kernels.Library, allow permission.Set, n *ir.Node, c cut.Cut) ([]*ir.Node, cut.Cut, error) {
	reductions, rest, err := along(g, lib, allow, []*ir.Node{n}, c)
	return slices.Concat(reductions...), rest, err
}

func along(g *ir.Graph, lib *kernels.Library, allow permission.Set, named []*ir.Node, c cut.Cut) ([][]*ir.Node, cut.Cut, error) {
	if len(named) == 0 || len(c.Levels) == 0 || c.Levels[0].Names == nil || tensorops.OperationOf(g, named[0].ID).IsComposite() {
		return nil, c, nil
	}
	in, err := lib.BindOperation(g, named[0].ID)
	if err != nil {
		return nil, c, err
	}
	first, own := cut.Level{}, []Cut{}
	for i, name := range c.Levels[0].Names {
		if part := c.Levels[0].Parts[i]; isReduced(in, name) {
			own = append(own, Cut{name, part})
		} else {
			first.Names, first.Parts = append(first.Names, name), append(first.Parts, part)
		}
	}
	if len(own) == 0 {
		return nil, c, nil
	}
	rest := cut.Cut{}
	if first.Names != nil {
		rest.Levels = append(rest.Levels, first)
	}
	rest.Levels = append(rest.Levels, c.Levels[1:]...)
	x, reductions := newCutter(g, lib, allow), [][]*ir.Node(nil)
	for _, n := range named {
		parts, err := x.cut([]*ir.Node{n}, own)
		if err != nil {
			return nil, rest, err
		}
		reductions = append(reductions, parts...)
	}
	part, err := lib.BindOperation(g, reductions[0][0].ID)
	if err == nil {
		rest = namedAs(rest, in, part)
	}
	return reductions, rest, err
}

// namedAs gives a cut of an operation with the names that the index of its parts has: where it is cut in steps, these have names of their own for what moves along the
// same dimension of the input.
func namedAs(c cut.Cut, whole, part *instance.Instance) cut.Cut {
	for i, level := range c.Levels {
		level.Names = slices.Clone(level.Names)
		for j, name := range level.Names {
			free := func(in *instance.Instance) int {
				return slices.IndexFunc(in.Dims, func(d instance.Dim) bool { return d.Index && d.Name == name })
			}
			at := free(whole)
			if at < 0 || free(part) >= 0 {
				continue
			}
			if k, ok := coordinate(whole, at); ok {
				for d := range part.Dims {
					if p, ok := coordinate(part, d); ok && p == k && part.Dims[d].Index && part.Dims[d].Extent == whole.Dims[at].Extent {
						level.Names[j] = part.Dims[d].Name
					}
				}
			}
		}
		c.Levels[i] = level
	}
	return c
}

func isReduced(in *instance.Instance, name string) bool {
	for _, d := range reduced.Dims(in) {
		if in.Dims[d].Name == name {
			return true
		}
	}
	return false
}

// String is what Parse reads.
func (c Cut) String() string { return c.Name + ":" + c.Part.String() }

// places gives where a dimension is cut: the starts of its parts but the first. found says why it is not.
func (c Cut) places(extent int64) (at []int64, want, found string) {
	one := cut.Cut{Levels: []cut.Level{{Names: []string{c.Name}, Parts: []cut.Part{c.Part}}}}
	blocks, err := one.Blocks(cut.Space{Index: zspace.MustShape(extent), Names: []string{c.Name}})
	var m *cut.Misfit
	switch {
	case errors.As(err, &m):
		return nil, m.Expected, m.Found
	case err != nil || len(blocks) > maxParts:
		return nil, fmt.Sprintf("at most %d parts", maxParts), "more"
	}
	for _, b := range blocks {
		if b.Start[0] > 0 {
			at = append(at, b.Start[0])
		}
	}
	return at, "", ""
}
