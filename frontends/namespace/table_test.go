package namespace

import (
	"strings"
	"testing"

	"tensortapestry.org/tapc/frontends/mapping/rules"
)

// The built-in rules are for operators, attributes and ports that their dictionaries have.
func TestBuiltinRules(t *testing.T) {
	for _, table := range rules.Builtin() {
		if err := All().CheckTable(table); err != nil {
			t.Error(err)
		}
	}
}

// Faults in a user's rules are found when they are read.
func TestCheckTable(t *testing.T) {
	for text, want := range map[string]string{
		"rule Rellu (x) -> (y)\n  let y = relu(x)":                          "has no operator Rellu at any version: did you mean Relu?",
		"rule Treble (x) -> (y)\n  let y = x * 3":                           "",
		"rule Relu (x, z) -> (y)\n  let y = relu(x)":                        "at most 1 inputs, and the rule takes 2",
		"rule Relu (x) -> (y, z)\n  let y = relu(x)":                        "at most 1 outputs",
		"rule Relu (x) -> (y)\n  attrs alpha\n  let y = relu(x)":            "no attribute alpha",
		"rule Upsample 10.. (x, s) -> (y)\n  let y = relu(x)":               "not there at the versions",
		"rule Gelu 13..19 (x) -> (y)\n  let y = gelu(x)":                    "not there at the versions",
		"rule Gelu 20.. (x) -> (y)\n  attrs approximate\n  let y = gelu(x)": "",
		"rule \"mine:A\" (x, y, z) -> (y)\n  let y = x":                     "bound already",
		"rule \"mine:A\" (x, z) -> (y)\n  attrs b\n  let y = x":             "",
	} {
		table, err := rules.Parse("f.map", "table t : onnx\n"+text+"\n")
		if err == nil {
			err = All().CheckTable(table)
		}
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "f.map:")) {
			t.Errorf("%q: expected %q, found %v", text, want, err)
		}
	}
}
