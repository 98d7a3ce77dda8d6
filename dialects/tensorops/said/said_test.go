package said_test

import (
	"testing"

	"tensortapestry.org/tapc/dialects"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/said"
	"tensortapestry.org/tapc/ir/text"
)

// Operations say the same if they differ in names alone: not in parameters, types, ranges, in which tensors are the same, or in what is selected.
func TestSaid(t *testing.T) {
	g, err := text.Read([]byte(`tapc 1
%a = tensor float32 [0:4, 0:4]
%b = tensor float32 [0:4, 0:4]
%c = tensor float32 [0:4, 0:4]
%d = tensor float64 [0:4, 0:4]
%e = tensor float64 [0:4, 0:4]
%wide = tensor float32 [0:8, 0:4]
%r1 = tensor float32 [0:4, 0:4]
%r2 = tensor float32 [0:4, 0:4]
%r3 = tensor float32 [0:4, 0:4]
%r4 = tensor float32 [0:4, 0:4]
%r5 = tensor float64 [0:4, 0:4]
%r6 = tensor float32 [0:4, 0:4]
%r7 = tensor float32 [0:4, 0:4]
%first = operation op:add (tensors: [%a, %b]) -> (result: %r1)
%same = operation op:add (tensors: [%c, %a]) -> (result: %r2)
%twice = operation op:add (tensors: [%a, %a]) -> (result: %r3)
%kernel = operation op:mul (tensors: [%a, %b]) -> (result: %r4)
%type = operation op:add (tensors: [%d, %e]) -> (result: %r5)
%range = operation op:add (tensors: [%a, %wide[0:4, 0:4]]) -> (result: %r6)
%params = operation op:add {axis: 1} (tensors: [%a, %b]) -> (result: %r7)
`), "g.tap", dialects.Registry())
	if err != nil {
		t.Fatal(err)
	}
	words := map[string]string{}
	for n := range g.Nodes() {
		if _, ok := n.Body.(*tensorops.Operation); ok {
			words[n.Label] = said.Of(g, n)
		}
	}
	for name, text := range words {
		if got, want := text == words["first"], name == "first" || name == "same"; got != want {
			t.Errorf("%s says the same as first: %v\n%s\n%s", name, got, text, words["first"])
		}
	}
	for n := range g.Nodes() {
		if n.Label == "same" {
			n.SetTag(&tensorops.Index{})
			if said.Of(g, n) == words["same"] {
				t.Error("a tag is not said")
			}
		}
	}
}
