package onnx

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// message is a part of a file that holds one protobuf message.
type message struct {
	data []byte // of the whole file
	from int
	to   int
}

// field is one field of a message: a number, or a part of the file.
type field struct {
	num  protowire.Number
	wire protowire.Type
	bits uint64
	sub  message
}

var errWire = errors.New("it is not a protobuf message, or cut off")

// each calls f for every field, in order.
func (m message) each(f func(x field) error) error {
	for at := m.from; at < m.to; {
		num, typ, n := protowire.ConsumeTag(m.data[at:m.to])
		if n < 0 {
			return errWire
		}
		at += n
		x := field{num: num, wire: typ}
		switch typ {
		case protowire.VarintType:
			x.bits, n = protowire.ConsumeVarint(m.data[at:m.to])
		case protowire.Fixed32Type:
			var v uint32
			v, n = protowire.ConsumeFixed32(m.data[at:m.to])
			x.bits = uint64(v)
		case protowire.Fixed64Type:
			x.bits, n = protowire.ConsumeFixed64(m.data[at:m.to])
		case protowire.BytesType:
			var v []byte
			if v, n = protowire.ConsumeBytes(m.data[at:m.to]); n >= 0 {
				x.sub = message{m.data, at + n - len(v), at + n}
			}
		default:
			n = protowire.ConsumeFieldValue(num, typ, m.data[at:m.to])
		}
		if n < 0 {
			return errWire
		}
		at += n
		if err := f(x); err != nil {
			return err
		}
	}
	return nil
}

func (m message) bytes() []byte { return m.data[m.from:m.to:m.to] }

// text gives a string field; a field of another wire type is an error of the file.
func (x field) text(into *string) error {
	if x.wire != protowire.BytesType {
		return x.wrong("a string")
	}
	*into = string(x.sub.bytes())
	return nil
}

func (x field) number(into *int64) error {
	if x.wire != protowire.VarintType {
		return x.wrong("an integer")
	}
	*into = int64(x.bits)
	return nil
}

func (x field) wrong(expected string) error {
	return fmt.Errorf("field %d: expected %s, found wire type %d", x.num, expected, x.wire)
}

// message gives the message that a field holds.
func (x field) message() (message, error) {
	if x.wire != protowire.BytesType {
		return message{}, x.wrong("a message")
	}
	return x.sub, nil
}

// ints appends the integers of a repeated field, packed or not.
func (x field) ints(into []int64) ([]int64, error) {
	switch x.wire {
	case protowire.VarintType:
		return append(into, int64(x.bits)), nil
	case protowire.BytesType:
		for b := x.sub.bytes(); len(b) > 0; {
			v, n := protowire.ConsumeVarint(b)
			if n < 0 {
				return nil, errWire
			}
			into = append(into, int64(v))
			b = b[n:]
		}
		return into, nil
	}
	return nil, x.wrong("integers")
}

// floats appends the numbers of a repeated field of 32-bit floats, packed or not.
func (x field) floats(into []float64) ([]float64, error) {
	switch x.wire {
	case protowire.Fixed32Type:
		return append(into, float64(math.Float32frombits(uint32(x.bits)))), nil
	case protowire.BytesType:
		b := x.sub.bytes()
		if len(b)%4 != 0 {
			return nil, errWire
		}
		for ; len(b) > 0; b = b[4:] {
			into = append(into, float64(math.Float32frombits(binary.LittleEndian.Uint32(b))))
		}
		return into, nil
	}
	return nil, x.wrong("floats")
}
