package host

import (
	"strings"
	"testing"

	"tensortapestry.org/tapc/dialects"
	"tensortapestry.org/tapc/ir/text"
)

const stated = `tapc 1
%a = tensor float32 [0:4]
%b = tensor float32 [0:4]
operation op:import {names: ["a", "b"]} -> (result: [%a, %b])
%y = tensor float32 [0:4]
operation op:relu (tensor: %a) -> (result: %y)
operation op:export {names: ["y", "b"]} (tensor: [%y, %b])
`

// What a graph states of its interface a plugin must keep: order, and inputs that nothing uses.
func TestCompareProgram(t *testing.T) {
	for _, c := range []struct{ name, old, new, want string }{
		{"the same", "", "", ""},
		{"another operation", "op:relu", "op:neg", ""},
		{"inputs in another order", `{names: ["a", "b"]} -> (result: [%a, %b])`, `{names: ["b", "a"]} -> (result: [%b, %a])`, "the inputs were a (float32 zr[0:4]), b (float32 zr[0:4]), and are b"},
		{"outputs in another order", `{names: ["y", "b"]} (tensor: [%y, %b])`, `{names: ["b", "y"]} (tensor: [%b, %y])`, "the outputs were y"},
		{"an output not stated", "operation op:export {names: [\"y\", \"b\"]} (tensor: [%y, %b])\n", "", "the outputs were y"},
		{"a name", `["y", "b"]`, `["z", "b"]`, "the outputs were y"},
	} {
		before, err := text.Read([]byte(stated), "before.tap", dialects.Registry())
		if err != nil {
			t.Fatal(err)
		}
		after, err := text.Read([]byte(strings.Replace(stated, c.old, c.new, 1)), "after.tap", dialects.Registry())
		if err != nil {
			t.Fatal(err)
		}
		if got := compareProgram(before, after); !strings.HasPrefix(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s: %q", c.name, got)
		}
	}
}
