package machine

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Schema gives the JSON schema of machine files.
func Schema() []byte {
	top := newSchema()
	(&Machine{}).fields(top)
	top.object["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	top.object["title"] = "machine file of tapc"
	var out bytes.Buffer
	to := json.NewEncoder(&out)
	to.SetEscapeHTML(false)
	to.SetIndent("", "  ")
	if err := to.Encode(top.object); err != nil {
		panic(fmt.Sprintf("machine: %v", err)) // it is made of maps, texts and lists
	}
	return out.Bytes()
}

// schema makes the schema of a mapping.
type schema struct {
	object     map[string]any
	properties map[string]any
}

func newSchema() *schema {
	p := map[string]any{}
	return &schema{map[string]any{"type": "object", "additionalProperties": false, "properties": p}, p}
}

func (s *schema) add(key field, v map[string]any) {
	v["description"] = key.doc
	s.properties[key.key] = v
	if key.must {
		must, _ := s.object["required"].([]string)
		s.object["required"] = append(must, key.key)
	}
}

func (s *schema) Text(key field, _ *string, words ...string) {
	v := map[string]any{"type": "string"}
	if len(words) > 0 {
		v["enum"] = words
	}
	s.add(key, v)
}

// pattern is that of numbers of a unit.
func pattern(unit Unit) string {
	if unit == Part {
		return `^[0-9.eE+-]+$`
	}
	return `^[0-9.eE+-]+ ([numkMGTP]|µ|[KMGT]i)?` + string(unit) + `$`
}

func number(unit Unit) map[string]any {
	if unit == Part {
		return map[string]any{"type": "number", "exclusiveMinimum": 0}
	}
	return map[string]any{"type": "string", "pattern": pattern(unit), "examples": []string{unit.example()}}
}

func (s *schema) Count(key field, _ *int64, unit Unit) {
	v := number(unit)
	if unit == Part {
		v = map[string]any{"type": "integer", "minimum": 1}
	}
	s.add(key, v)
}

func (s *schema) Figure(key field, _ *Figure, unit Unit) {
	whole := newSchema()
	whole.add(field{"value", key.doc, true}, number(unit))
	whole.add(field{"low", "what it is at least", false}, number(unit))
	whole.add(field{"high", "what it is at most", false}, number(unit))
	whole.add(field{"source", "where it is from", false}, map[string]any{"type": "string"})
	s.add(key, map[string]any{"anyOf": []any{number(unit), whole.object}})
}

func (s *schema) List(key field, _ int, grow func(int), at func(int, fields)) {
	grow(1)
	one := newSchema()
	at(0, one)
	s.add(key, map[string]any{"type": "array", "minItems": 1, "items": one.object})
}
