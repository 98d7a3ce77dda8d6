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

// Decode decodes a text into a pointer's value. Errors say at which byte, where that is known.
func Decode(text []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		if strings.Contains(err.Error(), "unknown field") { // what is no JSON is said before
			if key, at := unknown(text, json.NewDecoder(bytes.NewReader(text)), reflect.TypeOf(into)); at >= 0 {
				return fmt.Errorf("byte %d: unknown field %q", at+1, key)
			}
		}
		return said(err)
	}
	if key, at := repeated(text[:d.InputOffset()]); at >= 0 {
		return fmt.Errorf("byte %d: %s is there twice, of which one would be lost", at+1, key)
	}
	if _, err := d.Token(); err != io.EOF {
		return fmt.Errorf("byte %d: more text behind the value", d.InputOffset())
	}
	return nil
}

// repeated finds the first key that an object of a JSON value has twice, and where; -1 if there is none.
func repeated(text []byte) (key string, at int) {
	var open []map[string]bool // the keys of each object or list around
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '{', '[':
			open = append(open, nil)
		case '}', ']':
			open = open[:len(open)-1]
		case '"':
			from := i
			for i++; text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
			if rest := bytes.TrimLeft(text[i+1:], " \t\r\n"); len(rest) == 0 || rest[0] != ':' {
				continue // a value
			}
			top := &open[len(open)-1]
			if key = string(text[from : i+1]); (*top)[key] {
				return key, from
			}
			if *top == nil {
				*top = map[string]bool{}
			}
			(*top)[key] = true
		}
	}
	return "", -1
}

// unknown reads a value of a type from a text that is JSON, and finds the first key that the type does not have, and where; -1 if there is none.
func unknown(text []byte, d *json.Decoder, t reflect.Type) (key string, at int) {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t != nil && reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		t = nil // it reads all for itself
	}
	open, _ := d.Token() // without an error, as the text is JSON
	if open != json.Delim('{') && open != json.Delim('[') {
		return "", -1
	}
	for d.More() {
		inner := t
		if t != nil && (t.Kind() == reflect.Slice || t.Kind() == reflect.Array || t.Kind() == reflect.Map) {
			inner = t.Elem()
		}
		if open == json.Delim('{') {
			before := int(d.InputOffset())
			name, _ := d.Token()
			if known := true; t != nil && t.Kind() == reflect.Struct {
				if inner, known = field(t, fmt.Sprint(name)); !known {
					return fmt.Sprint(name), before + bytes.IndexByte(text[before:], '"')
				}
			}
		}
		if key, at = unknown(text, d, inner); at >= 0 {
			return key, at
		}
	}
	_, _ = d.Token() // the end
	return "", -1
}

// field gives the type of the field of a struct of a key.
func field(t reflect.Type, key string) (reflect.Type, bool) {
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.IsExported() && !f.Anonymous && strings.EqualFold(cmp.Or(name, f.Name), key) && name != "-" {
			return f.Type, true
		}
	}
	return nil, false
}

// said writes what is wrong with a text for who wrote it.
func said(err error) error {
	var syntax *json.SyntaxError
	var value *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return fmt.Errorf("byte %d: %w", syntax.Offset, err)
	case errors.As(err, &value):
		field := value.Field[strings.LastIndexByte(value.Field, '.')+1:]
		if field != "" {
			field += ": "
		}
		return fmt.Errorf("byte %d: %sexpected %s, found %s", value.Offset, field, kind(value.Type), value.Value)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("it ends within a value")
	case errors.Is(err, io.EOF):
		return errors.New("there is nothing in it")
	}
	return errors.New(strings.TrimPrefix(err.Error(), "json: "))
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
