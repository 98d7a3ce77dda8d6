// Package mlp is a small multilayer perceptron in float32 with ReLU between its
// layers, and a trainer for it (Adam, label smoothing, weight decay).
//
// Results depend on the seed and the data only: every sum is taken in a fixed
// order by one goroutine, so neither GOMAXPROCS nor scheduling changes a bit.
// It imports only the standard library. Read next: train.go, kernels.go.
package mlp

import (
	"math"
	"math/rand/v2"
)

// A Layer computes y = x W + B, with W of shape [In, Out] in row-major order.
type Layer struct {
	In, Out int
	W, B    []float32
}

// A Net is a chain of layers with a ReLU after each but the last.
type Net struct{ Layers []Layer }

// New makes a net of the given widths (inputs first) with weights drawn by He's
// rule (normal, variance 2 / In; the last layer a tenth of that) and zero biases.
func New(seed uint64, widths ...int) *Net {
	r := rand.New(rand.NewPCG(seed, 0))
	net := &Net{}
	for i := 1; i < len(widths); i++ {
		l := Layer{In: widths[i-1], Out: widths[i]}
		l.W, l.B = make([]float32, l.In*l.Out), make([]float32, l.Out)
		size := math.Sqrt(2 / float64(l.In))
		if i == len(widths)-1 {
			size *= math.Sqrt(0.1)
		}
		for k := range l.W {
			l.W[k] = float32(size * r.NormFloat64())
		}
		net.Layers = append(net.Layers, l)
	}
	return net
}

// Logits returns the net's outputs for a batch of inputs, row after row.
func (n *Net) Logits(x []float32) []float32 {
	for i, l := range n.Layers {
		x = l.forward(x, i < len(n.Layers)-1)
	}
	return x
}

// forward computes a batch; samples run in parallel.
func (l *Layer) forward(x []float32, relu bool) []float32 {
	y := make([]float32, len(x)/l.In*l.Out)
	parallel(len(x)/l.In, func(lo, hi int) {
		var g gather
		for s := lo; s < hi; s++ {
			row := y[s*l.Out : (s+1)*l.Out]
			copy(row, l.B)
			for k, v := range x[s*l.In : (s+1)*l.In] {
				g.add(row, v, l.W[k*l.Out:(k+1)*l.Out])
			}
			g.flush(row)
			if relu {
				rectify(row)
			}
		}
	})
	return y
}

func rectify(row []float32) {
	for i, v := range row {
		row[i] = max(v, 0)
	}
}

// Argmax is the index of the greatest entry, the first of equals.
func Argmax(row []float32) int {
	best := 0
	for i, v := range row {
		if v > row[best] {
			best = i
		}
	}
	return best
}

// Softmax returns exp(v) / sum exp(v) in float64.
func Softmax(row []float32) []float64 {
	top := float64(row[Argmax(row)])
	p, sum := make([]float64, len(row)), 0.0
	for i, v := range row {
		p[i] = math.Exp(float64(v) - top)
		sum += p[i]
	}
	for i := range p {
		p[i] /= sum
	}
	return p
}
