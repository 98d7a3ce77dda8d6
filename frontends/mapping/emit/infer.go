package emit

import (
	"encoding/binary"
	"math"

	"tensortapestry.org/tapc/dialects/tensorops/kernels/bind"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/declaration"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/infer"
	"tensortapestry.org/tapc/frontends/mapping/expr"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/zspace"
)

// infer finds the outputs of a node by its kernel's shape and type rules. Models use few kernels in few ways, again and again, so
// what is found for one use is remembered for those like it.
func (p *Program) infer(decl *declaration.Kernel, n *Node, results int) ([]infer.Port, error) {
	p.key = appendCall(p.key[:0], n, results)
	if outs, known := p.known[use{decl, string(p.key)}]; known {
		return outs, nil
	}
	in, err := Ports(n.In)
	if err != nil {
		return nil, err
	}
	outs, err := inferCall(decl, infer.Call{Params: n.Params, Inputs: in}, results)
	if err == nil {
		if p.known == nil {
			p.known = map[use][]infer.Port{}
		}
		p.known[use{decl, string(p.key)}] = outs
	}
	return outs, err
}

// use is a use of a kernel: call is all else that its outputs depend on.
type use struct {
	decl *declaration.Kernel
	call string
}

// appendCall writes what the outputs of a call depend on. Lengths stand before names and lists, so that no two read the same.
func appendCall(b []byte, n *Node, results int) []byte {
	b = binary.AppendVarint(b, int64(results))
	b = appendAttrs(b, n.Params)
	for _, p := range n.In {
		b = appendText(b, p.Name)
		b = binary.AppendVarint(b, int64(len(p.Tensors)))
		for _, t := range p.Tensors {
			b = binary.AppendVarint(append(b, byte(t.DType)), int64(len(t.Shape)))
			for _, size := range t.Shape {
				b = binary.AppendVarint(b, size)
			}
		}
	}
	return b
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendVarint(b, int64(len(s))), s...)
}

func appendAttrs(b []byte, as ir.Attrs) []byte {
	b = binary.AppendVarint(b, int64(len(as)))
	for _, a := range as {
		b = appendValue(appendText(b, a.Name), a.Value)
	}
	return b
}

func appendValue(b []byte, v ir.AttrValue) []byte {
	b = binary.AppendVarint(append(b, byte(v.Kind)), v.Int)
	b = binary.AppendUvarint(b, math.Float64bits(v.Num))
	b = binary.AppendVarint(appendText(b, v.Str), int64(len(v.List)))
	for _, x := range v.List {
		b = appendValue(b, x)
	}
	return appendAttrs(b, v.Map)
}

// inferCall finds the outputs of a call. What is found is checked by binding the kernel to it.
func inferCall(decl *declaration.Kernel, c infer.Call, results int) ([]infer.Port, error) {
	for i := range decl.Operands {
		if o := &decl.Operands[i]; o.Out && o.Variadic {
			c.Outputs = append(c.Outputs, infer.Port{Name: o.Name(), Sel: make([]infer.Selected, results)})
		}
	}
	shapes, types, err := infer.Outputs(decl, c)
	if err != nil {
		return nil, Refused(err)
	}
	c.Outputs = nil
	at := 0
	for _, o := range decl.Operands {
		if !o.Out {
			continue
		}
		p := infer.Port{Name: o.Name()}
		entries := 1
		if o.Variadic {
			entries = results
		}
		for range entries {
			r, err := zspace.FromShape(shapes[at]...)
			if err != nil {
				return nil, expr.Refuse("kernel %s: %v", decl.Name, err)
			}
			p.Sel = append(p.Sel, infer.Selected{Sel: ir.Select(ir.NoNode, r), Type: types[at]})
			at++
		}
		c.Outputs = append(c.Outputs, p)
	}
	_, err = bind.Instance(decl, c)
	return c.Outputs, Refused(err)
}
