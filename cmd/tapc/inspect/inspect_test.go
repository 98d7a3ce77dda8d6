package inspect

import (
	"bytes"
	"io"
	"strings"
	"testing"
)

// FuzzProgram: what a program says of itself is refused, or printed without doing anything to a terminal.
func FuzzProgram(f *testing.F) {
	for _, s := range []string{
		`{"program": "p", "tapc": "1", "abi": 1, "inputs": [{"name": "x", "dtype": "float32", "shape": [2, 3], "bytes": 24}], "outputs": [], "kernels": [{"name": "k"}],
		"made": {"command": ["build", "p.tap"], "inputs": [{"name": "p.tap", "bytes": 3, "sha256": "00"}], "output": "exe"}}`,
		`{"program": "\u001b[2J", "abi": 1}`, `{"program": "p", "abi": 0}`, `{"program": "p", "abi": 1, "made": null, "inputs": null}`, `[]`, "\xff",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p := Program{Text: []byte(text)}
		if p.read(text) != nil {
			return
		}
		file := File{Name: "f", Programs: []Program{p}}
		var b bytes.Buffer
		if err := file.Write(&b); err != nil || strings.ContainsAny(b.String(), "\x1b\x07\x08\x7f") {
			t.Errorf("%q, %v", b.String(), err)
		}
		if err := file.WriteJSON(io.Discard); err != nil {
			t.Error(err)
		}
	})
}
