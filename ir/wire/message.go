package wire

import (
	"cmp"
	"slices"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// message is the fields of one message, from the cursor on. Its bytes are well formed and the fields stand in the order of
// their numbers; see well.
type message struct {
	rest []byte
	num  protowire.Number // of the field at the cursor, 0 at the end
	typ  protowire.Type
	body []byte // of the field at the cursor, from behind its tag
}

// well checks that bytes are fields and gives them in the order of their numbers, which they already have unless a foreign
// writer made them; ok is false if they are no fields.
func well(b []byte) (out []byte, ok bool) {
	last, sorted := protowire.Number(0), true
	for rest := b; len(rest) > 0; {
		num, _, n := protowire.ConsumeField(rest)
		if n < 0 {
			return nil, false
		}
		sorted = sorted && num >= last
		last, rest = num, rest[n:]
	}
	if sorted {
		return b, true
	}
	type field struct {
		num protowire.Number
		raw []byte
	}
	var fields []field
	for rest := b; len(rest) > 0; {
		num, _, n := protowire.ConsumeField(rest)
		fields = append(fields, field{num, rest[:n]})
		rest = rest[n:]
	}
	slices.SortStableFunc(fields, func(x, y field) int { return cmp.Compare(x.num, y.num) })
	out = make([]byte, 0, len(b))
	for _, f := range fields {
		out = append(out, f.raw...)
	}
	return out, true
}

// start sets the cursor on the first field of well formed bytes.
func (m *message) start(b []byte) {
	m.rest = b
	m.load()
}

func (m *message) load() {
	if len(m.rest) == 0 {
		m.num = 0
		return
	}
	num, typ, n := protowire.ConsumeTag(m.rest)
	m.num, m.typ, m.body = num, typ, m.rest[n:]
}

// next moves behind the field at the cursor.
func (m *message) next() {
	m.rest = m.body[protowire.ConsumeFieldValue(m.num, m.typ, m.body):]
	m.load()
}

// find moves to a field with a number, passing over those with lower ones.
func (m *message) find(num protowire.Number) bool {
	for m.num != 0 && m.num < num {
		m.next()
	}
	return m.num == num
}

// bytes gives the content of the field at the cursor and moves on; ok is false if it has none.
func (m *message) bytes() (b []byte, ok bool) {
	if m.typ != protowire.BytesType {
		m.next()
		return nil, false
	}
	b, n := protowire.ConsumeBytes(m.body)
	m.rest = m.body[n:]
	m.load()
	return b, true
}

// varint gives the number at the cursor and moves on; ok is false if it is none.
func (m *message) varint() (v uint64, ok bool) {
	if m.typ != protowire.VarintType {
		m.next()
		return 0, false
	}
	v, n := protowire.ConsumeVarint(m.body)
	m.rest = m.body[n:]
	m.load()
	return v, true
}

// text gives the string at the cursor and moves on; ok is false if it is none, or not UTF-8.
func (m *message) text() (b []byte, ok bool) {
	b, ok = m.bytes()
	return b, ok && utf8.Valid(b)
}

// packed appends the integers of all fields with a number, packed or one by one; ok is false if something else is there.
func (m *message) packed(num protowire.Number, out []int64) (_ []int64, ok bool) {
	for m.find(num) {
		switch m.typ {
		case protowire.VarintType:
			v, _ := m.varint()
			out = append(out, protowire.DecodeZigZag(v))
		case protowire.BytesType:
			b, _ := m.bytes()
			for len(b) > 0 {
				v, n := protowire.ConsumeVarint(b)
				if n < 0 {
					return out, false
				}
				out = append(out, protowire.DecodeZigZag(v))
				b = b[n:]
			}
		default:
			return out, false
		}
	}
	return out, true
}
