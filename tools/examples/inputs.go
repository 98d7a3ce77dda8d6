package main

import (
	"encoding/binary"

	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/tensorfile"
)

// inputs renders the input arrays, by path in the examples directory. All values
// and all results that the examples compute from them are exact in float32.
// Cells are counted from 0 whatever the tensor's range is.
func inputs() (map[string][]byte, error) {
	out := map[string][]byte{}
	var err error
	put := func(name string, data []byte, e error) {
		out["inputs/"+name+".npy"] = data
		if err == nil {
			err = e
		}
	}
	grid(put, "t0", 10, 5, func(i, j int) int32 { return int32(10*i + j) })
	grid(put, "t1", 10, 5, func(i, j int) int32 { return int32(1000 * (i + 1)) })
	grid(put, "mask", 10, 5, func(i, j int) bool { return (i+j)%2 == 0 })
	grid(put, "J", 10, 5, func(i, j int) float32 { return float32(10*i + j) })
	grid(put, "K", 5, 12, func(i, j int) float32 { return indicator(j%5 == i) })
	grid(put, "x", 100, 12, func(i, j int) float32 { return quarter(7*i+3*j, 11) })
	grid(put, "A", 12, 32, func(i, j int) float32 { return quarter(5*i+4*j, 13) })
	row := make([]float32, 32)
	for j := range row {
		row[j] = quarter(3*j, 7)
	}
	data, e := array([]int64{32}, row)
	put("b", data, e)
	return out, err
}

// grid renders a matrix from its cells' formula.
func grid[T int32 | float32 | bool](put func(string, []byte, error), name string, rows, cols int, cell func(i, j int) T) {
	cells := make([]T, 0, rows*cols)
	for i := range rows {
		for j := range cols {
			cells = append(cells, cell(i, j))
		}
	}
	data, err := array([]int64{int64(rows), int64(cols)}, cells)
	put(name, data, err)
}

// array renders a .npy file.
func array[T int32 | float32 | bool](shape []int64, cells []T) ([]byte, error) {
	t := tensorfile.Tensor{DType: scalar.Float32, Shape: shape}
	switch any(cells).(type) {
	case []int32:
		t.DType = scalar.Int32
	case []bool:
		t.DType = scalar.Bool
	}
	var err error
	if t.Data, err = binary.Append(nil, binary.LittleEndian, cells); err != nil {
		return nil, err
	}
	return tensorfile.NPY(t)
}

func indicator(b bool) float32 {
	if b {
		return 1
	}
	return 0
}

// quarter spreads n over the multiples of 1/4 around 0: (n mod m - m/2) / 4.
func quarter(n, m int) float32 { return float32(n%m-m/2) / 4 }
