package tensorfile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"strings"

	"tensortapestry.org/tapc/ir/scalar"
)

const npyMagic = "\x93NUMPY"

// maxNPYHeader bounds the header of a .npy, which is a dozen numbers.
const maxNPYHeader = 65536

// npyTypes are NumPy's type strings without their byte order, by dtype. bfloat16 and the 8-bit floats have none.
var npyTypes = map[scalar.DType]string{
	scalar.Bool: "b1",
	scalar.Int8: "i1", scalar.Int16: "i2", scalar.Int32: "i4", scalar.Int64: "i8",
	scalar.UInt8: "u1", scalar.UInt16: "u2", scalar.UInt32: "u4", scalar.UInt64: "u8",
	scalar.Float16: "f2", scalar.Float32: "f4", scalar.Float64: "f8",
	scalar.Complex64: "c8", scalar.Complex128: "c16",
}

func listNPY(from io.ReaderAt, size int64) ([]entry, error) {
	l, err := readNPYHeader(io.NewSectionReader(from, 0, size), size)
	if err != nil {
		return nil, err
	}
	info := Info{DType: l.dtype, Shape: l.shape, Offset: l.header, Length: l.bytes}
	if !l.direct() {
		info.Offset = -1
	}
	return []entry{{info, l, func(data []byte) error { return readAt(from, data, l.header) }}}, nil
}

// direct tells whether the file's bytes are the tensor's.
func (l layout) direct() bool {
	return !(l.bigEndian && l.dtype.Size() > 1) && !(l.fortran && len(l.shape) > 1)
}

func readAt(from io.ReaderAt, data []byte, offset int64) error {
	n, err := from.ReadAt(data, offset)
	if n == len(data) {
		return nil
	}
	if err == io.EOF {
		return fmt.Errorf("truncated while it was read: expected %d bytes at %d, found %d", len(data), offset, n)
	}
	return err
}

// readNPYHeader reads the header of a .npy of total bytes, and checks that as many bytes follow it as its shape calls for.
func readNPYHeader(r io.Reader, total int64) (layout, error) {
	text, before, err := readNPYText(r, total)
	if err != nil {
		return layout{}, err
	}
	l, err := parseNPYHeader(text)
	if err != nil {
		return layout{}, err
	}
	l.header = before + int64(len(text))
	have := total - l.header
	if have != l.bytes {
		word := "truncated"
		if have > l.bytes {
			word = "too long"
		}
		return layout{}, fmt.Errorf("%s: expected %d bytes of data for %s%v, found %d", word, l.bytes, l.dtype, l.shape, have)
	}
	return l, nil
}

// readNPYText gives the header's literal and the number of bytes before it.
func readNPYText(r io.Reader, total int64) (text string, before int64, err error) {
	start := make([]byte, 12)
	n, err := io.ReadFull(r, start[:10])
	if err != nil {
		return "", 0, fmt.Errorf("truncated: expected a .npy header, found %d bytes", n)
	}
	if string(start[:6]) != npyMagic {
		return "", 0, fmt.Errorf("not a .npy file: expected it to begin with %q, found %q", npyMagic, start[:6])
	}
	length := int64(binary.LittleEndian.Uint16(start[8:]))
	before = 10
	switch start[6] {
	case 1:
	case 2, 3:
		if _, err := io.ReadFull(r, start[10:]); err != nil {
			return "", 0, fmt.Errorf("truncated: expected a .npy header, found 10 bytes")
		}
		length = int64(binary.LittleEndian.Uint32(start[8:]))
		before = 12
	default:
		return "", 0, fmt.Errorf(".npy version: expected 1, 2 or 3, found %d.%d", start[6], start[7])
	}
	if length > maxNPYHeader {
		return "", 0, fmt.Errorf(".npy header length: expected at most %d bytes, found %d", maxNPYHeader, length)
	}
	if length > total-before {
		return "", 0, fmt.Errorf("truncated: expected a .npy header of %d bytes, found %d", length, total-before)
	}
	header := make([]byte, length)
	if n, err := io.ReadFull(r, header); err != nil {
		return "", 0, fmt.Errorf("truncated: expected a .npy header of %d bytes, found %d", length, n)
	}
	return string(header), before, nil
}

// literal is a cursor over the Python literal of a header.
type literal struct{ rest string }

func (p *literal) space() { p.rest = strings.TrimLeft(p.rest, " \n\t\r") }

func (p *literal) bad(expected string) error {
	found := "the end"
	if p.rest != "" {
		found = fmt.Sprintf("%q", p.rest[:min(len(p.rest), 12)])
	}
	return fmt.Errorf("bad .npy header: expected %s, found %s", expected, found)
}

// take takes c if it is next.
func (p *literal) take(c string) bool {
	p.space()
	rest, found := strings.CutPrefix(p.rest, c)
	p.rest = rest
	return found
}

// str takes a quoted string without escapes.
func (p *literal) str(what string) (string, error) {
	p.space()
	if p.rest == "" || (p.rest[0] != '\'' && p.rest[0] != '"') {
		return "", p.bad(what)
	}
	text, rest, found := strings.Cut(p.rest[1:], p.rest[:1])
	if !found || strings.Contains(text, `\`) {
		return "", p.bad(what)
	}
	p.rest = rest
	return text, nil
}

func (p *literal) dimension() (int64, error) {
	p.space()
	digits := p.rest[:len(p.rest)-len(strings.TrimLeft(p.rest, "0123456789"))]
	if digits == "" {
		return 0, p.bad("a dimension")
	}
	value := uint64(0)
	for _, d := range digits {
		value = value*10 + uint64(d-'0')
		if len(digits) > 19 || value > 1<<63-1 {
			return 0, p.bad("a dimension below 2^63")
		}
	}
	p.rest = strings.TrimPrefix(p.rest[len(digits):], "L") // Python 2 wrote long integers so
	return int64(value), nil
}

func (p *literal) shape() ([]int64, error) {
	if !p.take("(") {
		return nil, p.bad("a shape in parentheses")
	}
	shape := []int64{}
	for !p.take(")") {
		if len(shape) == maxRank {
			return nil, p.bad("at most 64 dimensions")
		}
		n, err := p.dimension()
		if err != nil {
			return nil, err
		}
		shape = append(shape, n)
		if !p.take(",") {
			if len(shape) == 1 || !p.take(")") {
				return nil, p.bad(`"," or ")" in the shape`)
			}
			break
		}
	}
	return shape, nil
}

func (p *literal) flag() (bool, error) {
	if p.take("True") {
		return true, nil
	}
	if p.take("False") {
		return false, nil
	}
	return false, p.bad("True or False for 'fortran_order'")
}

// parseNPYHeader reads the dictionary: 'descr', 'fortran_order' and 'shape', once each, in any order.
func parseNPYHeader(text string) (layout, error) {
	p, l, descr := literal{text}, layout{}, ""
	seen := map[string]bool{}
	if !p.take("{") {
		return l, p.bad(`"{"`)
	}
	for !p.take("}") {
		key, err := p.str("a key")
		if err != nil {
			return l, err
		}
		if seen[key] {
			return l, fmt.Errorf("bad .npy header: expected 'descr', 'fortran_order' and 'shape' once each, found '%s' twice", key)
		}
		seen[key] = true
		if !p.take(":") {
			return l, p.bad(`":"`)
		}
		switch key {
		case "descr":
			descr, err = p.str("a type string such as '<f4' for 'descr'")
		case "fortran_order":
			l.fortran, err = p.flag()
		case "shape":
			l.shape, err = p.shape()
		default:
			err = fmt.Errorf("bad .npy header: expected 'descr', 'fortran_order' and 'shape', found %q", key)
		}
		if err != nil {
			return l, err
		}
		if !p.take(",") {
			if !p.take("}") {
				return l, p.bad(`"," or "}"`)
			}
			break
		}
	}
	if p.space(); p.rest != "" {
		return l, p.bad(`nothing after "}"`)
	}
	if len(seen) != 3 {
		return l, fmt.Errorf("bad .npy header: expected 'descr', 'fortran_order' and 'shape', found %d of them", len(seen))
	}
	var err error
	if l.dtype, l.bigEndian, err = parseDescr(descr); err != nil {
		return l, err
	}
	l.bytes, err = byteSize(l.dtype, l.shape)
	return l, err
}

// parseDescr reads a NumPy type string: byte order, kind and size.
func parseDescr(descr string) (dtype scalar.DType, bigEndian bool, err error) {
	kind := descr
	if descr != "" && strings.Contains("<>=|", descr[:1]) {
		kind, bigEndian = descr[1:], descr[0] == '>'
	}
	for _, d := range scalar.DTypes() {
		if npyTypes[d] == kind && kind != "" {
			return d, bigEndian, nil
		}
	}
	if strings.HasPrefix(kind, "V") {
		return 0, false, fmt.Errorf("dtype: raw records '%s' have no element type (bfloat16 and float8 are kept so); use .safetensors for them", descr)
	}
	return 0, false, fmt.Errorf("dtype: expected a boolean, integer, float or complex type such as '<f4', found %q", descr)
}

// npyHeader is the header as NumPy writes it, padded with spaces so that the data begin at a multiple of 64.
func npyHeader(t Tensor) ([]byte, error) {
	kind, known := npyTypes[held(t.DType)]
	if !known {
		return nil, fmt.Errorf("expected a dtype that .npy can hold, found %s; use .safetensors", t.DType)
	}
	if len(t.Shape) > maxRank {
		return nil, fmt.Errorf("expected at most %d dimensions, found %d", maxRank, len(t.Shape))
	}
	order := "<"
	if t.DType.Size() == 1 {
		order = "|"
	}
	var b bytes.Buffer
	b.WriteString(npyMagic + "\x01\x00\x00\x00")
	fmt.Fprintf(&b, "{'descr': '%s%s', 'fortran_order': False, 'shape': (", order, kind)
	for i, n := range t.Shape {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprint(&b, n)
	}
	if len(t.Shape) == 1 {
		b.WriteByte(',')
	}
	b.WriteString("), }")
	b.WriteString(strings.Repeat(" ", 63-b.Len()%64) + "\n")
	binary.LittleEndian.PutUint16(b.Bytes()[8:], uint16(b.Len()-10))
	return b.Bytes(), nil
}
