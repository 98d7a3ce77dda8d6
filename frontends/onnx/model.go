package onnx

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"tensortapestry.org/tapc/frontends/foreign"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/scalar"
)

// Model is a decoded model.
type Model struct {
	Graph     *foreign.Graph
	IRVersion int64
	Producer  string
	functions map[string]*foreign.Graph
}

// Function gives the body of an operation that the model defines, or nil.
func (m *Model) Function(domain, op string) *foreign.Graph { return m.functions[domain+":"+op] }

// decoder reads one model.
type decoder struct {
	file string // for messages
	dir  string // folder of external data; "" for none
	name string // the model's file inside of dir, which constants refer to
}

// Read decodes a model. File names it in messages, and its folder is where external data is. Constants are parts of data, which must not
// change. An error is a diagnostic that says what is wrong.
func Read(data []byte, file string) (*Model, error) {
	d := &decoder{file: file, dir: filepath.Dir(file), name: filepath.Base(file)}
	m := &Model{functions: map[string]*foreign.Graph{}}
	versions := map[string]int64{}
	var graph message
	var functions []message
	top := message{data, 0, len(data)}
	err := top.each(func(x field) error {
		var err error
		switch x.num {
		case 1:
			err = x.number(&m.IRVersion)
		case 2:
			err = x.text(&m.Producer)
		case 7:
			graph, err = x.message()
		case 8:
			err = opset(x, versions)
		case 25:
			var f message
			f, err = x.message()
			functions = append(functions, f)
		}
		return err
	})
	switch {
	case err != nil:
	case graph.data == nil:
		err = errors.New("it has no graph")
	case len(versions) == 0:
		err = errors.New("it imports no operator set")
	default:
		m.Graph, err = d.graph(graph, 0)
		m.Graph.Path = "/graph/node"
	}
	for _, f := range functions {
		if err == nil {
			err = d.function(m, f)
		}
	}
	var done diag.Diagnostic
	if err != nil && !errors.As(err, &done) {
		err = fault(file, "not a sound ONNX model: %v", err)
	}
	if err != nil {
		return nil, err
	}
	m.Graph.File, m.Graph.Namespace, m.Graph.Versions = file, "onnx", versions
	return m, nil
}

// opset reads one import: the domain ai.onnx is written "".
func opset(x field, into map[string]int64) error {
	m, err := x.message()
	if err != nil {
		return err
	}
	var domain string
	var version int64
	err = m.each(func(x field) error {
		switch x.num {
		case 1:
			return x.text(&domain)
		case 2:
			return x.number(&version)
		}
		return nil
	})
	into[plainDomain(domain)] = version
	return err
}

func plainDomain(domain string) string {
	if domain == "ai.onnx" {
		return ""
	}
	return domain
}

func (d *decoder) graph(m message, depth int) (*foreign.Graph, error) {
	if depth > maxNest {
		return nil, fmt.Errorf("graphs are nested deeper than %d", maxNest)
	}
	g := &foreign.Graph{Consts: map[string]*foreign.Data{}}
	err := m.each(func(x field) error {
		if x.num == 2 {
			return x.text(&g.Name)
		}
		switch x.num {
		case 1, 5, 11, 12, 15:
		default:
			return nil
		}
		sub, err := x.message()
		if err != nil {
			return err
		}
		switch x.num {
		case 1:
			var op *foreign.Op
			if op, err = d.node(sub, depth); err != nil {
				err = fmt.Errorf("operation %d: %w", len(g.Ops), err)
			} else {
				op.Pos.Doc = int32(min(len(g.Ops)+1, math.MaxInt32))
				g.Ops = append(g.Ops, op)
			}
		case 5:
			err = d.initializer(g, sub, d.tensor)
		case 15:
			err = d.initializer(g, sub, d.sparse)
		case 11:
			err = d.port(&g.Inputs, sub)
		case 12:
			err = d.port(&g.Outputs, sub)
		}
		return err
	})
	return g, err
}

func (d *decoder) initializer(g *foreign.Graph, m message, read func(message) (string, *foreign.Data, error)) error {
	name, data, err := read(m)
	if err != nil {
		return err
	}
	if _, dup := g.Consts[name]; dup {
		return fmt.Errorf("two initializers have the name %q", name)
	}
	g.Consts[name] = data
	return nil
}

func (d *decoder) node(m message, depth int) (*foreign.Op, error) {
	op := &foreign.Op{}
	err := m.each(func(x field) error {
		var s string
		var err error
		switch x.num {
		case 1:
			err = x.text(&s)
			op.In = append(op.In, s)
		case 2:
			err = x.text(&s)
			op.Out = append(op.Out, s)
		case 3:
			err = x.text(&op.Name)
		case 4:
			err = x.text(&op.Type)
		case 7:
			err = x.text(&op.Domain)
		case 5:
			var sub message
			if sub, err = x.message(); err == nil {
				var a foreign.Attr
				if a, err = d.attribute(sub, depth); err == nil {
					op.Attrs = append(op.Attrs, a)
				}
			}
		}
		return err
	})
	op.Domain = plainDomain(op.Domain)
	if err != nil {
		return nil, fmt.Errorf("node %q (%s): %w", op.Name, op.Type, err)
	}
	slices.SortStableFunc(op.Attrs, func(a, b foreign.Attr) int { return cmp.Compare(a.Name, b.Name) })
	for i := 1; i < len(op.Attrs); i++ {
		if op.Attrs[i].Name == op.Attrs[i-1].Name {
			return nil, fmt.Errorf("node %q (%s): attribute %s is there twice", op.Name, op.Type, op.Attrs[i].Name)
		}
	}
	return op, nil
}

// attr is an attribute as a file has it; only the field that its type names counts.
type attr struct {
	name, ref string
	kind      int64
	f         float64
	i         int64
	s         string
	ints      []int64
	floats    []float64
	strings   []string
	tensors   []*foreign.Data
	graphs    []*foreign.Graph
	seen      int64 // the kind of the last field with a value
}

// fieldKinds are the kinds that fields with values have.
var fieldKinds = map[protowire.Number]int64{2: 1, 3: 2, 4: 3, 5: 4, 6: 5, 7: 6, 8: 7, 9: 8, 10: 9, 11: 10}

func (d *decoder) attribute(m message, depth int) (foreign.Attr, error) {
	a := attr{}
	if err := m.each(func(x field) error { return d.attrField(&a, x, depth) }); err != nil {
		return foreign.Attr{}, fmt.Errorf("attribute %q: %w", a.name, err)
	}
	return foreign.Attr{Name: a.name, Value: a.value()}, nil
}

func (d *decoder) attrField(a *attr, x field, depth int) error {
	var err error
	var s string
	if k := fieldKinds[x.num]; k != 0 {
		a.seen = k
	}
	switch x.num {
	case 1:
		return x.text(&a.name)
	case 21:
		return x.text(&a.ref)
	case 20:
		return x.number(&a.kind)
	case 2:
		var list []float64
		if list, err = x.floats(nil); err == nil && len(list) == 1 {
			a.f = list[0]
		}
	case 3:
		return x.number(&a.i)
	case 4:
		return x.text(&a.s)
	case 7:
		a.floats, err = x.floats(a.floats)
	case 8:
		a.ints, err = x.ints(a.ints)
	case 9:
		err = x.text(&s)
		a.strings = append(a.strings, s)
	case 5, 10, 6, 11:
		return d.attrPart(a, x, depth)
	}
	return err
}

func (d *decoder) attrPart(a *attr, x field, depth int) error {
	sub, err := x.message()
	if err != nil {
		return err
	}
	if x.num == 5 || x.num == 10 {
		_, t, err := d.tensor(sub)
		a.tensors = append(a.tensors, t)
		return err
	}
	g, err := d.graph(sub, depth+1)
	a.graphs = append(a.graphs, g)
	return err
}

// value gives the attribute in the terms of package mapping. Files before IR version 2 have no type: it is that of the field that is there.
func (a *attr) value() foreign.Value {
	if a.ref != "" {
		return foreign.Reference(a.ref)
	}
	list := foreign.Value{Kind: foreign.List, List: []foreign.Value{}}
	kind := a.kind
	if kind == 0 {
		kind = a.seen
	}
	switch kind {
	case 1:
		return foreign.FloatValue(a.f)
	case 2:
		return foreign.IntValue(a.i)
	case 3:
		return foreign.StringValue(a.s)
	case 4:
		if len(a.tensors) == 1 {
			return foreign.Value{Kind: foreign.DataKind, Data: a.tensors[0]}
		}
	case 5:
		if len(a.graphs) == 1 {
			return foreign.Value{Kind: foreign.GraphKind, Graph: a.graphs[0]}
		}
	case 6:
		for _, f := range a.floats {
			list.List = append(list.List, foreign.FloatValue(f))
		}
		return list
	case 7:
		return foreign.IntsValue(a.ints)
	case 8:
		for _, s := range a.strings {
			list.List = append(list.List, foreign.StringValue(s))
		}
		return list
	case 9:
		for _, t := range a.tensors {
			list.List = append(list.List, foreign.Value{Kind: foreign.DataKind, Data: t})
		}
		return list
	}
	return foreign.Value{Kind: foreign.OpaqueKind, Str: fmt.Sprintf("type %d", a.kind)}
}

func (d *decoder) port(into *[]foreign.Port, m message) error {
	p := foreign.Port{}
	err := m.each(func(x field) error {
		switch x.num {
		case 1:
			return x.text(&p.Name)
		case 2:
			sub, err := x.message()
			if err != nil {
				return err
			}
			return portType(&p, sub)
		}
		return nil
	})
	*into = append(*into, p)
	return err
}

// portType reads a TypeProto.
func portType(p *foreign.Port, m message) error {
	return m.each(func(x field) error {
		switch x.num {
		case 1:
			sub, err := x.message()
			if err != nil {
				return err
			}
			return tensorType(p, sub)
		case 4:
			sub, err := x.message()
			if err != nil {
				return err
			}
			p.Reason = "is a sequence; tapc has tensors only"
			return elements(p, sub)
		case 5:
			p.Reason = "is a map; tapc has tensors only"
		case 8:
			p.Reason = "is a sparse tensor; tapc has dense ones only"
		case 9:
			p.Reason = "is an optional value; tapc has tensors only"
		}
		return nil
	})
}

// elements reads the type of a sequence: a tensor with a row for each can take the place of maps.
func elements(p *foreign.Port, m message) error {
	return m.each(func(x field) error {
		if x.num != 1 {
			return nil
		}
		sub, err := x.message()
		if err != nil {
			return err
		}
		return sub.each(func(y field) error {
			p.Maps = p.Maps || y.num == 5
			return nil
		})
	})
}

func tensorType(p *foreign.Port, m message) error {
	return m.each(func(x field) error {
		switch x.num {
		case 1:
			var n int64
			if err := x.number(&n); err != nil {
				return err
			}
			if n != 0 {
				p.DType, p.Reason = elementType(n)
			}
		case 2:
			sub, err := x.message()
			if err != nil {
				return err
			}
			p.Ranked = true
			return sub.each(func(x field) error {
				if x.num != 1 {
					return nil
				}
				dim, err := x.message()
				if err != nil {
					return err
				}
				s, err := size(dim)
				p.Shape = append(p.Shape, s)
				return err
			})
		}
		return nil
	})
}

func size(m message) (foreign.Size, error) {
	s := foreign.Size{Value: -1}
	err := m.each(func(x field) error {
		switch x.num {
		case 1:
			return x.number(&s.Value)
		case 2:
			return x.text(&s.Name)
		}
		return nil
	})
	if s.Name == "" && s.Value < -1 {
		return s, fmt.Errorf("expected sizes of at least 0, found %d", s.Value)
	}
	return s, err
}

// function reads a function of the model.
func (d *decoder) function(m *Model, msg message) error {
	g := &foreign.Graph{Consts: map[string]*foreign.Data{}, Versions: map[string]int64{}}
	var domain string
	err := msg.each(func(x field) error {
		var s string
		switch x.num {
		case 1:
			return x.text(&g.Name)
		case 10:
			return x.text(&domain)
		case 4:
			err := x.text(&s)
			g.Inputs = append(g.Inputs, foreign.Port{Name: s})
			return err
		case 5:
			err := x.text(&s)
			g.Outputs = append(g.Outputs, foreign.Port{Name: s})
			return err
		case 9:
			return opset(x, g.Versions)
		case 7, 11:
			sub, err := x.message()
			if err != nil {
				return err
			}
			if x.num == 11 {
				a, err := d.attribute(sub, 0)
				g.Defaults = append(g.Defaults, a)
				return err
			}
			op, err := d.node(sub, 0)
			g.Ops = append(g.Ops, op)
			return err
		}
		return nil
	})
	g.Domain = plainDomain(domain)
	m.functions[g.Domain+":"+g.Name] = g
	m.Graph.Functions = append(m.Graph.Functions, g)
	return err
}

// maxDense bounds the elements of a sparse tensor that is made dense.
const maxDense = 1 << 22

// sparse reads a sparse tensor and makes it dense.
func (d *decoder) sparse(m message) (string, *foreign.Data, error) {
	var values, indices *foreign.Data
	var name string
	var dims []int64
	err := m.each(func(x field) error {
		var err error
		var sub message
		switch x.num {
		case 1, 2:
			if sub, err = x.message(); err != nil {
				return err
			}
			if x.num == 1 {
				name, values, err = d.tensor(sub)
			} else {
				_, indices, err = d.tensor(sub)
			}
		case 3:
			dims, err = x.ints(dims)
		}
		return err
	})
	if err == nil && (values == nil || indices == nil || indices.DType != scalar.Int64 || values.Bytes == nil || indices.Bytes == nil || len(dims) == 0) {
		err = errors.New("expected values, int64 indices and sizes")
	}
	if err != nil {
		return name, nil, fmt.Errorf("sparse tensor %q: %w", name, err)
	}
	out := &foreign.Data{DType: values.DType, Shape: dims}
	if n := out.Len(); n < 0 || n > maxDense {
		out.Reason = fmt.Sprintf("is a sparse tensor of shape %v, too large to be made dense", dims)
		return name, out, nil
	}
	if err := scatter(out, values, indices); err != nil {
		return name, nil, fmt.Errorf("sparse tensor %q: %w", name, err)
	}
	return name, out, nil
}

// scatter fills a dense tensor. Indices are positions in the flat tensor, or one row of coordinates for each value.
func scatter(out, values, indices *foreign.Data) error {
	n, rank := int(values.Len()), len(out.Shape)
	linear := len(indices.Shape) == 1
	if int(indices.Len()) != n && linear || int(indices.Len()) != n*rank && !linear {
		return fmt.Errorf("expected %d indices, found shape %v", n, indices.Shape)
	}
	size := out.DType.Size()
	out.Bytes = make([]byte, int(out.Len())*size)
	for i := range n {
		at := int64(0)
		if linear {
			at = scalar.Decode(scalar.Int64, indices.Bytes[8*i:]).I
		} else {
			for k, extent := range out.Shape {
				x := scalar.Decode(scalar.Int64, indices.Bytes[8*(i*rank+k):]).I
				if x < 0 || x >= extent {
					return fmt.Errorf("index %d of a size of %d", x, extent)
				}
				at = at*extent + x
			}
		}
		if at < 0 || at >= out.Len() {
			return fmt.Errorf("index %d of %d elements", at, out.Len())
		}
		copy(out.Bytes[int(at)*size:], values.Bytes[i*size:(i+1)*size])
	}
	return nil
}
