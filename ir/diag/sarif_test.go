package diag

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func sarifOf(t *testing.T, list List, src Source) map[string]any {
	t.Helper()
	var b bytes.Buffer
	if err := WriteSARIF(&b, list, src); err != nil {
		t.Fatal(err)
	}
	var log struct {
		Version string
		Runs    []map[string]any
	}
	if err := json.Unmarshal(b.Bytes(), &log); err != nil {
		t.Fatal(err)
	}
	if log.Version != "2.1.0" || len(log.Runs) != 1 {
		t.Fatalf("version %s, %d runs", log.Version, len(log.Runs))
	}
	return log.Runs[0]
}

func TestSARIFResult(t *testing.T) {
	d := Errorf("C2", "Rule2", Location{"a b.json", 2, 5, "/nodes/0", "tensor \"x\""}, "too <big>").Want("1", "2").
		WithNote(Location{File: "/abs/c.tap", Line: 7}, "there").WithHint("make it small")
	got := sarifOf(t, List{d}, func(file string) ([]byte, bool) { return []byte("\n\"é\" x\n"), file == "a b.json" })
	want := []any{map[string]any{
		"ruleId": "C2", "ruleIndex": 0.0, "level": "error",
		"message": map[string]any{"text": "too <big>: expected 1, found 2 (make it small)"},
		"locations": []any{map[string]any{
			"physicalLocation": map[string]any{"artifactLocation": map[string]any{"uri": "a%20b.json"},
				"region": map[string]any{"startLine": 2.0, "startColumn": 4.0}},
			"logicalLocations": []any{map[string]any{"name": `tensor "x"`, "fullyQualifiedName": "/nodes/0", "kind": "element"}},
		}},
		"relatedLocations": []any{map[string]any{"id": 0.0, "message": map[string]any{"text": "there"},
			"physicalLocation": map[string]any{"artifactLocation": map[string]any{"uri": "file:///abs/c.tap"},
				"region": map[string]any{"startLine": 7.0}}}},
		"properties": map[string]any{"constraint": "Rule2", "expected": "1", "found": "2", "hint": "make it small"},
	}}
	if diff := cmp.Diff(want, got["results"]); diff != "" {
		t.Error(diff)
	}
}

func TestSARIFRulesAreSortedAndNotRepeated(t *testing.T) {
	list := List{{Code: "B", Constraint: "Late", Severity: Warning}, {Code: "A", Constraint: "Early", Severity: Remark}, {Code: "B", Constraint: "Late"}, {Message: "bare"}}
	got := sarifOf(t, list, nil)
	rules := got["tool"].(map[string]any)["driver"].(map[string]any)["rules"]
	want := []any{map[string]any{"id": "A", "name": "Early"}, map[string]any{"id": "B", "name": "Late"}}
	if diff := cmp.Diff(want, rules); diff != "" {
		t.Error(diff)
	}
	var levels []any
	for _, r := range got["results"].([]any) {
		r := r.(map[string]any)
		levels = append(levels, r["level"], r["ruleIndex"])
	}
	if diff := cmp.Diff([]any{"warning", 1.0, "note", 0.0, "error", 1.0, "error", nil}, levels); diff != "" {
		t.Error(diff)
	}
}

func TestSARIFOfNothing(t *testing.T) {
	if got := sarifOf(t, nil, nil)["results"]; got == nil || len(got.([]any)) != 0 {
		t.Errorf("results are %v, want an empty list", got)
	}
}
