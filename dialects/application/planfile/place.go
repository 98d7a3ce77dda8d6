package planfile

import (
	"bytes"
	"encoding/json"
	"fmt"

	"tensortapestry.org/tapc/ir/diag"
)

// at gives the place of a value, by its JSON pointer.
func (r *reader) at(pointer string) diag.Location {
	if r.places == nil {
		r.places = map[string]int{}
		d := json.NewDecoder(bytes.NewReader(r.text))
		r.value(d, "")
	}
	loc := diag.Location{File: r.path, Pointer: pointer}
	if at, ok := r.places[pointer]; ok {
		loc.Line, loc.Column = r.line(at)
	}
	return loc
}

// line gives the line and the column of a byte.
func (r *reader) line(at int) (line, column int) {
	before := r.text[:at]
	return bytes.Count(before, []byte("\n")) + 1, at - bytes.LastIndexByte(before, '\n')
}

// null gives the place of the first null in the text, which no field of a plan is; -1 if there is none.
func (r *reader) null() int {
	d := json.NewDecoder(bytes.NewReader(r.text))
	for {
		token, err := d.Token()
		if err != nil {
			return -1
		}
		if token == nil {
			return int(d.InputOffset()) - len("null")
		}
	}
}

// value notes where a value and those in it begin. The text is JSON: it was decoded before.
func (r *reader) value(d *json.Decoder, pointer string) {
	at := int(d.InputOffset())
	at += len(r.text[at:]) - len(bytes.TrimLeft(r.text[at:], " \t\r\n,:"))
	r.places[pointer] = at
	token, err := d.Token()
	if delim, ok := token.(json.Delim); err != nil || !ok || delim != '{' && delim != '[' {
		return
	}
	for i := 0; d.More(); i++ {
		inner := fmt.Sprintf("%s/%d", pointer, i)
		if token == json.Delim('{') {
			key, _ := d.Token()
			inner = fmt.Sprintf("%s/%v", pointer, key)
		}
		r.value(d, inner)
	}
	_, _ = d.Token()
}
