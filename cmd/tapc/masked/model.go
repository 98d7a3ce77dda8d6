package masked

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"

	"tensortapestry.org/tapc/frontends/onnx"
	"tensortapestry.org/tapc/ir/scalar"
)

// maxDepth bounds messages in messages.
const maxDepth = 200

var errModel = errors.New("it is not a protobuf message, or cut off")

// Model writes an ONNX model again with masked tensors, without what nobody needs who compiles it: texts for people and metadata, where exporters
// write folders of the machine, and fields that ONNX does not have. text may change names. Parts are what is in files beside it.
func Model(data []byte, text func(string) string) (out []byte, parts []Part, err error) {
	m := &model{text: text}
	out, err = m.message(modelMessage(), data, 0)
	return out, m.parts, err
}

// model is one model that is written again.
type model struct {
	text  func(string) string
	parts []Part
}

// schema says what becomes of the fields of a message; fields that it does not name are left out.
type schema map[protowire.Number]part

// part is what becomes of a field.
type part struct {
	how   func(m *model, data []byte, depth int) ([]byte, error) // for messages; nil keeps the field
	names bool                                                   // it is a string, which may be changed
}

var (
	kept, name = part{}, part{names: true}
	tensors    = part{how: (*model).tensor}
	indices    = part{how: (*model).indices}
)

// within is a message inside another. Messages name each other, so that schemas are functions.
func within(s func() schema) part {
	return part{how: func(m *model, data []byte, depth int) ([]byte, error) { return m.message(s(), data, depth) }}
}

func modelMessage() schema {
	return schema{1: kept, 2: kept, 3: kept, 4: name, 5: kept, 7: within(graphMessage), 8: kept, 25: within(functionMessage)}
}

func graphMessage() schema {
	return schema{1: within(nodeMessage), 2: name, 5: tensors, 11: within(portMessage), 12: within(portMessage), 13: within(portMessage), 14: kept, 15: within(sparseMessage)}
}

func nodeMessage() schema {
	return schema{1: name, 2: name, 3: name, 4: name, 5: part{how: (*model).attribute}, 7: name, 8: name}
}

func functionMessage() schema {
	return schema{1: name, 4: name, 5: name, 6: name, 7: within(nodeMessage), 9: kept, 10: name, 11: part{how: (*model).attribute}, 12: within(portMessage), 13: name}
}

func portMessage() schema {
	return schema{1: name, 2: kept}
}

func sparseMessage() schema {
	return schema{1: tensors, 2: indices, 3: kept}
}

// message writes a message again.
func (m *model) message(s schema, data []byte, depth int) (out []byte, err error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("more than %d messages in each other", maxDepth)
	}
	err = each(data, func(num protowire.Number, typ protowire.Type, value, whole []byte) error {
		f, ok := s[num]
		switch {
		case !ok:
		case f.how != nil && typ == protowire.BytesType:
			inner, err := f.how(m, value, depth+1)
			if err != nil {
				return err
			}
			out = protowire.AppendBytes(protowire.AppendTag(out, num, typ), inner)
		case f.names && typ == protowire.BytesType:
			out = protowire.AppendString(protowire.AppendTag(out, num, typ), m.text(string(value)))
		default:
			out = append(out, whole...)
		}
		return nil
	})
	return out, err
}

// each calls f for each field, with its content and with all of it.
func each(data []byte, f func(num protowire.Number, typ protowire.Type, value, whole []byte) error) error {
	for len(data) > 0 {
		num, typ, head := protowire.ConsumeTag(data)
		if head < 0 {
			return errModel
		}
		n := protowire.ConsumeFieldValue(num, typ, data[head:])
		if n < 0 {
			return errModel
		}
		value := data[head : head+n]
		if typ == protowire.BytesType {
			value, _ = protowire.ConsumeBytes(value)
		}
		if err := f(num, typ, value, data[:head+n]); err != nil {
			return err
		}
		data = data[head+n:]
	}
	return nil
}

// Fields of a tensor.
const (
	tensorType     = 2
	tensorName     = 8
	tensorRaw      = 9
	tensorExternal = 13
	tensorLocation = 14
)

// tensor writes a tensor again. One whose elements are elsewhere is noted; one that can not be read has no elements.
func (m *model) tensor(data []byte, _ int) (out []byte, err error) {
	head, outside, err := m.head(data)
	if err != nil || outside {
		return head, err
	}
	_, t, err := onnx.ReadTensor(data)
	if err != nil {
		return head, nil
	}
	if len(t.Data) == 0 || Small(t.DType, len(t.Data)/t.DType.Size()) {
		return m.indices(data, 0)
	}
	plain, err := onnx.WriteTensor("", Tensor(t))
	if err != nil {
		return head, nil
	}
	err = each(plain, func(num protowire.Number, _ protowire.Type, _, whole []byte) error {
		if num == tensorRaw {
			head = append(head, whole...)
		}
		return nil
	})
	return head, err
}

// indices writes a tensor as it is, without texts.
func (m *model) indices(data []byte, _ int) (out []byte, err error) {
	err = each(data, func(num protowire.Number, _ protowire.Type, value, whole []byte) error {
		switch {
		case num == tensorName:
			out = protowire.AppendString(protowire.AppendTag(out, num, protowire.BytesType), m.text(string(value)))
		case num < 12:
			out = append(out, whole...)
		}
		return nil
	})
	return out, err
}

// head writes what a tensor has besides its elements. If these are in a file, the place of them is kept and noted.
func (m *model) head(data []byte) (out []byte, outside bool, err error) {
	p, length := Part{}, int64(-1)
	var elem uint64
	err = each(data, func(num protowire.Number, _ protowire.Type, value, whole []byte) error {
		switch num {
		case 1:
			p.Shape = dims(p.Shape, value)
		case tensorType:
			elem, _ = protowire.ConsumeVarint(value)
		case tensorName:
			out = protowire.AppendString(protowire.AppendTag(out, num, protowire.BytesType), m.text(string(value)))
			return nil
		case tensorExternal:
			outside = true
			p.external(value, &length)
		case tensorLocation:
		default:
			return nil
		}
		out = append(out, whole...)
		return nil
	})
	if outside && p.File != "" {
		if p.DType = elementType(elem); p.DType.Bits() < 8 && length >= 0 { // several to a byte, which is a code
			p.DType, p.Shape = scalar.UInt8, []int64{length}
		}
		m.parts = append(m.parts, p)
	}
	return out, outside, err
}

func elementType(n uint64) scalar.DType {
	name, ok := onnx.TypeName(int64(n))
	if d, err := scalar.ParseDType(name); ok && err == nil {
		return d
	}
	return scalar.Invalid
}

func dims(shape []int64, value []byte) []int64 {
	for len(value) > 0 {
		v, n := protowire.ConsumeVarint(value)
		if n < 0 {
			return nil
		}
		shape, value = append(shape, int64(v)), value[n:]
	}
	return shape
}

// external reads one entry of where elements are.
func (p *Part) external(data []byte, length *int64) {
	var key, value string
	_ = each(data, func(num protowire.Number, _ protowire.Type, v, _ []byte) error { // what is no entry says nothing
		if num == 1 {
			key = string(v)
		} else {
			value = string(v)
		}
		return nil
	})
	switch n, _ := strconv.ParseInt(value, 10, 64); key {
	case "location":
		p.File = value
	case "offset":
		p.Offset = n
	case "length":
		*length = n
	}
}

// attribute writes an attribute again: numbers of long lists are others, and long texts are left out.
func (m *model) attribute(data []byte, depth int) (out []byte, err error) {
	floats, lo, hi := bounds32(data)
	fields, words, source := attributeMessage(), 0, rand.New(rand.NewPCG(1, 2))
	err = each(data, func(num protowire.Number, typ protowire.Type, value, whole []byte) error {
		f, ok := fields[num]
		switch {
		case !ok || num == attributeText && len(value) > longText:
			return nil
		case num == attributeFloats && floats > SmallFloats:
			whole = drawn32(whole, len(whole)-len(value), source, lo, hi)
		case num == attributeTexts:
			if words++; words > SmallOthers || len(value) > longText {
				whole = protowire.AppendString(protowire.AppendTag(nil, num, typ), fmt.Sprint("word", words))
			}
		case f.how != nil && typ == protowire.BytesType:
			inner, err := f.how(m, value, depth+1)
			if err != nil {
				return err
			}
			whole = protowire.AppendBytes(protowire.AppendTag(nil, num, typ), inner)
		case f.names && typ == protowire.BytesType:
			whole = protowire.AppendString(protowire.AppendTag(nil, num, typ), m.text(string(value)))
		}
		out = append(out, whole...)
		return nil
	})
	return out, err
}

// Fields of an attribute, and the bytes up to which a text stays.
const (
	attributeText   = 4
	attributeFloats = 7
	attributeTexts  = 9
	longText        = 256
)

func attributeMessage() schema {
	return schema{1: name, 2: kept, 3: kept, attributeText: name, 5: tensors, 6: within(graphMessage), attributeFloats: kept, 8: kept, attributeTexts: name,
		10: tensors, 11: within(graphMessage), 14: kept, 15: kept, 20: kept, 21: name, 22: within(sparseMessage), 23: within(sparseMessage)}
}

// bounds32 counts the numbers of an attribute's list, and gives the least and the greatest.
func bounds32(data []byte) (n int, lo, hi float64) {
	lo, hi = math.Inf(1), math.Inf(-1)
	_ = each(data, func(num protowire.Number, _ protowire.Type, value, _ []byte) error { // it is read again, with the error
		if num != attributeFloats {
			return nil
		}
		for ; len(value) >= 4; value = value[4:] {
			n++
			if x := float64(math.Float32frombits(binary.LittleEndian.Uint32(value))); !math.IsNaN(x) && !math.IsInf(x, 0) {
				lo, hi = min(lo, x), max(hi, x)
			}
		}
		return nil
	})
	if lo > hi {
		lo, hi = 0, 1
	}
	return n, lo, hi
}

// drawn32 gives a field with other numbers behind its head.
func drawn32(whole []byte, head int, source *rand.Rand, lo, hi float64) []byte {
	out := append([]byte(nil), whole...)
	for rest := out[head:]; len(rest) >= 4; rest = rest[4:] {
		x := source.Float64()
		binary.LittleEndian.PutUint32(rest, math.Float32bits(float32(lo*(1-x)+hi*x)))
	}
	return out
}
