// Package jsonfile reads JSON files that people and other programs write: of a bounded size, with no field that nobody knows and
// nothing behind the one value. It must not import anything of tapc.
package jsonfile

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"strings"

	"tensortapestry.org/tapc/internal/inputfile"
)

// MaxBytes bounds a file.
const MaxBytes = 64 << 20

// Read gives the bytes of a file, which may be MaxBytes at most. Errors name the file.
func Read(path string) ([]byte, error) {
	return inputfile.ReadText(path, MaxBytes)
}

// Error says what is wrong with a text, at which byte from 1 on, 0 where that is not known; and what is expected there and what was found, "" where the words say all.
type Error struct {
	Byte            int64
	Words           string
	Expected, Found string
}

func (e *Error) Error() string {
	text := e.Words
	if e.Expected != "" {
		text = strings.TrimPrefix(text+": expected "+e.Expected+", found "+e.Found, ": ")
	}
	if e.Byte == 0 {
		return text
	}
	return fmt.Sprintf("byte %d: %s", e.Byte, text)
}

// Decode decodes a text into a pointer's value. Keys are those of the value's type, letter by letter, and each is there once. An error is an Error.
func Decode(text []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil && !strings.Contains(err.Error(), "unknown field") { // what is no JSON is said before
		return said(err)
	}
	if err := keys(text[:d.InputOffset()], json.NewDecoder(bytes.NewReader(text)), reflect.TypeOf(into)); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return &Error{Byte: d.InputOffset(), Words: "more text behind the value"}
	}
	return nil
}

// keys reads a value of a type from a text that is JSON, and refuses the first key that the type does not have or that is there twice.
func keys(text []byte, d *json.Decoder, t reflect.Type) error {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t != nil && reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		t = nil // it reads all for itself
	}
	open, _ := d.Token() // without an error, as the text is JSON
	if open != json.Delim('{') && open != json.Delim('[') {
		return nil
	}
	seen := map[string]bool{}
	for d.More() {
		inner := t
		if t != nil && (t.Kind() == reflect.Slice || t.Kind() == reflect.Array || t.Kind() == reflect.Map) {
			inner = t.Elem()
		}
		if open == json.Delim('{') {
			before := d.InputOffset()
			token, _ := d.Token()
			name := fmt.Sprint(token)
			at := before + int64(bytes.IndexByte(text[before:], '"')) + 1
			if t != nil && t.Kind() == reflect.Struct {
				var names []string
				if inner, names = field(t, name); inner == nil {
					return &Error{Byte: at, Words: fmt.Sprintf("unknown field %q", name), Expected: "one of " + strings.Join(names, ", "), Found: fmt.Sprintf("%q", name)}
				}
			}
			if seen[name] {
				return &Error{Byte: at, Words: fmt.Sprintf("%q is there twice, of which one would be lost", name), Expected: "each field once", Found: "another"}
			}
			seen[name] = true
		}
		if err := keys(text, d, inner); err != nil {
			return err
		}
	}
	_, _ = d.Token() // the end
	return nil
}

// field gives the type of the field of a struct of a key, nil if there is none, and the keys that there are.
func field(t reflect.Type, key string) (found reflect.Type, names []string) {
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name = cmp.Or(name, f.Name); !f.IsExported() || f.Anonymous || name == "-" {
			continue
		}
		if names = append(names, name); name == key {
			found = f.Type
		}
	}
	return found, names
}

// said writes what is wrong with a text for who wrote it.
func said(err error) error {
	var syntax *json.SyntaxError
	var value *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return &Error{Byte: syntax.Offset, Words: err.Error()}
	case errors.As(err, &value):
		field := value.Field[strings.LastIndexByte(value.Field, '.')+1:]
		return &Error{Byte: value.Offset, Words: field, Expected: kind(value.Type), Found: value.Value}
	case errors.Is(err, io.ErrUnexpectedEOF):
		return &Error{Words: "it ends within a value"}
	case errors.Is(err, io.EOF):
		return &Error{Words: "there is nothing in it"}
	}
	return &Error{Words: strings.TrimPrefix(err.Error(), "json: ")}
}

// kind says what a value of a type is in JSON.
func kind(t reflect.Type) string {
	switch k := t.Kind(); {
	case k >= reflect.Int && k <= reflect.Int64:
		return "a whole number"
	case k >= reflect.Uint && k <= reflect.Uint64:
		return fmt.Sprintf("a whole number from 0 to %d", uint64(math.MaxUint64)>>(64-t.Bits()))
	case k == reflect.Float32 || k == reflect.Float64:
		return "a number"
	case k == reflect.String:
		return "text"
	case k == reflect.Bool:
		return "true or false"
	case k == reflect.Slice || k == reflect.Array:
		return "a list"
	}
	return "an object"
}
