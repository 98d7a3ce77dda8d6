package amanda

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"tensortapestry.org/tapc/ir"
)

// Write writes a graph as YAML. What Read reads from it is the same graph.
func Write(w io.Writer, g *Graph) error {
	p := &printer{}
	if g.Namespace == "" && len(g.Attrs)+len(g.Ops)+len(g.Edges) == 0 {
		_, err := io.WriteString(w, "graph: {}\n")
		return err
	}
	p.line(0, "graph:")
	p.field(1, "namespace", g.Namespace)
	p.attrs(1, g.Attrs)
	p.body(1, g.Ops, g.Edges)
	_, err := io.WriteString(w, p.b.String())
	return err
}

type printer struct{ b strings.Builder }

func (p *printer) line(depth int, text string) {
	p.b.WriteString(strings.Repeat("  ", depth))
	p.b.WriteString(text)
	p.b.WriteByte('\n')
}

func (p *printer) field(depth int, key, text string) {
	if text != "" {
		p.line(depth, key+": "+scalarText(text))
	}
}

func (p *printer) attrs(depth int, a ir.Attrs) {
	if len(a) == 0 {
		return
	}
	p.line(depth, "attrs:")
	for _, x := range a {
		p.line(depth+1, scalarText(x.Name)+": "+Flow(x.Value))
	}
}

func (p *printer) body(depth int, ops []*Op, edges []Edge) {
	if len(ops) > 0 {
		p.line(depth, "ops:")
	}
	for _, o := range ops {
		p.line(depth+1, "- type: "+scalarText(o.Type))
		p.field(depth+2, "name", o.Name)
		p.attrs(depth+2, o.Attrs)
		p.ports(depth+2, "input_ports", o.Inputs)
		p.ports(depth+2, "output_ports", o.Outputs)
		if o.Sub && len(o.Ops) == 0 {
			p.line(depth+2, "ops: []")
		}
		p.body(depth+2, o.Ops, o.Edges)
	}
	if len(edges) > 0 {
		p.line(depth, "edges:")
	}
	for _, e := range edges {
		p.line(depth+1, "- output_port: {op: "+e.From.Op.text()+", port: "+e.From.Port.text()+"}")
		p.line(depth+2, "input_port: {op: "+e.To.Op.text()+", port: "+e.To.Port.text()+"}")
		p.attrs(depth+2, e.Attrs)
	}
}

func (p *printer) ports(depth int, key string, list []Port) {
	if len(list) > 0 {
		p.line(depth, key+":")
	}
	for _, x := range list {
		text := "- name: " + scalarText(x.Name)
		if len(x.Attrs) > 0 {
			text = "- {name: " + scalarText(x.Name) + ", attrs: " + Flow(ir.AttrValue{Kind: ir.AttrMap, Map: x.Attrs}) + "}"
		}
		p.line(depth+1, text)
	}
}

func (r Ref) text() string {
	if r.Name != "" {
		return scalarText(r.Name)
	}
	return strconv.Itoa(r.Index)
}

// scalarText writes a string: bare when no reader can take it for anything else.
func scalarText(s string) string {
	plain := s != ""
	for i, c := range s {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
		if !letter && (i == 0 || !(c >= '0' && c <= '9' || c == '/' || c == '.' || c == '-')) {
			plain = false
		}
	}
	switch strings.ToLower(s) {
	case "null", "true", "false", "yes", "no", "on", "off", "y", "n", "nan", "inf":
		plain = false
	}
	if plain {
		return s
	}
	return quote(s)
}

// quote writes a string in quotes, as both YAML and JSON read it.
func quote(s string) string {
	b, _ := json.Marshal(s) // of a string, which always can be written
	var out strings.Builder
	for _, c := range string(b) {
		if c == 0x7f || c >= 0x80 && c < 0xa0 || c == 0xfeff || c == 0xfffe || c == 0xffff { // which YAML does not allow as they are
			fmt.Fprintf(&out, `\u%04x`, c)
			continue
		}
		out.WriteRune(c)
	}
	return out.String()
}

// Flow writes an attribute's value on one line.
func Flow(v ir.AttrValue) string {
	switch v.Kind {
	case ir.AttrBool:
		return strconv.FormatBool(v.Int != 0)
	case ir.AttrInt:
		return strconv.FormatInt(v.Int, 10)
	case ir.AttrFloat:
		return floatText(v.Num)
	case ir.AttrString:
		return scalarText(v.Str)
	case ir.AttrList:
		var parts []string
		for _, x := range v.List {
			parts = append(parts, Flow(x))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case ir.AttrMap:
		var parts []string
		for _, x := range v.Map {
			parts = append(parts, scalarText(x.Name)+": "+Flow(x.Value))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return "null"
}

func floatText(f float64) string {
	switch {
	case math.IsNaN(f):
		return ".nan"
	case math.IsInf(f, 1):
		return ".inf"
	case math.IsInf(f, -1):
		return "-.inf"
	}
	s := strconv.FormatFloat(f, 'g', -1, 64)
	if !strings.Contains(s, ".") { // 1e+20 is no number for every reader of YAML
		mantissa, exponent, ok := strings.Cut(s, "e")
		s = mantissa + ".0"
		if ok {
			s += "e" + exponent
		}
	}
	return s
}
