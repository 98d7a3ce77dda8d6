// Package npy renders small arrays in NumPy's .npy format, version 1.0
// (numpy.lib.format): little-endian, row-major, the header padded with spaces
// so that the data begins at a multiple of 64 bytes.
//
// It imports only the standard library and only writes. Callers: tools/examples,
// tools/digits.
package npy

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
)

// Cell is a Go type that has a NumPy element type here: float32 is "<f4",
// int32 is "<i4", bool is "|b1".
type Cell interface{ float32 | int32 | bool }

// Render returns the bytes of a .npy file with the given cells in row-major
// order. It fails if the shape does not hold exactly len(cells) cells.
// Equal arguments give equal bytes.
func Render[T Cell](shape []int, cells []T) ([]byte, error) {
	count := 1
	for _, n := range shape {
		count *= n
	}
	if count != len(cells) {
		return nil, fmt.Errorf("npy: shape %v holds %d cells, got %d", shape, count, len(cells))
	}
	var out bytes.Buffer
	out.WriteString(header(descr(cells), shape))
	if err := binary.Write(&out, binary.LittleEndian, cells); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// descr returns NumPy's name for the element type.
func descr[T Cell](cells []T) string {
	switch any(cells).(type) {
	case []float32:
		return "<f4"
	case []int32:
		return "<i4"
	default:
		return "|b1"
	}
}

// header returns magic, version, length and the padded dictionary.
func header(descr string, shape []int) string {
	var dims strings.Builder
	for _, n := range shape {
		dims.WriteString(strconv.Itoa(n) + ", ")
	}
	tuple := strings.TrimSuffix(dims.String(), " ")
	if len(shape) != 1 {
		tuple = strings.TrimSuffix(tuple, ",")
	}
	const prefix = 10 // magic (6), version (2), length (2)
	dict := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", descr, tuple)
	total := (prefix + len(dict) + 1 + 63) / 64 * 64
	dict += strings.Repeat(" ", total-prefix-len(dict)-1) + "\n"
	length := binary.LittleEndian.AppendUint16(nil, uint16(len(dict)))
	return "\x93NUMPY\x01\x00" + string(length) + dict
}
