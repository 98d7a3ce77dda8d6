package mapping

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/declaration"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/infer"
	"tensortapestry.org/tapc/frontends/foreign"
	"tensortapestry.org/tapc/frontends/mapping/expr"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/zspace"
)

// node is one operation of the program that is made.
type node struct {
	kernel  string
	params  ir.Attrs
	in, out []portTensors
	rule    string
	pos     ir.Pos
	check   bool    // of indices, see inRange
	guards  []*node // that compute what the check stands before
}

type portTensors struct {
	port     string
	tensors  []*foreign.Tensor
	optional bool // an output that is left out where nothing takes it
}

// apply calls a kernel with inputs by position.
func (m *mapper) apply(kernel string, attrs []foreign.Attr, args ...foreign.Value) (foreign.Value, error) {
	return m.Kernel(expr.NewCall(kernel, attrs, args...))
}

// resultsParam is the parameter of a call that says how many results a variadic output has.
const resultsParam = "results"

// Kernel makes an operation and gives its result, or the list of its results.
func (m *mapper) Kernel(c expr.Call) (foreign.Value, error) {
	decl, ok := m.opt.Library.Find(c.Kernel)
	if !ok {
		return foreign.Value{}, expr.Refuse("tapc has no kernel %s yet", c.Kernel)
	}
	n := &node{kernel: kernels.ID(c.Kernel), rule: m.rule, pos: m.pos}
	if err := m.inputs(n, decl, c.Args); err != nil {
		return foreign.Value{}, err
	}
	results := 1
	for _, a := range c.Attrs {
		if a.Name == resultsParam {
			results = int(min(max(a.Value.Int, 1), 1<<16))
			continue
		}
		v, err := a.Value.Param()
		if err != nil {
			return foreign.Value{}, fmt.Errorf("kernel %s, %s: %w", c.Kernel, a.Name, err)
		}
		n.params = n.params.With(a.Name, v)
	}
	return m.finish(n, decl, results)
}

// finish finds the types of the results and computes them when all inputs are known and small.
func (m *mapper) finish(n *node, decl *declaration.Kernel, results int) (foreign.Value, error) {
	outs, err := m.infer(decl, n, results)
	if err != nil {
		return foreign.Value{}, err
	}
	var values []foreign.Value
	for _, p := range outs {
		ts := portTensors{port: p.Name, optional: slices.ContainsFunc(decl.Operands, func(o declaration.Operand) bool { return o.Out && o.Optional && o.Name() == p.Name })}
		for _, s := range p.Sel {
			shape := s.Sel.Range().Shape()
			if size := foreign.Elements(shape); size < 0 || size > 1<<50 {
				return foreign.Value{}, expr.Refuse("a tensor of shape %s is larger than any memory", foreign.ShapeText(shape))
			}
			t := &foreign.Tensor{DType: s.Type, Shape: shape, Source: n}
			ts.tensors = append(ts.tensors, t)
			values = append(values, foreign.TensorValue(t))
		}
		n.out = append(n.out, ts)
	}
	if m.foldable(n) {
		if err := m.fold(n); err != nil {
			return foreign.Value{}, err
		}
	} else {
		m.nodes = append(m.nodes, n)
	}
	if len(values) == 1 && results == 1 && !slices.ContainsFunc(decl.Operands, func(o declaration.Operand) bool { return o.Out && o.Variadic }) {
		return values[0], nil
	}
	return foreign.Value{Kind: foreign.List, List: values}, nil
}

// inputs puts arguments on ports: named ones, and the others in the order of the declaration, a list on a variadic port. A
// number becomes a constant of the type of the first tensor that must have the same type, or of the first of all.
func (m *mapper) inputs(n *node, decl *declaration.Kernel, args []expr.PortArg) error {
	operands, err := place(decl, args)
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
		ts, err := m.tensors(a.Value, t)
		if err != nil {
			return fmt.Errorf("kernel %s, %s: %w", decl.Name, o.Name(), err)
		}
		if len(ts) == 0 {
			continue
		}
		if i := slices.IndexFunc(n.in, func(p portTensors) bool { return p.port == o.Name() }); i >= 0 {
			n.in[i].tensors = append(n.in[i].tensors, ts...)
		} else {
			n.in = append(n.in, portTensors{port: o.Name(), tensors: ts})
		}
	}
	slices.SortFunc(n.in, func(a, b portTensors) int { return strings.Compare(a.port, b.port) })
	return nil
}

// place finds the operand of each argument.
func place(decl *declaration.Kernel, args []expr.PortArg) ([]*declaration.Operand, error) {
	out := make([]*declaration.Operand, len(args))
	at := 0
	for i, a := range args {
		if k, ok := decl.Port(a.Port); ok && !decl.Operands[k].Out {
			out[i] = &decl.Operands[k]
		}
		if a.Port == "" {
			for at < len(decl.Operands) && decl.Operands[at].Out {
				at++
			}
			if at < len(decl.Operands) {
				out[i] = &decl.Operands[at]
				if !out[i].Variadic || a.Value.Kind == foreign.List {
					at++
				}
			}
		}
		if out[i] == nil {
			return nil, fmt.Errorf("kernel %s has no input %q", decl.Name, a.Port)
		}
	}
	return out, nil
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

func (m *mapper) tensors(v foreign.Value, like *foreign.Tensor) ([]*foreign.Tensor, error) {
	switch v.Kind {
	case foreign.None:
		return nil, nil
	case foreign.TensorKind:
		return []*foreign.Tensor{v.Tensor}, nil
	case foreign.List:
		var out []*foreign.Tensor
		for _, x := range v.List {
			ts, err := m.tensors(x, like)
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

// ports gives one side of a node as a kernel call has it.
func ports(list []portTensors) ([]infer.Port, error) {
	out := make([]infer.Port, len(list))
	for i, p := range list {
		out[i].Name = p.port
		for _, t := range p.tensors {
			r, err := zspace.FromShape(t.Shape...)
			if err != nil {
				return nil, err
			}
			out[i].Sel = append(out[i].Sel, infer.Selected{Sel: ir.Select(ir.NoNode, r), Type: t.DType})
		}
	}
	return out, nil
}

// bindError turns a kernel's refusal into one of the rule.
func bindError(err error) error {
	var b *infer.Error
	if errors.As(err, &b) {
		return &expr.Refusal{Reason: b.Error()}
	}
	return err
}

// maker gives the operation that computes a tensor; nil for inputs and constants.
func maker(t *foreign.Tensor) *node {
	n, _ := t.Source.(*node)
	return n
}
