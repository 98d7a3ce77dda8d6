package mlp

import (
	"runtime"
	"sync"
)

// parallel cuts [0, n) into one run for each processor and waits for all. f must
// write only what belongs to its run.
func parallel(n int, f func(lo, hi int)) {
	workers := min(runtime.GOMAXPROCS(0), n)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() { f(w*n/workers, (w+1)*n/workers) })
	}
	wg.Wait()
}

// gather collects scaled rows and adds them to a sum four at a time, skipping
// zeros; most pixels and about half of the hidden units are zero. The order of
// additions depends on the scales only.
type gather struct {
	n     int
	scale [4]float32
	rows  [4][]float32
}

// add puts scale * row down for y.
func (g *gather) add(y []float32, scale float32, row []float32) {
	if scale == 0 {
		return
	}
	g.scale[g.n], g.rows[g.n] = scale, row
	if g.n++; g.n == 4 {
		axpy4(y, g.scale, g.rows)
		g.n = 0
	}
}

// flush adds to y what is still waiting.
func (g *gather) flush(y []float32) {
	for i := range g.n {
		a, row := g.scale[i], g.rows[i][:len(y)]
		for j := range y {
			y[j] += a * row[j]
		}
	}
	g.n = 0
}

// axpy4 adds four scaled rows to y.
func axpy4(y []float32, a [4]float32, rows [4][]float32) {
	a0, a1, a2, a3 := a[0], a[1], a[2], a[3]
	r0, r1, r2, r3 := rows[0][:len(y)], rows[1][:len(y)], rows[2][:len(y)], rows[3][:len(y)]
	for j := range y {
		y[j] += (a0*r0[j] + a1*r1[j]) + (a2*r2[j] + a3*r3[j])
	}
}

// dot is the inner product of two rows of equal length, in four interleaved sums.
func dot(x, y []float32) float32 {
	var s0, s1, s2, s3 float32
	y = y[:len(x)]
	i := 0
	for ; i+4 <= len(x); i += 4 {
		s0 += x[i] * y[i]
		s1 += x[i+1] * y[i+1]
		s2 += x[i+2] * y[i+2]
		s3 += x[i+3] * y[i+3]
	}
	for ; i < len(x); i++ {
		s0 += x[i] * y[i]
	}
	return (s0 + s1) + (s2 + s3)
}
