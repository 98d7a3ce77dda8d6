package planfile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"tensortapestry.org/tapc/ir/permission"
)

// Schema gives the JSON schema of plan files, of what a file says by itself: that names are of one graph and devices are there, tapc alone knows.
func Schema() []byte {
	top := object(reflect.TypeFor[file]())
	top["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	top["title"] = "plan file of tapc"
	var out bytes.Buffer
	to := json.NewEncoder(&out)
	to.SetEscapeHTML(false)
	to.SetIndent("", "  ")
	if err := to.Encode(top); err != nil {
		panic(fmt.Sprintf("planfile: %v", err)) // it is made of maps, texts and lists
	}
	return out.Bytes()
}

// object makes the schema of a struct: of its fields that are described.
func object(t reflect.Type) map[string]any {
	properties, required := map[string]any{}, []string{}
	for i := range t.NumField() {
		f := t.Field(i)
		doc, said := f.Tag.Lookup("doc")
		if !said {
			continue
		}
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		v := value(f)
		v["description"] = doc
		if properties[name] = v; options == "" {
			required = append(required, name)
		}
	}
	out := map[string]any{"type": "object", "additionalProperties": false, "properties": properties}
	if len(required) > 0 {
		out["required"] = required
	}
	return out
}

// value makes the schema of a field.
func value(f reflect.StructField) map[string]any {
	if form := f.Tag.Get("form"); form != "" {
		return forms(form)
	}
	switch t := f.Type; {
	case t.Kind() == reflect.String:
		return map[string]any{"type": "string"}
	case t.Kind() == reflect.Int64:
		return map[string]any{"type": "integer"}
	case t.Elem().Kind() == reflect.String:
		return list(map[string]any{"type": "string"})
	default:
		return list(object(t.Elem()))
	}
}

func list(items map[string]any) map[string]any {
	return map[string]any{"type": "array", "items": items}
}

// forms gives the schemas that do not follow from types.
func forms(name string) map[string]any {
	count := map[string]any{"type": "integer", "minimum": 1, "maximum": MaxDevices}
	number := map[string]any{"type": "integer", "minimum": 0, "maximum": MaxDevices - 1}
	some := func(items map[string]any) map[string]any {
		l := list(items)
		l["minItems"] = 1
		return l
	}
	switch name {
	case "version":
		return map[string]any{"const": Version}
	case "size":
		return count
	case "devices":
		return map[string]any{"anyOf": []any{count, some(object(reflect.TypeFor[Device]()))}}
	case "places":
		return some(map[string]any{"anyOf": []any{number, some(number)}})
	case "permissions":
		l := list(map[string]any{"enum": permission.Names()})
		l["uniqueItems"] = true
		return l
	}
	panic("planfile: there is no form " + name)
}
