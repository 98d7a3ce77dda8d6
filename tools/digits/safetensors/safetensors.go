// Package safetensors writes float32 tensors in the safetensors format: the
// header's length as eight little-endian bytes, a JSON header, the data.
//
// It imports only the standard library and only writes. Caller: tools/digits.
package safetensors

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// A Tensor is a float32 array in row-major order.
type Tensor struct {
	Shape []int
	Data  []float32
}

// entry is a tensor's description in the header; Offsets count from the end of
// the header.
type entry struct {
	DType   string `json:"dtype"`
	Shape   []int  `json:"shape"`
	Offsets [2]int `json:"data_offsets"`
}

// Render returns the file for the named tensors, in order of name, the header
// padded with spaces so that the data begins at a multiple of 8. Equal tensors
// give equal bytes. It fails if a shape does not fit its data.
func Render(tensors map[string]Tensor) ([]byte, error) {
	header, body := map[string]entry{}, []byte{}
	for _, name := range slices.Sorted(maps.Keys(tensors)) {
		t, count, start := tensors[name], 1, len(body)
		for _, n := range t.Shape {
			count *= n
		}
		if count != len(t.Data) {
			return nil, fmt.Errorf("safetensors: %s has shape %v, %d cells, and %d values", name, t.Shape, count, len(t.Data))
		}
		var err error
		if body, err = binary.Append(body, binary.LittleEndian, t.Data); err != nil {
			return nil, err
		}
		header[name] = entry{"F32", t.Shape, [2]int{start, len(body)}}
	}
	text, err := json.Marshal(header)
	if err != nil {
		return nil, err
	}
	text = append(text, bytes.Repeat([]byte(" "), -len(text)&7)...)
	return slices.Concat(binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text, body), nil
}
