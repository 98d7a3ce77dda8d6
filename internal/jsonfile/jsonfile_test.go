package jsonfile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestDecode(t *testing.T) {
	for text, want := range map[string]string{
		`{"a": 1}`: "", " {\"a\": 1}\n ": "", `{"a": 1} {}`: "byte 10: more text", `{"b": 1}`: "unknown field", `{"a": }`: "byte 7: ", `{"a": "x"}`: "cannot unmarshal",
		``: "EOF", `{"a": 1`: "unexpected EOF",
	} {
		var v struct{ A int }
		err := Decode([]byte(text), &v)
		if want == "" && (err != nil || v.A != 1) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: expected %q, found %v", text, want, err)
		}
	}
}

func TestReadIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "large.json")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, c := range []struct {
		bytes int64
		fails bool
	}{{MaxBytes, false}, {MaxBytes + 1, true}} {
		if err := f.Truncate(c.bytes); err != nil {
			t.Fatal(err)
		}
		if text, err := Read(path); (err != nil) != c.fails || err == nil && int64(len(text)) != c.bytes || c.fails && !strings.Contains(err.Error(), path) {
			t.Errorf("%d bytes: %v", c.bytes, err)
		}
	}
	if _, err := Read(path + ".none"); err == nil {
		t.Error("a file that is not there was read")
	}
}
