// Package jsonfile reads JSON files that people and other programs write: of a bounded size, with no field that nobody knows and
// nothing behind the one value. It must not import anything of tapc.
package jsonfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// MaxBytes bounds a file.
const MaxBytes = 64 << 20

// Read gives the bytes of a file, which may be MaxBytes at most. Errors name the file.
func Read(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, MaxBytes+1))
	if err == nil && len(text) > MaxBytes {
		err = fmt.Errorf("%s: expected at most %d bytes of JSON", path, MaxBytes)
	}
	return text, err
}

// Decode decodes a text into a pointer's value. Errors say at which byte, where that is known.
func Decode(text []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			return fmt.Errorf("byte %d: %w", syntax.Offset, err)
		}
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return fmt.Errorf("byte %d: more text behind the value", d.InputOffset())
	}
	return nil
}
