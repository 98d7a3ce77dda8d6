package mlp

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
)

// problem is a batch of random inputs with random classes.
func problem(in, classes, samples int) ([]float32, []int) {
	r := rand.New(rand.NewPCG(5, 5))
	x, labels := make([]float32, in*samples), make([]int, samples)
	for i := range x {
		x[i] = max(0, float32(r.NormFloat64()))
	}
	for i := range labels {
		labels[i] = r.IntN(classes)
	}
	return x, labels
}

// The gradient agrees with the slope of the loss for every parameter.
func TestGradientIsTheSlope(t *testing.T) {
	x, labels := problem(6, 3, 4)
	net := New(2, 6, 7, 5, 3)
	tr := NewTrainer(net, Options{Smoothing: 0.1, Steps: 1}) // rate 0: Step leaves the net as it is
	lossAt := func() float64 {
		_, l := tr.loss(net.Logits(x), labels)
		return l
	}
	tr.Step(x, labels)
	for i, l := range net.Layers {
		for k, g := range tr.adam[i].grad {
			param := &l.B[max(0, k-len(l.W))]
			if k < len(l.W) {
				param = &l.W[k]
			}
			const h = 1e-3
			old := *param
			*param = old + h
			up := lossAt()
			*param = old - h
			slope := (up - lossAt()) / (2 * h)
			*param = old
			if math.Abs(slope-float64(g)) > 2e-3 {
				t.Errorf("layer %d, parameter %d: gradient %v, slope %v", i, k, g, slope)
			}
		}
	}
}

func TestForwardIsTheFormula(t *testing.T) {
	net := &Net{Layers: []Layer{
		{In: 2, Out: 2, W: []float32{1, -1, 2, 3}, B: []float32{0.5, -1}},
		{In: 2, Out: 1, W: []float32{10, 100}, B: []float32{1}},
	}}
	// relu([1 2] W + b) = relu([5.5, 4]) and relu([1 0] W + b) = relu([1.5, -2])
	if got, want := net.Logits([]float32{1, 2, 1, 0}), []float32{456, 16}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// Training fits a small problem, and the number of processors changes no bit.
func TestTrainingFitsAndIsReproducible(t *testing.T) {
	x, labels := problem(20, 4, 32)
	fit := func(procs int) (*Net, float64) {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
		tr := NewTrainer(New(1, 20, 33, 17, 4), Options{Rate: 0.01, Decay: 0.01, Steps: 150})
		loss := 0.0
		for range 150 {
			loss = tr.Step(x, labels)
		}
		return tr.Net, loss
	}
	one, loss := fit(1)
	if loss > 0.05 {
		t.Errorf("the loss after training is %v", loss)
	}
	three, _ := fit(3)
	for i, l := range one.Layers {
		if !slices.Equal(l.W, three.Layers[i].W) || !slices.Equal(l.B, three.Layers[i].B) {
			t.Errorf("layer %d differs between 1 and 3 processors", i)
		}
	}
}

func TestSoftmax(t *testing.T) {
	p := Softmax([]float32{1000, 1000 + float32(math.Log(3)), -1000})
	if math.Abs(p[0]-0.25) > 1e-4 || math.Abs(p[1]-0.75) > 1e-4 || p[2] != 0 {
		t.Errorf("got %v, want [0.25 0.75 0]", p)
	}
}
