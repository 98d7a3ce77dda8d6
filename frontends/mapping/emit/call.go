package emit

import (
	"fmt"
	"slices"
	"strings"

	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/declaration"
	"tensortapestry.org/tapc/frontends/foreign"
	"tensortapestry.org/tapc/frontends/mapping/calls"
	"tensortapestry.org/tapc/frontends/mapping/expr"
)

// Call makes an operation of a kernel and gives its result, or the list of its results.
func (p *Program) Call(c expr.Call, by Origin) (foreign.Value, error) {
	decl, ok := p.lib.Find(c.Kernel)
	if !ok {
		return foreign.Value{}, expr.Refuse("tapc has no kernel %s yet", c.Kernel)
	}
	n := &Node{Kernel: kernels.ID(c.Kernel), Origin: by}
	if err := inputs(n, decl, c.Args); err != nil {
		return foreign.Value{}, err
	}
	results := 1
	for _, a := range c.Attrs {
		if a.Name == calls.Results {
			results = int(min(max(a.Value.Int, 1), 1<<16))
			continue
		}
		v, err := a.Value.Param()
		if err != nil {
			return foreign.Value{}, fmt.Errorf("kernel %s, %s: %w", c.Kernel, a.Name, err)
		}
		n.Params = n.Params.With(a.Name, v)
	}
	return p.finish(n, decl, results)
}

// finish finds the types of the results and computes them when all inputs are known and small.
func (p *Program) finish(n *Node, decl *declaration.Kernel, results int) (foreign.Value, error) {
	outs, err := p.infer(decl, n, results)
	if err != nil {
		return foreign.Value{}, err
	}
	var values []foreign.Value
	for _, out := range outs {
		ts := Port{Name: out.Name, Optional: slices.ContainsFunc(decl.Operands, func(o declaration.Operand) bool { return o.Out && o.Optional && o.Name() == out.Name })}
		for _, s := range out.Sel {
			shape := s.Sel.Range().Shape()
			if size := foreign.Elements(shape); size < 0 || size > 1<<50 {
				return foreign.Value{}, expr.Refuse("a tensor of shape %s is larger than any memory", foreign.ShapeText(shape))
			}
			t := &foreign.Tensor{DType: s.Type, Shape: shape, Source: n}
			ts.Tensors = append(ts.Tensors, t)
			values = append(values, foreign.TensorValue(t))
		}
		n.Out = append(n.Out, ts)
	}
	if foldable(n) {
		if err := p.fold(n); err != nil {
			return foreign.Value{}, err
		}
	} else {
		p.Add(n)
	}
	if len(values) == 1 && results == 1 && !slices.ContainsFunc(decl.Operands, func(o declaration.Operand) bool { return o.Out && o.Variadic }) {
		return values[0], nil
	}
	return foreign.Value{Kind: foreign.List, List: values}, nil
}

// inputs puts arguments on ports: named ones, and the others in the order of the declaration, a list on a variadic port. A
// number becomes a constant of the type of the first tensor that must have the same type, or of the first of all.
func inputs(n *Node, decl *declaration.Kernel, args []expr.PortArg) error {
	operands, err := calls.Place(decl, args)
	if err != nil {
		return err
	}
	var any *foreign.Tensor
	like := map[string]*foreign.Tensor{}
	for i, a := range args {
		t := firstTensor(a.Value)
		if t == nil {
			continue
		}
		if any == nil {
			any = t
		}
		if like[operands[i].Type] == nil {
			like[operands[i].Type] = t
		}
	}
	for i, a := range args {
		o := operands[i]
		t := like[o.Type]
		if t == nil {
			t = any
		}
		ts, err := tensors(a.Value, t)
		if err != nil {
			return fmt.Errorf("kernel %s, %s: %w", decl.Name, o.Name(), err)
		}
		if len(ts) == 0 {
			continue
		}
		if i := slices.IndexFunc(n.In, func(x Port) bool { return x.Name == o.Name() }); i >= 0 {
			n.In[i].Tensors = append(n.In[i].Tensors, ts...)
		} else {
			n.In = append(n.In, Port{Name: o.Name(), Tensors: ts})
		}
	}
	slices.SortFunc(n.In, func(a, b Port) int { return strings.Compare(a.Name, b.Name) })
	return nil
}

func firstTensor(v foreign.Value) *foreign.Tensor {
	if v.Kind == foreign.List {
		for _, x := range v.List {
			if t := firstTensor(x); t != nil {
				return t
			}
		}
	}
	return v.Tensor
}

func tensors(v foreign.Value, like *foreign.Tensor) ([]*foreign.Tensor, error) {
	switch v.Kind {
	case foreign.None:
		return nil, nil
	case foreign.TensorKind:
		return []*foreign.Tensor{v.Tensor}, nil
	case foreign.List:
		var out []*foreign.Tensor
		for _, x := range v.List {
			ts, err := tensors(x, like)
			if err != nil {
				return nil, err
			}
			out = append(out, ts...)
		}
		return out, nil
	case foreign.Int, foreign.Float, foreign.Bool:
		if like == nil {
			break
		}
		x, err := expr.Scalar(like.DType, v)
		if err != nil {
			return nil, err
		}
		d := &foreign.Data{DType: like.DType, Shape: []int64{}, Bytes: make([]byte, like.DType.Size())}
		x.Encode(d.Bytes)
		t, err := expr.ConstantTensor(d)
		return []*foreign.Tensor{t}, err
	}
	return nil, fmt.Errorf("expected a tensor, found %v", v.Kind)
}

// apply calls a kernel with inputs by position.
func (p *Program) apply(kernel string, by Origin, attrs []foreign.Attr, args ...foreign.Value) (foreign.Value, error) {
	return p.Call(expr.NewCall(kernel, attrs, args...), by)
}
