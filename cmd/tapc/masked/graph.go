package masked

import (
	"encoding/base64"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/frontends/amanda"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
)

// Part is a tensor in a file without a table of contents.
type Part struct {
	File   string
	Offset int64
	DType  scalar.DType
	Shape  []int64
}

// Uses are the data files that the constants of a graph name, in the graph's order: files with a table of contents, and parts of others.
type Uses struct {
	Files []string
	Parts []Part
}

// Graph masks the values that are in a graph, and gives the data files that it names.
func Graph(g *ir.Graph) Uses {
	var u Uses
	for n := range g.Nodes() {
		op, ok := n.Body.(*tensorops.Operation)
		if !ok {
			continue
		}
		op.Params = attrs(op.Params)
		if !op.IsSource() || op.IsImport() {
			continue
		}
		c, bad := tensorops.ConstOf(g, n.ID)
		t := tensorops.TensorOf(g, c.Tensor)
		switch {
		case bad != nil || t == nil:
			if _, ok := op.Params.Get("bytes"); ok { // it is malformed: what may be weights goes
				op.Params = op.Params.With("bytes", ir.StringAttr(""))
			}
		case c.Raw:
			u.raw(op, c, t)
		case c.File != "":
			u.Files = append(u.Files, c.File)
		}
	}
	return u
}

// raw notes the part of a file that a constant is, or masks the bytes that it has.
func (u *Uses) raw(op *tensorops.Operation, c tensorops.Const, t *tensorops.Tensor) {
	p := Part{File: c.File, Offset: c.Offset, DType: t.Type(), Shape: t.Range.Shape()}
	if c.View != nil {
		p.DType, p.Shape = c.View.DType, c.View.Shape
	}
	if c.File != "" {
		u.Parts = append(u.Parts, p)
		return
	}
	data, err := base64.StdEncoding.DecodeString(c.Bytes)
	if err != nil {
		data = nil
	}
	op.Params = op.Params.With("bytes", ir.StringAttr(base64.StdEncoding.EncodeToString(p.mask(data))))
}

// Amanda does the same for an Amanda graph.
func Amanda(ops []*amanda.Op) Uses {
	var u Uses
	for _, o := range ops {
		o.Attrs = attrs(o.Attrs)
		if file, ok := o.Attrs.Get("file"); ok && file.Kind == ir.AttrString {
			u.Files = append(u.Files, file.Str)
		}
		inner := Amanda(o.Ops)
		u.Files = append(u.Files, inner.Files...)
	}
	return u
}
