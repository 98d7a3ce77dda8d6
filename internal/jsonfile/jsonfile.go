// Package jsonfile reads JSON files that people and other programs write: of a bounded size, with no field that nobody knows and
// nothing behind the one value. It must not import anything of tapc.
package jsonfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

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
