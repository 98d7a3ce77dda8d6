package launchlist

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
)

// Kind is the type of a kernel's argument; its text is the key that holds the value in JSON.
type Kind string

// The kinds of argument. The 16-bit floats are given by their bits.
const (
	KindBuffer Kind = "buffer"
	KindI32    Kind = "i32"
	KindU32    Kind = "u32"
	KindI64    Kind = "i64"
	KindU64    Kind = "u64"
	KindF32    Kind = "f32"
	KindF64    Kind = "f64"
	KindBits16 Kind = "bits16"
	KindBits8  Kind = "bits8"
)

// Arg is one argument: the address of a byte of a buffer, or a scalar by its bits. In JSON it is an
// object with one key, its kind ({"i32": -1}, {"f32": 0.5}, {"f32": "NaN"}), and for a buffer a
// second, offset ({"buffer": "x", "offset": 64}).
type Arg struct {
	Kind   Kind
	Bits   uint64 // of a scalar, in the low Size bytes; the bytes above are 0
	Buffer string
	Offset int64 // bytes into the buffer
}

// At is the address of the buffer of that name, offset bytes in.
func At(buffer string, offset int64) Arg {
	return Arg{Kind: KindBuffer, Buffer: buffer, Offset: offset}
}

// I32 is an int argument.
func I32(v int32) Arg { return Arg{Kind: KindI32, Bits: uint64(uint32(v))} }

// U32 is an unsigned int argument.
func U32(v uint32) Arg { return Arg{Kind: KindU32, Bits: uint64(v)} }

// I64 is a long long argument.
func I64(v int64) Arg { return Arg{Kind: KindI64, Bits: uint64(v)} }

// U64 is an unsigned long long argument.
func U64(v uint64) Arg { return Arg{Kind: KindU64, Bits: v} }

// F32 is a float argument.
func F32(v float32) Arg { return Arg{Kind: KindF32, Bits: uint64(math.Float32bits(v))} }

// F64 is a double argument.
func F64(v float64) Arg { return Arg{Kind: KindF64, Bits: math.Float64bits(v)} }

// Bits16 is an argument of a 2-byte type, such as __half.
func Bits16(v uint16) Arg { return Arg{Kind: KindBits16, Bits: uint64(v)} }

// Bits8 is an argument of a 1-byte type, such as bool.
func Bits8(v uint8) Arg { return Arg{Kind: KindBits8, Bits: uint64(v)} }

// Size is the bytes that the parameter takes, 0 for an unknown kind.
func (a Arg) Size() int {
	switch a.Kind {
	case KindBits8:
		return 1
	case KindBits16:
		return 2
	case KindI32, KindU32, KindF32:
		return 4
	case KindBuffer, KindI64, KindU64, KindF64:
		return 8
	}
	return 0
}

// MarshalJSON writes floats in the shortest form that reads back the same, and those that JSON has no
// number for as strings.
func (a Arg) MarshalJSON() ([]byte, error) {
	var value string
	switch a.Kind {
	case KindBuffer:
		quoted, err := json.Marshal(a.Buffer)
		if err != nil || a.Offset == 0 {
			return fmt.Appendf(nil, `{"buffer":%s}`, quoted), err
		}
		return fmt.Appendf(nil, `{"buffer":%s,"offset":%d}`, quoted, a.Offset), nil
	case KindI32:
		value = strconv.FormatInt(int64(int32(a.Bits)), 10)
	case KindI64:
		value = strconv.FormatInt(int64(a.Bits), 10)
	case KindU32, KindU64, KindBits16, KindBits8:
		value = strconv.FormatUint(a.Bits, 10)
	case KindF32:
		value = floatText(float64(math.Float32frombits(uint32(a.Bits))), 32)
	case KindF64:
		value = floatText(math.Float64frombits(a.Bits), 64)
	default:
		return nil, fmt.Errorf("argument of unknown kind %q", a.Kind)
	}
	return fmt.Appendf(nil, `{"%s":%s}`, a.Kind, value), nil
}

func floatText(v float64, bits int) string {
	text := strconv.FormatFloat(v, 'g', -1, bits)
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return strconv.Quote(text)
	}
	return text
}

// UnmarshalJSON reads what MarshalJSON writes. Numbers outside the kind's range are errors.
func (a *Arg) UnmarshalJSON(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return fmt.Errorf("argument %s: expected an object such as {\"i32\": 1}", text)
	}
	*a = Arg{}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return err
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return err
		}
		if err := a.field(key.(string), value); err != nil {
			return fmt.Errorf("argument %s: %w", text, err)
		}
	}
	if a.Kind == "" {
		return fmt.Errorf("argument %s: no kind given", text)
	}
	if a.Kind != KindBuffer && a.Offset != 0 {
		return fmt.Errorf("argument %s: an offset without a buffer", text)
	}
	return nil
}

func (a *Arg) field(key string, value json.RawMessage) error {
	if key == "offset" {
		return json.Unmarshal(value, &a.Offset)
	}
	if a.Kind != "" {
		return fmt.Errorf("both %s and %s given", a.Kind, key)
	}
	a.Kind = Kind(key)
	if a.Kind == KindBuffer {
		return json.Unmarshal(value, &a.Buffer)
	}
	bits, err := parseScalar(a.Kind, string(bytes.Trim(value, `"`)))
	a.Bits = bits
	return err
}

func parseScalar(kind Kind, text string) (uint64, error) {
	size := Arg{Kind: kind}.Size() * 8
	switch kind {
	case KindI32, KindI64:
		v, err := strconv.ParseInt(text, 10, size)
		return uint64(v) & (1<<size - 1), err
	case KindU32, KindU64, KindBits16, KindBits8:
		return strconv.ParseUint(text, 10, size)
	case KindF32:
		v, err := strconv.ParseFloat(text, size)
		return uint64(math.Float32bits(float32(v))), err
	case KindF64:
		v, err := strconv.ParseFloat(text, size)
		return math.Float64bits(v), err
	}
	return 0, errors.New("unknown kind " + strconv.Quote(string(kind)))
}
