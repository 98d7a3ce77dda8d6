package onnxtest

import (
	"strings"
	"testing"
)

func TestModelErrors(t *testing.T) {
	const head = "<ir_version: 8>\n"
	for want, text := range map[string]string{
		`line 1: expected "<"`:                "g () => () { }",
		`line 2: unknown element type "real"`: head + "g (real x) => () { }",
		`line 3: expected "{", found "}"`:     head + "g () => ()\n}",
		`line 2: unexpected "$"`:              head + "$",
		`expected the end, found "x"`:         head + "g () => () { } x",
		`constants of the type "string"`:      head + "g () => () <string s = {1}> { }",
		`expected "}", found the end`:         head + "g () => () { y = Neg(x)",
		`unknown key "speed"`:                 "<speed: 3>",
		`expected ",", found "Neg"`:           head + "g () => () { y Neg(x) }",
	} {
		if _, err := Model(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: expected an error with %q, found %v", text, want, err)
		}
	}
}
