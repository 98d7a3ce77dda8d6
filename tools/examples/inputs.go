package main

import "tensortapestry.org/tapc/tools/examples/npy"

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
	data, e := npy.Render([]int{32}, row)
	put("b", data, e)
	return out, err
}

// grid renders a matrix from its cells' formula.
func grid[T npy.Cell](put func(string, []byte, error), name string, rows, cols int, cell func(i, j int) T) {
	cells := make([]T, 0, rows*cols)
	for i := range rows {
		for j := range cols {
			cells = append(cells, cell(i, j))
		}
	}
	data, err := npy.Render([]int{rows, cols}, cells)
	put(name, data, err)
}

func indicator(b bool) float32 {
	if b {
		return 1
	}
	return 0
}

// quarter spreads n over the multiples of 1/4 around 0: (n mod m - m/2) / 4.
func quarter(n, m int) float32 { return float32(n%m-m/2) / 4 }
