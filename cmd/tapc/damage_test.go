package main

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tensortapestry.org/tapc/ir/diag"
)

// wholeGraph has kernels with attributes, lists of operands, signatures and a constant, so that damage finds all of them.
const wholeGraph = `tapc 1
%x = tensor float32 [0:1, 0:2, 0:5]
%w = tensor float32 [0:4, 0:2, 0:3]
%c = tensor float32 [0:1, 0:4, 0:5]
%h = tensor float32 [0:1, 0:2, 0:5]
%j = tensor float32 [0:1, 0:6, 0:5]
%y = tensor float32 [0:1, 0:6, 0:5]
%k = operation op:constant {value: [[[1, 2, 3], [4, 5, 6]], [[1, 2, 3], [4, 5, 6]], [[1, 2, 3], [4, 5, 6]], [[1, 2, 3], [4, 5, 6]]]} -> (result: %w)
%conv = operation op:conv {pads: 1} (X: %x, W: %w) -> (Y: %c)
%relu = operation op:relu (tensor: %x) -> (result: %h)
%join = operation op:concat {axis: 1} (inputs: [%c, %h]) -> (result: %j)
%soft = operation op:softmax {axis: 1} (tensor: %j) -> (result: %y)
`

// A graph that is damaged anywhere is refused, or taken where the damage is none; nothing that reads it ends in a fault of tapc's own.
func TestDamagedGraphsAreRefused(t *testing.T) {
	commands := [][]string{
		{"verify", "-"},
		{"translate", "--to=amanda", "-"}, {"translate", "--to=dot", "-"}, {"translate", "--to=tap", "-"},
		{"translate", "--into=onnx/17", "-"}, {"translate", "--into=tensorflow/1.13.1", "-"}, {"translate", "--into=tapc/tensorops", "-"},
		{"opt", "--passes=fix(simplify,cse,dce)", "-"},
		{"build", "--emit=schedule", "-o", "-", "-"},
		{"run", "--reference", "--random=1", "-"},
	}
	status, whole, stderr := tapc(t, wholeGraph, "translate", "--to=loom", "-")
	if status != diag.ExitOK {
		t.Fatal(stderr)
	}
	rapid.Check(t, func(rt *rapid.T) {
		var graph any
		if err := json.Unmarshal([]byte(whole), &graph); err != nil {
			rt.Fatal(err)
		}
		for range rapid.IntRange(1, 2).Draw(rt, "damages") {
			graph = damage(rt, graph)
		}
		text, err := json.Marshal(graph)
		if err != nil {
			rt.Fatal(err)
		}
		for _, c := range commands {
			if status, _, stderr := tapc(t, string(text), c...); status != diag.ExitOK && status != diag.ExitInput {
				rt.Fatalf("tapc %s: status %d\n%s\n%s", strings.Join(c, " "), status, stderr, text)
			}
		}
	})
}

// damage changes one value somewhere in a document: it takes another value of the document, or one that is seldom right.
func damage(t *rapid.T, doc any) any {
	var places []func(any) // that put another value there; nil takes it away
	var values []any
	var walk func(v any)
	walk = func(v any) {
		values = append(values, v)
		switch v := v.(type) {
		case map[string]any:
			for _, key := range slices.Sorted(maps.Keys(v)) {
				places = append(places, func(to any) {
					if v[key] = to; to == nil {
						delete(v, key)
					}
				})
				walk(v[key])
			}
		case []any:
			for i := range v {
				places = append(places, func(to any) { v[i] = to })
				walk(v[i])
			}
		}
	}
	walk(doc)
	values = append(values, nil, -1.0, 0.0, 1<<40, "", "int4294967296", []any{}, map[string]any{}, "00000000-0000-0000-0000-00000000beef")
	copied, err := json.Marshal(values[rapid.IntRange(0, len(values)-1).Draw(t, "value")])
	if err != nil {
		t.Fatal(err)
	}
	var value any
	if err := json.Unmarshal(copied, &value); err != nil {
		t.Fatal(err)
	}
	places[rapid.IntRange(0, len(places)-1).Draw(t, "place")](value)
	return doc
}
