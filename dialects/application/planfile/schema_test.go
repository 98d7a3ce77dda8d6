package planfile

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The schema takes what Parse takes: the plans of examples and one with all fields. What it refuses, Parse refuses.
func TestSchema(t *testing.T) {
	var schema map[string]any
	if err := json.Unmarshal(Schema(), &schema); err != nil {
		t.Fatal(err)
	}
	texts := map[string]bool{
		`{"version": 1, "mesh": [{"axis": "x", "size": 2}, {"axis": "y", "size": 2}], "tensors": [{"tensor": "a", "dims": ["x", "-?"], "partial": ["y"], "priority": 2}],
			"cuts": [{"target": "op:relu", "cut": "2x1/1x4"}], "choices": [{"choice": "c", "branch": "b"}], "recompute": [{"tensor": "h"}], "devices": [{"memory": 5}, {}, {}, {}],
			"place": [{"target": "op:relu", "devices": [1, [0, 2]]}], "permissions": ["reassociate", "bf16"]}`: true,
		devices(`2`):                                false,
		devices(`[{}, {"memory": 3}]`):              false,
		devices(`0`):                                false,
		devices(`"2"`):                              false,
		devices(`[]`):                               false,
		devices(`[{"speed": 1}]`):                   false,
		allowed(`["reassociate"]`):                  false,
		allowed(`["fast"]`):                         false,
		allowed(`["bf16", "bf16"]`):                 false,
		allowed(`"bf16"`):                           false,
		placed(`{"target": "y", "devices": [1]}`):   false,
		placed(`{"target": "y", "devices": []}`):    false,
		placed(`{"target": "y", "devices": [[]]}`):  false,
		placed(`{"target": "y", "devices": [-1]}`):  false,
		placed(`{"devices": [0]}`):                  false,
		`{"version": 2, "cuts": []}`:                false,
		`{"cuts": [{"target": "y", "cut": "2"}]}`:   false,
		`{"version": 1, "cut": []}`:                 false,
		`{"version": 1, "cuts": [{"target": "y"}]}`: false,
		`{"version": 1, "mesh": [{"axis": "x", "size": 0}], "tensors": [{"tensor": "a", "dims": []}]}`:                                     false,
		`{"shard": [{"target": "op:linear", "parts": [2, 2]}]}`:                                                                            false,
		`{"version": 1, "mesh": [{"axis": "x", "size": 2}], "tensors": [{"tensor": "a", "dims": ["x"], "partial": "x", "priority": "1"}]}`: false,
	}
	for _, folder := range []string{"mlp", "parallel"} {
		files, err := filepath.Glob("../../../examples/" + folder + "/*.json")
		if err != nil || len(files) < 2 {
			t.Fatalf("%v: %v", files, err)
		}
		for _, f := range files {
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			texts[string(text)] = true
		}
	}
	taken, refused := 0, 0
	for text, must := range texts {
		var v any
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			t.Fatal(err)
		}
		fault := against(schema, v)
		_, err := Parse("p.json", []byte(text))
		switch {
		case (fault == "") != (err == nil), must && err != nil:
			t.Errorf("%s\nschema: %s; parser: %v", text, fault, err)
		case err == nil:
			taken++
		default:
			refused++
		}
	}
	if taken < 12 || refused < 14 {
		t.Errorf("%d plans taken and %d refused", taken, refused)
	}
}

// The table in docs/plans.md has the fields of the schema, each once.
func TestFieldsAreInTheDocumentation(t *testing.T) {
	text, err := os.ReadFile("../../../docs/plans.md")
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Properties map[string]struct{ Description string } `json:"properties"`
	}
	if err := json.Unmarshal(Schema(), &schema); err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "| field | meaning |")
	table, _, _ := strings.Cut(rest, "\n\n")
	var rows []string
	for line := range strings.Lines(table) {
		if name, found := strings.CutPrefix(line, "| `"); found {
			name, _, _ = strings.Cut(name, "`")
			rows = append(rows, name)
		}
	}
	for name, p := range schema.Properties {
		i := slices.Index(rows, name)
		if i < 0 || p.Description == "" {
			t.Errorf("%s is not in the table of docs/plans.md, or has no description", name)
			continue
		}
		rows = slices.Delete(rows, i, i+1)
	}
	if len(rows) > 0 {
		t.Errorf("the table has %q besides", rows)
	}
}

// against gives the first fault of a value by those keywords of JSON schema that Schema uses.
func against(s map[string]any, v any) string {
	for word, want := range s {
		ok := true
		switch x := v.(type) {
		case map[string]any:
			switch word {
			case "required":
				for _, k := range want.([]any) {
					_, there := x[k.(string)]
					ok = ok && there
				}
			case "properties":
				for k, inner := range x {
					p, known := want.(map[string]any)[k]
					if !known {
						return "unknown " + k
					}
					if fault := against(p.(map[string]any), inner); fault != "" {
						return k + ": " + fault
					}
				}
			case "type":
				ok = want == "object"
			}
		case []any:
			switch word {
			case "items":
				for _, inner := range x {
					if fault := against(want.(map[string]any), inner); fault != "" {
						return fault
					}
				}
			case "minItems":
				ok = float64(len(x)) >= want.(float64)
			case "uniqueItems":
				for i := range x {
					ok = ok && !slices.Contains(x[:i], x[i])
				}
			case "type":
				ok = want == "array"
			}
		case string:
			switch word {
			case "type":
				ok = want == "string"
			case "enum":
				ok = slices.Contains(want.([]any), v)
			}
		case float64:
			switch word {
			case "type":
				ok = want == "integer"
			case "minimum":
				ok = x >= want.(float64)
			case "maximum":
				ok = x <= want.(float64)
			}
		}
		switch word {
		case "const":
			ok = v == want
		case "anyOf":
			ok = slices.ContainsFunc(want.([]any), func(s any) bool { return against(s.(map[string]any), v) == "" })
		}
		if !ok {
			return fmt.Sprintf("%v is not of %s %v", v, word, want)
		}
	}
	return ""
}
