package tensorfile

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sort"
	"strconv"

	"tensortapestry.org/tapc/ir/scalar"
)

// maxSafetensorsHeader is the format's own bound.
const maxSafetensorsHeader = 100 << 20

// safetensorsTags are the format's names of the dtypes that it has.
var safetensorsTags = map[scalar.DType]string{
	scalar.Bool: "BOOL",
	scalar.Int8: "I8", scalar.Int16: "I16", scalar.Int32: "I32", scalar.Int64: "I64",
	scalar.UInt8: "U8", scalar.UInt16: "U16", scalar.UInt32: "U32", scalar.UInt64: "U64",
	scalar.Float16: "F16", scalar.BFloat16: "BF16", scalar.Float32: "F32", scalar.Float64: "F64",
	scalar.Float8E4M3: "F8_E4M3", scalar.Float8E5M2: "F8_E5M2", scalar.Float8E8M0: "F8_E8M0",
	scalar.Float8E4M3FNUZ: "F8_E4M3FNUZ", scalar.Float8E5M2FNUZ: "F8_E5M2FNUZ",
	scalar.Complex64: "C64",
}

func listSafetensors(from io.ReaderAt, size int64) ([]entry, error) {
	header := make([]byte, 8)
	if err := readAt(from, header, 0); err != nil {
		return nil, err
	}
	length, most := binary.LittleEndian.Uint64(header), uint64(min(size-8, maxSafetensorsHeader))
	if length > most {
		return nil, fmt.Errorf(".safetensors header length: expected at most %d, found %d", most, length)
	}
	header = make([]byte, length)
	if err := readAt(from, header, 8); err != nil {
		return nil, err
	}
	data := 8 + int64(length)
	entries, err := parseSafetensors(header, size-data)
	if err != nil {
		return nil, err
	}
	for i := range entries {
		e := &entries[i]
		e.info.Offset += data
		offset := e.info.Offset
		e.read = func(data []byte) error { return readAt(from, data, offset) }
	}
	return entries, nil
}

// parseSafetensors reads the header's JSON object; room is the number of bytes after it, all of which must be tensors. Offsets
// are from the end of the header.
func parseSafetensors(header []byte, room int64) ([]entry, error) {
	j := &object{json.NewDecoder(bytes.NewReader(header))}
	j.UseNumber()
	var entries []entry
	metadata := false
	err := j.members(func(name string) error {
		if name == "__metadata__" {
			if metadata {
				return errors.New("expected one __metadata__, found two")
			}
			metadata = true
			return j.members(func(string) error { _, err := j.text("a string in the metadata"); return err })
		}
		e, err := j.tensor(name, room)
		if err != nil {
			return fmt.Errorf("tensor %q: %w", name, err)
		}
		entries = append(entries, e)
		return nil
	})
	if err == nil && len(bytes.TrimLeft(header[j.InputOffset():], " \n\t\r")) > 0 {
		err = fmt.Errorf("expected nothing after the header's object, found %q", header[j.InputOffset():][:1])
	}
	if err != nil {
		return nil, fmt.Errorf("bad .safetensors header: %w", err)
	}
	return entries, checkPlaces(entries, room)
}

// object reads JSON token by token, so that a duplicate is seen and nothing is built that was not asked for.
type object struct{ *json.Decoder }

func (j *object) token(what string) (json.Token, error) {
	t, err := j.Token()
	if err == io.EOF {
		return nil, fmt.Errorf("expected %s, found the end", what)
	}
	if err != nil {
		return nil, fmt.Errorf("expected %s: %w", what, err)
	}
	return t, nil
}

func (j *object) delim(d json.Delim) error {
	t, err := j.token(d.String())
	if err == nil && t != d {
		err = fmt.Errorf("expected %s, found %v", d, t)
	}
	return err
}

func (j *object) text(what string) (string, error) {
	t, err := j.token(what)
	if err != nil {
		return "", err
	}
	s, ok := t.(string)
	if !ok {
		return "", fmt.Errorf("expected %s, found %v", what, t)
	}
	return s, nil
}

// members calls visit for each key of an object; visit reads the value.
func (j *object) members(visit func(key string) error) error {
	if err := j.delim('{'); err != nil {
		return err
	}
	for j.More() {
		key, err := j.text("a key")
		if err == nil {
			err = visit(key)
		}
		if err != nil {
			return err
		}
	}
	return j.delim('}')
}

// numbers reads an array of at most most whole numbers.
func (j *object) numbers(what string, most int) ([]int64, error) {
	if err := j.delim('['); err != nil {
		return nil, err
	}
	list := []int64{}
	for j.More() {
		t, err := j.token("a whole number")
		if err != nil {
			return nil, err
		}
		number, _ := t.(json.Number)
		value, err := strconv.ParseUint(string(number), 10, 63)
		if err != nil {
			return nil, fmt.Errorf("%s: expected a whole number below 2^63, found %v", what, t)
		}
		if len(list) == most {
			return nil, fmt.Errorf("%s: expected at most %d numbers, found more", what, most)
		}
		list = append(list, int64(value))
	}
	return list, j.delim(']')
}

// tensor reads the description of one tensor and checks it.
func (j *object) tensor(name string, room int64) (entry, error) {
	var l layout
	var tag string
	var offsets []int64
	seen := map[string]bool{}
	err := j.members(func(key string) (err error) {
		if seen[key] {
			return fmt.Errorf("expected one %q, found two", key)
		}
		seen[key] = true
		switch key {
		case "dtype":
			tag, err = j.text("a dtype")
		case "shape":
			l.shape, err = j.numbers(key, maxRank)
		case "data_offsets":
			offsets, err = j.numbers(key, 2)
		default:
			err = fmt.Errorf("expected dtype, shape and data_offsets, found %q", key)
		}
		return err
	})
	if err != nil {
		return entry{}, err
	}
	if len(seen) != 3 || len(offsets) != 2 {
		return entry{}, fmt.Errorf("expected dtype, shape and two data_offsets, found %d of the three", len(seen))
	}
	if l.dtype, err = tagDType(tag); err != nil {
		return entry{}, err
	}
	if l.bytes, err = byteSize(l.dtype, l.shape); err != nil {
		return entry{}, err
	}
	begin, end := offsets[0], offsets[1]
	if begin > end || end > room {
		return entry{}, fmt.Errorf("truncated or damaged: expected data_offsets within 0 to %d, found %d to %d", room, begin, end)
	}
	if end-begin != l.bytes {
		return entry{}, fmt.Errorf("expected %d bytes for %s%v, found data_offsets for %d", l.bytes, l.dtype, l.shape, end-begin)
	}
	return entry{info: Info{Name: name, DType: l.dtype, Shape: l.shape, Offset: begin, Length: l.bytes}, layout: l}, nil
}

func tagDType(tag string) (scalar.DType, error) {
	for _, d := range scalar.DTypes() {
		if known, ok := safetensorsTags[d]; ok && known == tag {
			return d, nil
		}
	}
	return 0, fmt.Errorf("dtype: expected BOOL, I8 to I64, U8 to U64, F8_E4M3, F8_E5M2, F8_E8M0, F8_E4M3FNUZ, F8_E5M2FNUZ, F16, BF16, F32, F64 or C64, found %q", tag)
}

// checkPlaces makes sure that the tensors fill the room, without holes or overlaps, as the format demands.
func checkPlaces(entries []entry, room int64) error {
	sort.Slice(entries, func(i, j int) bool {
		a, b := entries[i].info, entries[j].info
		if a.Offset != b.Offset {
			return a.Offset < b.Offset
		}
		return a.Length < b.Length
	})
	at := int64(0)
	for _, e := range entries {
		if e.info.Offset != at {
			return fmt.Errorf("tensor %q: expected its bytes to begin at %d, where the tensor before ends, found %d", e.info.Name, at, e.info.Offset)
		}
		at += e.info.Length
	}
	if at != room {
		return fmt.Errorf("expected %d bytes of tensors, found %d", at, room)
	}
	return nil
}
