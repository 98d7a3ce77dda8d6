package cost

import "tensortapestry.org/tapc/dialects/schedule/nest"

// Near is the time of a vector of columns from the first cache, in halves of a cycle: a core loads two in one.
const Near = 1

// Spare is how many registers a step needs beside sums and columns: for a number of the left factor, and for compilers to move things about.
const Spare = 2

// Fits says whether a register tile of so many rows and vectors of columns leaves room for a step. Columns are in registers for rows to share; one row takes each as it comes.
func Fits(rows, vectors, registers int64) bool {
	columns := vectors
	if rows == 1 {
		columns = 1
	}
	return rows*vectors+columns+Spare <= registers
}

// Core is how a core adds products up: with how many vector registers, and where vectors of columns come from.
type Core struct {
	Registers int64
	Load      float64 // halves of a cycle in which a vector of columns comes
	Unpacked  bool    // columns are read where they are, in no panels
	Sum       int64   // products of a partial sum that ends with the tile, 0 for sums so long that their ends take nothing beside them
	Run       int64   // products of each partial sum, if they are so few that their loop is unrolled whole, else 0
}

// Times in eighths of a cycle: of a multiply-add, for which that of the next step waits; and of a load, where a tile loads nearly as much as it multiplies. A core that does two loads in a cycle takes 4 at least;
// this is what Zen 3 takes for a number of the left factor, a vector of columns, or a line of a panel that is asked for.
const (
	latency = 4 * 8
	loading = 5.5
	ending  = 50 // of a tile for each vector of sums more than shortest has
)

// shortest is how many vectors of sums a tile has that begins while the one before it ends, as nothing of either waits: measured on Zen 3, where a tile of 6 × 2 takes 25 cycles beside its steps (docs/performance.md, "Steps of register tiles").
const shortest = 8

// busy is how many vectors of sums a register tile has at least that does not wait for unpacked columns, of which it reads a line or two of each row: 8 are two multiply-adds in a cycle, each after four. Of 16
// registers it is more, as measured on Zen 3: tiles of 6 × 2 take 0.75 to 0.86 of the time of 4 × 2 and 0.77 to 1.02 of that of 5 × 2 (docs/performance.md, "Register tiles of AVX2").
func (c Core) busy() float64 {
	if c.Registers <= 16 {
		return 11
	}
	return 8
}

// step is about the time of one step of the reduction in a register tile, in eighths of a cycle of a core that does two multiply-adds of vectors in a cycle. Loads cost something even where they are not what a step
// waits for, and vectors of columns, which come from further away, cost more; where columns are in panels or a sum is short, a quarter of the multiply-adds, unless a tile waits for its loads, with a line of columns
// ahead for two vectors of them, or for its few sums (docs/performance.md, "Steps of register tiles").
func (c Core) step(rows, vectors int64) float64 {
	if rows == 0 || vectors == 0 {
		return 0
	}
	multiply, load, arrive := 4*float64(rows*vectors), float64(rows+vectors), 4*float64(vectors)*c.Load
	beside := float64(rows + 3*vectors)
	if c.Unpacked {
		return max(multiply, 4*load, arrive, 4*c.busy()) + beside
	}
	if c.Run > 0 {
		return max(1.25*multiply, arrive+beside, 4*(load+float64(vectors)/2))
	}
	end := 0.0
	if c.Sum > 0 {
		end = ending * float64(max(0, rows*vectors-shortest)) / float64(c.Sum)
	}
	return max(1.25*multiply, arrive+beside, loading*(load+float64(vectors)/2), latency) + end
}

// ShortSum is the length of a reduction that is so short that how register tiles end counts as well as their steps, else 0: it is one partial sum, and its columns stay in the first cache. Measured on Zen 3; with
// more than 16 registers it was not.
func ShortSum(c *nest.Contraction, registers int64) int64 {
	n := nest.Points(c.Reduction)
	if registers > 16 || len(c.Reduction) != 1 || n > shortSum || n > shortSum/2 && nest.SaturatingProduct(n, c.Col.Extent, int64(c.Sum.Type.Size())) > shortColumns {
		return 0
	}
	return n
}

// ShortRun is how many products each partial sum of a reduction of several dimensions has, if they are so few that taking sums up again is what takes the time unless both are in registers, else 0. Measured on Zen 3
// (docs/performance.md, "Runs of few products"); with more than 16 registers it was not.
func ShortRun(c *nest.Contraction, registers int64) int64 {
	if n := c.InnerReduction(); registers <= 16 && len(c.Reduction) > 1 && n <= shortRun && c.Row.Extent >= residentRows {
		return n
	}
	return 0
}

// Resident says whether the sums of a register tile of so many rows and vectors are in registers beside those of a run.
func Resident(rows, vectors, registers int64) bool { return 2*rows*vectors+vectors+1 <= registers }

// residentRows is how many rows a register tile of one vector has for its loads to take no longer than its multiply-adds.
const residentRows = 6

// What a short run has at most.
const shortRun = 4

// What a short sum has at most: products, and bytes of columns if it has more than half as many.
const (
	shortSum     = 64
	shortColumns = 16 << 10
)

// fewRows use each vector of columns so seldom that they wait for panels as for unpacked ones.
const fewRows = 8

// Steps is the time of one step of the reduction over all register tiles of a product of rows and vectors of columns, in eighths of a cycle: tiles at the edges are smaller.
func (c Core) Steps(rows, vectors, tileRows, tileVectors int64) float64 {
	m, mt, n, nt := rows/tileRows, rows%tileRows, vectors/tileVectors, vectors%tileVectors
	c.Unpacked = c.Unpacked || rows <= fewRows
	return float64(m)*(float64(n)*c.step(tileRows, tileVectors)+c.step(tileRows, nt)) + float64(n)*c.step(mt, tileVectors) + c.step(mt, nt)
}

// FullStep is the time of a step for each vector of sums of the register tile that has the least, of those that fit so many registers, in eighths of a cycle.
func FullStep(registers int64) float64 {
	c := Core{Registers: registers, Load: Near}
	least := c.step(1, 1)
	for v := int64(1); Fits(1, v, registers); v++ {
		for r := int64(1); Fits(r, v, registers); r++ {
			least = min(least, c.step(r, v)/float64(r*v))
		}
	}
	return least
}

// What a convolution on transformed tiles costs, in multiply-adds, as measured with AVX-512 on convolutions of 64 to 512 channels; only ratios to direct ones count.
const (
	fetchCost     = 20 // of reading a weight, which comes from beyond the second cache
	transformCost = 10 // of a point of a tile in one channel, there and back
)

// Convolution is what a convolution takes, in multiply-adds: products, reading weights, and transforming tiles there and back.
type Convolution struct{ Products, Weights, Transforms float64 }

// Sum is all of it.
func (c Convolution) Sum() float64 { return c.Products + c.Weights + c.Transforms }

// Direct is a convolution of 3 by 3 as it is.
func Direct(w *nest.Winograd) Convolution {
	images, weights := convolved(w)
	return Convolution{Products: 9 * weights * images * float64(w.Down.Extent*w.Across.Extent), Weights: 9 * weights * fetchCost}
}

// Transformed is a convolution on transformed tiles of so many results a side.
func Transformed(w *nest.Winograd, size int64) Convolution {
	images, weights := convolved(w)
	points, tiles := float64((size+2)*(size+2)), images*float64(w.Down.Tiles(size))*float64(w.Across.Tiles(size))
	return Convolution{points * weights * tiles, points * weights * fetchCost, transformCost * points * tiles * float64(w.In.Extent+w.Out.Extent)}
}

// convolved gives the images that part filters, and the weights at a point of these.
func convolved(w *nest.Winograd) (images, weights float64) {
	return float64(nest.Points(nest.Followed(w.Batch, w.Views[w.Filter], false))), float64(w.In.Extent) * float64(w.Out.Extent)
}
