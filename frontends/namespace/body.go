package namespace

import (
	"tensortapestry.org/tapc/frontends/foreign"
	"tensortapestry.org/tapc/ir/scalar"
)

// body reads the rest of an operator's line after "body": the version that the statements below are written in, or "by types".
func (p *lineParser) body(o *Op) *Body {
	if p.Accept("by") {
		p.expect("types")
		return &Body{ByTypes: true}
	}
	b := &Body{Version: p.integer()}
	b.Graph = &foreign.Graph{Name: o.Name, Namespace: "onnx", Versions: map[string]int64{"": b.Version}, Consts: map[string]*foreign.Data{}}
	for _, x := range o.In {
		b.Graph.Inputs = append(b.Graph.Inputs, foreign.Port{Name: x.Name})
	}
	for _, x := range o.Out {
		b.Graph.Outputs = append(b.Graph.Outputs, foreign.Port{Name: x.Name})
	}
	return b
}

// statement reads "outputs = Op(inputs) {attributes}" into a graph; "_" is an input that is left out.
func (p *lineParser) statement(g *foreign.Graph) {
	op := &foreign.Op{}
	for p.err == nil {
		op.Out = append(op.Out, p.operand())
		if !p.Accept(",") {
			break
		}
	}
	p.expect("=")
	op.Type = p.name()
	p.expect("(")
	op.In = p.operands()
	if p.Accept("{") {
		p.list("}", func() {
			a := foreign.Attr{Name: p.name()}
			p.expect(":")
			a.Value = p.value()
			op.Attrs = append(op.Attrs, a)
		})
	}
	g.Ops = append(g.Ops, op)
}

func (p *lineParser) operand() string {
	if s := p.name(); s != "_" {
		return s
	}
	return ""
}

// operands reads names up to a closing parenthesis.
func (p *lineParser) operands() []string {
	var out []string
	p.list(")", func() { out = append(out, p.operand()) })
	return out
}

// graph reads "(inputs) -> (outputs) [statement; …]".
func (p *lineParser) graph() *foreign.Graph {
	g := &foreign.Graph{Consts: map[string]*foreign.Data{}}
	p.expect("(")
	for _, name := range p.operands() {
		g.Inputs = append(g.Inputs, foreign.Port{Name: name})
	}
	p.expect("->")
	p.expect("(")
	for _, name := range p.operands() {
		g.Outputs = append(g.Outputs, foreign.Port{Name: name})
	}
	p.expect("[")
	for p.err == nil && !p.Accept("]") {
		p.statement(g)
		if !p.Is("]") {
			p.expect(";")
		}
	}
	return g
}

// tensor reads "(dtype, [shape], [values])".
func (p *lineParser) tensor() foreign.Value {
	p.expect("(")
	d := &foreign.Data{DType: DType(p.name())}
	p.expect(",")
	p.expect("[")
	for _, v := range p.values().List {
		d.Shape = append(d.Shape, v.Int)
	}
	p.expect(",")
	p.expect("[")
	values := p.values().List
	p.expect(")")
	if d.DType == scalar.Invalid || d.Len() != int64(len(values)) {
		p.fail("a tensor of %d elements of type %v with %d values", d.Len(), d.DType, len(values))
		return foreign.Value{}
	}
	d.Bytes = make([]byte, len(values)*d.DType.Size())
	for i, v := range values {
		x := scalar.IntValue(d.DType, v.Int)
		if d.DType.IsBool() {
			x = scalar.BoolValue(v.Int != 0)
		} else if d.DType.IsFloat() {
			f := v.Float
			if v.Kind == foreign.Int {
				f = float64(v.Int)
			}
			x = scalar.FloatValue(d.DType, f)
		}
		x.Encode(d.Bytes[i*d.DType.Size():])
	}
	return foreign.Value{Kind: foreign.DataKind, Data: d}
}

// elementNames are the names of element types that differ from tapc's.
var elementNames = map[string]scalar.DType{"bool": scalar.Bool, "float8e4m3fn": scalar.Float8E4M3, "float8e5m2": scalar.Float8E5M2,
	"float8e4m3fnuz": scalar.Float8E4M3FNUZ, "float8e5m2fnuz": scalar.Float8E5M2FNUZ, "float8e8m0": scalar.Float8E8M0,
	"float6e2m3": scalar.Float6E2M3, "float6e3m2": scalar.Float6E3M2, "float4e2m1": scalar.Float4E2M1}

// DType gives tapc's type for the name that dictionaries use, Invalid where it has none.
func DType(name string) scalar.DType {
	if d, ok := elementNames[name]; ok {
		return d
	}
	d, err := scalar.ParseDType(name)
	if err != nil {
		return scalar.Invalid
	}
	return d
}

// TypeName gives the name that dictionaries use for one of tapc's types.
func TypeName(d scalar.DType) string {
	for name, x := range elementNames {
		if x == d {
			return name
		}
	}
	return d.String()
}
