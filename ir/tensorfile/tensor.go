// Package tensorfile reads and writes tensors in .npy, .npz and .safetensors files: the data that graphs name but do not hold, and
// what executables take and give.
//
// Files are untrusted: every size in them is checked against the size of the file before anything is allocated, and whatever is
// wrong is one error that says what was expected and what was found. Writing is deterministic, and a file appears complete or not at
// all. The package imports ir/scalar only and knows nothing of graphs. The executables' C reader
// (backends/cpu/runtime/csrc/archive.c) accepts and refuses the same .npy and .safetensors files; of ZIP containers it knows fewer variants. Read next: package ir.
package tensorfile

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"math/bits"

	"tensortapestry.org/tapc/ir/scalar"
)

// Tensor is a value in memory: elements little-endian, row-major and contiguous, booleans as bytes 0 or 1, elements narrower than a
// byte a byte each, integers extended. A nil or empty Shape is a scalar, one element.
type Tensor struct {
	DType scalar.DType
	Shape []int64
	Data  []byte
}

// Len is the number of elements that the shape calls for, or an error when a dimension is negative or the number of
// bytes does not fit an int64.
func (t Tensor) Len() (int64, error) {
	size, err := byteSize(t.DType, t.Shape)
	if err != nil {
		return 0, err
	}
	return size / int64(t.DType.Size()), nil
}

// Check tells whether the tensor is well formed: a valid dtype, as many bytes as dtype and shape call for, and only values that
// the dtype has (booleans 0 or 1, elements narrower than a byte in range).
func (t Tensor) Check() error {
	size, err := byteSize(t.DType, t.Shape)
	if err != nil {
		return err
	}
	if size != int64(len(t.Data)) {
		return fmt.Errorf("expected %d bytes for %s%v, found %d", size, t.DType, t.Shape, len(t.Data))
	}
	return checkValues(t.DType, t.Data)
}

// SHA256 is the digest of the tensor's bytes in hexadecimal. Dtype and shape are not part of it.
func (t Tensor) SHA256() string {
	sum := sha256.Sum256(t.Data)
	return hex.EncodeToString(sum[:])
}

// held is the dtype that files hold a tensor as: elements narrower than a byte, numbers or the codes of floats, are bytes.
func held(d scalar.DType) scalar.DType {
	switch {
	case d.Bits() >= 8:
		return d
	case d.IsSigned():
		return scalar.Int8
	}
	return scalar.UInt8
}

// As gives a tensor from a file the dtype that a program wants, if that is narrower than a byte, which files hold as bytes; else the
// tensor as it is. A byte that is no such number is an error.
func (t Tensor) As(want scalar.DType) (Tensor, error) {
	if want == t.DType || held(want) != t.DType {
		return t, nil
	}
	t.DType = want
	return t, t.Check()
}

// checkValues refuses bytes that are no value of a dtype narrower than a byte.
func checkValues(dtype scalar.DType, data []byte) error {
	bias, limit := byte(0), byte(1)
	switch {
	case dtype.IsBool():
	case dtype.Bits() >= 8:
		return nil
	default:
		limit = 1<<dtype.Bits() - 1
	}
	if dtype.IsSigned() {
		bias = 1 << (dtype.Bits() - 1)
	}
	for i, b := range data {
		if b+bias > limit {
			return fmt.Errorf("expected a %s at element %d, found byte %#02x", dtype, i, b)
		}
	}
	return nil
}

// byteSize is the number of bytes of a tensor; dimensions are checked in any order, so an empty tensor may have others of any size.
func byteSize(dtype scalar.DType, shape []int64) (int64, error) {
	if !dtype.Valid() {
		return 0, fmt.Errorf("expected a dtype, found %s", dtype)
	}
	total, empty := uint64(dtype.Size()), false
	for _, n := range shape {
		if n < 0 {
			return 0, fmt.Errorf("expected dimensions of at least 0, found %d in %v", n, shape)
		}
		empty = empty || n == 0
	}
	if empty {
		return 0, nil
	}
	for _, n := range shape {
		high, low := bits.Mul64(total, uint64(n))
		if high != 0 || low > math.MaxInt64 {
			return 0, fmt.Errorf("expected fewer than 2^63 bytes, found shape %v of %s", shape, dtype)
		}
		total = low
	}
	return int64(total), nil
}

// Coordinates are those of an element of a dense tensor, given by its number in row-major order.
func Coordinates(at int64, shape []int64) []int64 {
	out := make([]int64, len(shape))
	for i := len(shape) - 1; i >= 0; i-- {
		out[i] = at % shape[i]
		at /= shape[i]
	}
	return out
}
