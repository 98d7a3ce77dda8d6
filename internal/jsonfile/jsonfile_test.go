package jsonfile

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestDecode(t *testing.T) {
	for text, want := range map[string]string{
		`{"a": 1}`: "", " {\"a\": 1}\n ": "", `{"a": 1} {}`: "byte 10: more text", `{"b": 1}`: `byte 2: unknown field "b"`, `{"l": [{"c": 1}, {"a": 1}]}`: `byte 19: unknown field "a"`, `{"a": 1, "l": [{"c": 1, "l": [{}]}]}`: `byte 25: unknown field "l"`, `{"a": }`: "byte 7: ", `{"a": "x"}`: "byte 9: a: expected a whole number, found string",
		``: "there is nothing in it", `{"a": 1`: "it ends within a value", `{"l": [{"c": -1}]}`: "byte 15: c: expected a whole number from 0 to 65535, found number -1",
		`{"l": {}}`: "byte 7: l: expected a list, found object", `{"l": [3]}`: "l: expected an object, found number", `[]`: "byte 1: expected an object, found array", `{"a": 1, "l": [{"c": 65535}]}`: "",
		`{"a": 1, "l": [], "a": 1}`: `byte 19: "a" is there twice`, `{"a": 1, "A": 2}`: `byte 10: unknown field "A": expected one of a, l, found "A"`, `{"a": 1, "\u0061": 2}`: `byte 10: "a" is there twice`, `{"l": [{"c": tru}]}`: "byte 17: ", `{"b": [{"c": tru}], "l": 1`: "byte 17: ", `{"b": [1, {"c"`: "it ends within", `{"l": [{"c": 1} {"c": 2}]}`: "byte 17: ", `{"a" 1}`: "byte 6: ",
		`{"a": 1, "l": [{"c": 1}, {"c": 1, "c": 2}]}`: `byte 35: "c" is there twice`, `{"a": 1, "l": [{"c": 1}, {"c": 2}]}`: "",
	} {
		var v struct {
			A int `json:"a"`
			L []struct {
				C uint16 `json:"c"`
			} `json:"l"`
		}
		err := Decode([]byte(text), &v)
		if want == "" && (err != nil || v.A != 1) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: expected %q, found %v", text, want, err)
		}
	}
}

// FuzzDecode: every text is decoded or refused, and one that is decoded is JSON.
func FuzzDecode(f *testing.F) {
	for _, text := range []string{`{"a": 1, "l": [{"c": 1}]}`, `{"l": [{"c": tru}]}`, `{"b": {"x": [1, {"c"`, `[[[`, `{"l": [1 2]}`, `{"a" 1}`, `{"a": 1, "a": 2}`, `{"l": [{"\u0063": 1}]} x`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var v struct {
			A int `json:"a"`
			L []struct {
				C uint16 `json:"c"`
			} `json:"l"`
			Rest map[string]any `json:"rest"`
		}
		if err := Decode(text, &v); err == nil && !json.Valid(text) {
			t.Errorf("%q is decoded, and is no JSON", text)
		}
	})
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
