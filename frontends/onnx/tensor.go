package onnx

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"

	"tensortapestry.org/tapc/frontends/foreign"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/tensorfile"
)

// maxRank bounds the dimensions of a tensor, as tensor files do.
const maxRank = 64

// rawTensor is a tensor as a file has it.
type rawTensor struct {
	name     string
	dims     []int64
	elem     int64
	raw      message // raw_data, or packed floats or doubles, which are the same bytes
	hasRaw   bool
	ints     []int64 // int32_data, int64_data, uint64_data
	loose    []byte  // floats and doubles that are not packed, or packed in several parts
	strings  int
	external map[string]string
	outside  bool
	segment  bool
}

func (d *decoder) tensor(m message) (string, *foreign.Data, error) {
	t := rawTensor{}
	err := m.each(func(x field) error { return t.field(x) })
	if err != nil {
		return t.name, nil, fmt.Errorf("tensor %q: %w", t.name, err)
	}
	data, err := d.data(&t)
	if err != nil {
		return t.name, nil, fmt.Errorf("tensor %q: %w", t.name, err)
	}
	return t.name, data, nil
}

func (t *rawTensor) field(x field) error {
	var err error
	switch x.num {
	case 1:
		t.dims, err = x.ints(t.dims)
	case 2:
		err = x.number(&t.elem)
	case 3:
		t.segment = true
	case 4, 10:
		err = t.floats(x)
	case 5, 7, 11:
		t.ints, err = x.ints(t.ints)
	case 6:
		t.strings++
	case 8:
		err = x.text(&t.name)
	case 9:
		t.raw, err = x.message()
		t.hasRaw = true
	case 13:
		err = t.entry(x)
	case 14:
		t.outside = x.bits == 1
	}
	return err
}

// floats takes float_data and double_data. One packed run is used where it stands.
func (t *rawTensor) floats(x field) error {
	switch {
	case x.wire == protowire.BytesType && !t.hasRaw && len(t.loose) == 0:
		t.raw, t.hasRaw = x.sub, true
		return nil
	case t.hasRaw:
		t.loose, t.hasRaw = slices.Clone(t.raw.bytes()), false
	}
	switch x.wire {
	case protowire.BytesType:
		t.loose = append(t.loose, x.sub.bytes()...)
	case protowire.Fixed32Type:
		t.loose = binary.LittleEndian.AppendUint32(t.loose, uint32(x.bits))
	case protowire.Fixed64Type:
		t.loose = binary.LittleEndian.AppendUint64(t.loose, x.bits)
	default:
		return x.wrong("floats")
	}
	return nil
}

func (t *rawTensor) entry(x field) error {
	m, err := x.message()
	if err != nil {
		return err
	}
	var key, value string
	err = m.each(func(x field) error {
		switch x.num {
		case 1:
			return x.text(&key)
		case 2:
			return x.text(&value)
		}
		return nil
	})
	if t.external == nil {
		t.external = map[string]string{}
	}
	t.external[key] = value
	return err
}

// data checks a tensor's sizes against what the file holds and says where its elements are.
func (d *decoder) data(t *rawTensor) (*foreign.Data, error) {
	if len(t.dims) > maxRank {
		return nil, fmt.Errorf("expected at most %d dimensions, found %d", maxRank, len(t.dims))
	}
	dtype, reason := elementType(t.elem)
	out := &foreign.Data{DType: dtype, Shape: slices.Clone(t.dims), Reason: reason}
	if out.Shape == nil {
		out.Shape = []int64{}
	}
	if t.segment {
		out.Reason = "is one segment of a tensor"
	}
	n := out.Len()
	if n < 0 || n > math.MaxInt64/16 {
		return nil, fmt.Errorf("expected sizes of at least 0 with fewer than 2^59 elements, found %v", t.dims)
	}
	if out.Reason != "" {
		return out, nil
	}
	switch {
	case t.outside:
		return out, d.outside(t, out, stored(dtype, n))
	case t.hasRaw:
		return out, d.inside(t, out, stored(dtype, n))
	case len(t.loose) > 0:
		return out, whole(out, t.loose, stored(dtype, n))
	}
	return out, t.fromInts(out, n)
}

// stored gives the bytes of n elements in a file, where types narrower than a byte are packed: fewer than 2^59 elements.
func stored(d scalar.DType, n int64) int64 {
	if d.Bits() < 8 {
		return (n*int64(d.Bits()) + 7) / 8
	}
	return n * int64(d.Size())
}

func whole(out *foreign.Data, b []byte, want int64) error {
	if int64(len(b)) != want {
		return fmt.Errorf("expected %d bytes for %v%v, found %d", want, out.DType, out.Shape, len(b))
	}
	out.Bytes = b
	if out.DType.Bits() < 8 {
		out.Bytes = unpack(out.DType, b, out.Len())
	}
	if out.DType.IsBool() {
		out.Bytes = truths(out.Bytes)
	}
	return nil
}

// truths gives booleans as 0 and 1; bytes that are so already stay where they are.
func truths(b []byte) []byte {
	if !slices.ContainsFunc(b, func(x byte) bool { return x > 1 }) {
		return b
	}
	b = slices.Clone(b)
	for i := range b {
		b[i] = min(b[i], 1)
	}
	return b
}

// unpack gives each element narrower than a byte a byte; the low bits of a byte come first.
func unpack(d scalar.DType, b []byte, n int64) []byte {
	out := make([]byte, n)
	bits := d.Bits()
	for i := range out {
		at := i * bits
		x := uint16(b[at/8])
		if at/8+1 < len(b) {
			x |= uint16(b[at/8+1]) << 8
		}
		x = x >> (at % 8) & (1<<bits - 1)
		if out[i] = byte(x); d.IsSigned() && x>>(bits-1) != 0 {
			out[i] |= 0xff << bits
		}
	}
	return out
}

// pack is the opposite of unpack.
func pack(d scalar.DType, elements []byte) []byte {
	bits := d.Bits()
	out := make([]byte, stored(d, int64(len(elements)))+1)
	for i, x := range elements {
		at := i * bits
		wide := uint16(x) & (1<<bits - 1) << (at % 8)
		out[at/8] |= byte(wide)
		out[at/8+1] |= byte(wide >> 8)
	}
	return out[:len(out)-1]
}

func (d *decoder) inside(t *rawTensor, out *foreign.Data, want int64) error {
	if err := whole(out, t.raw.bytes(), want); err != nil {
		return err
	}
	if d.name != "" && out.DType.Bits() >= 8 && !out.DType.IsBool() {
		out.File, out.Offset = d.name, int64(t.raw.from)
	}
	return nil
}

// fromInts takes elements that stand as integers of variable length: values, or the bits of narrow floats.
func (t *rawTensor) fromInts(out *foreign.Data, n int64) error {
	size := out.DType.Size()
	want := n
	switch bits := out.DType.Bits(); {
	case bits == 6: // the packed form is that of raw bytes alone
		size = 1
		for i := range t.ints {
			t.ints[i] &= 63
		}
	case bits < 8:
		want = stored(out.DType, n)
	}
	if int64(len(t.ints)) != want || out.DType.IsComplex() || out.DType == scalar.Float32 || out.DType == scalar.Float64 {
		if n == 0 {
			out.Bytes = []byte{}
			return nil
		}
		return fmt.Errorf("expected the elements of %v%v, found %d integers", out.DType, out.Shape, len(t.ints))
	}
	b := make([]byte, len(t.ints)*size)
	var buf [8]byte
	for i, v := range t.ints {
		binary.LittleEndian.PutUint64(buf[:], uint64(v))
		copy(b[i*size:(i+1)*size], buf[:])
	}
	if out.DType.Bits() == 6 {
		out.Bytes = b
		return nil
	}
	return whole(out, b, int64(len(b)))
}

// outside finds a tensor in a file beside the model.
func (d *decoder) outside(t *rawTensor, out *foreign.Data, want int64) error {
	location := t.external["location"]
	if d.dir == "" {
		return fmt.Errorf("its data is in the file %q, and there is no folder to find it in", location)
	}
	if !filepath.IsLocal(location) {
		return fmt.Errorf("external data %q: a model may only name files in its own folder or below", location)
	}
	var offset, length int64
	for key, into := range map[string]*int64{"offset": &offset, "length": &length} {
		text, ok := t.external[key]
		if !ok {
			*into = map[string]int64{"offset": 0, "length": want}[key]
			continue
		}
		var err error
		if *into, err = strconv.ParseInt(text, 10, 64); err != nil || *into < 0 {
			return fmt.Errorf("external data %q: expected a number for %s, found %q", location, key, text)
		}
	}
	if length != want {
		return fmt.Errorf("external data %q: expected %d bytes for %v%v, found %d", location, want, out.DType, out.Shape, length)
	}
	f, err := os.OpenInRoot(d.dir, location)
	if err != nil {
		return fmt.Errorf("external data %q: %w", location, err)
	}
	info, err := f.Stat()
	f.Close()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() || offset > info.Size() || length > info.Size()-offset {
		return fmt.Errorf("external data %q: expected %d bytes at %d, and the file has %d", location, length, offset, info.Size())
	}
	out.Load = func() ([]byte, error) { return readPart(d.dir, location, offset, length, out) }
	if out.DType.Bits() >= 8 && !out.DType.IsBool() {
		out.File, out.Offset = location, offset
	}
	return nil
}

func readPart(dir, location string, offset, length int64, out *foreign.Data) ([]byte, error) {
	f, err := os.OpenInRoot(dir, location)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b := make([]byte, length)
	if _, err := io.ReadFull(io.NewSectionReader(f, offset, length), b); err != nil {
		return nil, fmt.Errorf("external data %q: %w", location, err)
	}
	c := *out
	err = whole(&c, b, length)
	return c.Bytes, err
}

// ReadTensor decodes one tensor, the content of a .pb file, with its name.
func ReadTensor(data []byte) (string, tensorfile.Tensor, error) {
	d := &decoder{}
	name, t, err := d.tensor(message{data, 0, len(data)})
	if err != nil {
		return name, tensorfile.Tensor{}, err
	}
	if t.Reason != "" {
		return name, tensorfile.Tensor{}, fmt.Errorf("tensor %q %s", name, t.Reason)
	}
	return name, tensorfile.Tensor{DType: t.DType, Shape: t.Shape, Data: t.Bytes}, nil
}

// WriteTensor encodes one tensor as a .pb file has it, types narrower than a byte packed.
func WriteTensor(name string, t tensorfile.Tensor) ([]byte, error) {
	return TensorMessage(name, &foreign.Data{DType: t.DType, Shape: t.Shape, Bytes: t.Data})
}

// ElementNumber gives the number of an element type; -1 for one that ONNX does not have.
func ElementNumber(d scalar.DType) int {
	for n, t := range elementTypes {
		if t.dtype == d && d != scalar.Invalid {
			return n
		}
	}
	return -1
}

// TensorHead writes a tensor up to its elements, and says how many bytes these have, types narrower than a byte packed.
func TensorHead(name string, d *foreign.Data) ([]byte, int64, error) {
	elem := ElementNumber(d.DType)
	switch {
	case d.Reason != "":
		return nil, 0, fmt.Errorf("it %s", d.Reason)
	case elem < 0:
		return nil, 0, fmt.Errorf("ONNX has no element type %v", d.DType)
	case d.Len() < 0 || d.Len() > math.MaxInt32:
		return nil, 0, fmt.Errorf("a constant of shape %s is too large", foreign.ShapeText(d.Shape))
	}
	var b []byte
	for _, n := range d.Shape {
		b = protowire.AppendVarint(protowire.AppendTag(b, 1, protowire.VarintType), uint64(n))
	}
	b = protowire.AppendVarint(protowire.AppendTag(b, 2, protowire.VarintType), uint64(elem))
	if name != "" {
		b = protowire.AppendString(protowire.AppendTag(b, 8, protowire.BytesType), name)
	}
	n := stored(d.DType, d.Len())
	return protowire.AppendVarint(protowire.AppendTag(b, 9, protowire.BytesType), uint64(n)), n, nil
}

// TensorMessage writes a tensor as a TensorProto.
func TensorMessage(name string, d *foreign.Data) ([]byte, error) {
	head, _, err := TensorHead(name, d)
	if err != nil {
		return nil, err
	}
	data, err := Packed(d)
	return append(head, data...), err
}

// Packed gives the elements of a constant as a file has them. What is loaded for it is not kept.
func Packed(d *foreign.Data) ([]byte, error) {
	b := d.Bytes
	if b == nil && d.Load != nil {
		var err error
		if b, err = d.Load(); err != nil {
			return nil, err
		}
	}
	if d.DType.Bits() < 8 {
		return pack(d.DType, b), nil
	}
	return b, nil
}
