package moves_test

import (
	"testing"

	"tensortapestry.org/tapc/dialects"
	"tensortapestry.org/tapc/dialects/schedule/moves"
	"tensortapestry.org/tapc/ir/text"
)

func TestBytes(t *testing.T) {
	for _, c := range []struct {
		name, value string
		want        int64
	}{
		{"a copy", "x", 48},
		{"coordinates that are worked out", "at(k, (i + 1) % 6, x)", 48},
		{"one of two by a loop", "where(i < 3, x, z)", 48},
		{"one of two by an element", "where(c, x, z)", 48},
		{"inside a border", "where(i < 3, x, float32(0))", 48},
		{"through a local value", "v", 48},
		{"a fill", "float32(0)", 0},
		{"a fill by a loop", "where(i < 3, float32(0), float32(1))", 0},
		{"arithmetic", "x + z", 0},
		{"a comparison of elements", "where(x < z, x, z)", 0},
		{"a sum", "sum(k) x", 0},
		{"a rounded element", "float32(float64(x))", 0},
	} {
		g, err := text.Read([]byte(`tapc 1
%x = tensor float32 [0:12]
%c = tensor boolean [0:12]
%cpu0 = device cpu 0
%a = buffer input float32 [0:12] {device: %cpu0, tensor: %x, strides: [1], align: 64, bytes: 48}
%b = buffer input boolean [0:12] {device: %cpu0, tensor: %c, strides: [1], align: 64, bytes: 12}
%r = buffer arena float32 [0:12] {device: %cpu0, tensor: %x, strides: [1], align: 64, bytes: 48}
kernel "k" {device: %cpu0, applications: [], loops: [i 0 12 {levels: [serial 1]}, k 0 12 {levels: [serial 1]}], operands: [
    x read float32 %a (d0, d1) -> (d0), z read float32 %a (d0, d1) -> (d0), c read boolean %b (d0, d1) -> (d0),
    y write float32 %r (d0, d1) -> (d0)
  ], statements: [v [0] -1 "where(i < 3, x, z)", w [0] 3 "`+c.value+`"]}
`), "test", dialects.Registry())
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if got := moves.Bytes(g); got != c.want {
			t.Errorf("%s: expected %d bytes, found %d", c.name, c.want, got)
		}
	}
}
