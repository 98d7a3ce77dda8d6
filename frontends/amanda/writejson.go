package amanda

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"

	"tensortapestry.org/tapc/ir"
)

// WriteJSON writes a graph as JSON, which has no number that is infinite or not a number: a graph with one is an error.
func WriteJSON(w io.Writer, g *Graph) error {
	var faults []string
	graph := jsonMap{}
	graph.text("namespace", g.Namespace)
	graph.attrs(g.Attrs, &faults)
	graph.body(g.Ops, g.Edges, &faults)
	if len(faults) > 0 {
		return fmt.Errorf("JSON can not have the value of attribute %s", faults[0])
	}
	b, err := json.MarshalIndent(jsonMap{{"graph", graph}}, "", " ")
	if err == nil {
		_, err = w.Write(append(b, '\n'))
	}
	return err
}

// jsonMap is an object whose keys keep their order.
type jsonMap []jsonField

type jsonField struct {
	key   string
	value any
}

// MarshalJSON writes the object.
func (m jsonMap) MarshalJSON() ([]byte, error) {
	var b strings.Builder
	b.WriteByte('{')
	for i, f := range m {
		v, err := json.Marshal(f.value)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(quote(f.key) + ":" + string(v))
	}
	b.WriteByte('}')
	return []byte(b.String()), nil
}

func (m *jsonMap) add(key string, v any) { *m = append(*m, jsonField{key, v}) }

func (m *jsonMap) text(key, text string) {
	if text != "" {
		m.add(key, text)
	}
}

func (m *jsonMap) attrs(a ir.Attrs, faults *[]string) {
	if len(a) == 0 {
		return
	}
	out := jsonMap{}
	for _, x := range a {
		out.add(x.Name, jsonValue(x.Name, x.Value, faults))
	}
	m.add("attrs", out)
}

func (m *jsonMap) body(ops []*Op, edges []Edge, faults *[]string) {
	list := []jsonMap{}
	for _, o := range ops {
		x := jsonMap{}
		x.add("type", o.Type)
		x.text("name", o.Name)
		x.attrs(o.Attrs, faults)
		x.ports("input_ports", o.Inputs, faults)
		x.ports("output_ports", o.Outputs, faults)
		if o.Sub && len(o.Ops) == 0 {
			x.add("ops", []jsonMap{})
		}
		x.body(o.Ops, o.Edges, faults)
		list = append(list, x)
	}
	if len(list) > 0 {
		m.add("ops", list)
	}
	list = nil
	for _, e := range edges {
		x := jsonMap{{"output_port", e.From.json()}, {"input_port", e.To.json()}}
		x.attrs(e.Attrs, faults)
		list = append(list, x)
	}
	if len(list) > 0 {
		m.add("edges", list)
	}
}

func (m *jsonMap) ports(key string, ports []Port, faults *[]string) {
	var list []jsonMap
	for _, p := range ports {
		x := jsonMap{{"name", p.Name}}
		x.attrs(p.Attrs, faults)
		list = append(list, x)
	}
	if len(list) > 0 {
		m.add(key, list)
	}
}

func (e End) json() jsonMap { return jsonMap{{"op", e.Op.json()}, {"port", e.Port.json()}} }

func (r Ref) json() any {
	if r.Name != "" {
		return r.Name
	}
	return r.Index
}

// jsonValue gives an attribute's value for json.Marshal; a number that JSON does not have is a fault of the attribute.
func jsonValue(name string, v ir.AttrValue, faults *[]string) any {
	switch v.Kind {
	case ir.AttrBool:
		return v.Int != 0
	case ir.AttrInt:
		return v.Int
	case ir.AttrFloat:
		if math.IsNaN(v.Num) || math.IsInf(v.Num, 0) {
			*faults = append(*faults, name)
			return nil
		}
		return json.RawMessage(floatText(v.Num))
	case ir.AttrString:
		return v.Str
	case ir.AttrList:
		out := []any{}
		for _, x := range v.List {
			out = append(out, jsonValue(name, x, faults))
		}
		return out
	case ir.AttrMap:
		out := jsonMap{}
		for _, x := range v.Map {
			out.add(x.Name, jsonValue(name, x.Value, faults))
		}
		return out
	}
	return nil
}
