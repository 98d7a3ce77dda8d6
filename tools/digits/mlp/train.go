package mlp

import "math"

// Options steer training.
type Options struct {
	Rate      float64 // Adam's greatest step
	Decay     float64 // decoupled weight decay, as a share of Rate
	Smoothing float64 // share of the target spread over all classes
	Steps     int     // batches in the whole training; the rate falls to 0 over them
}

// A Trainer holds a net and Adam's state for it (Kingma and Ba, 2015, with the
// decoupled decay of Loshchilov and Hutter, 2019).
type Trainer struct {
	Net  *Net
	opt  Options
	step int
	adam []moments
}

// moments are Adam's running means for one layer, weights first, then biases.
type moments struct{ grad, mean, square []float32 }

// NewTrainer begins training net, which it changes in place.
func NewTrainer(net *Net, opt Options) *Trainer {
	t := &Trainer{Net: net, opt: opt}
	for _, l := range net.Layers {
		n := len(l.W) + len(l.B)
		t.adam = append(t.adam, moments{make([]float32, n), make([]float32, n), make([]float32, n)})
	}
	return t
}

// Step learns from one batch: x holds the inputs row after row, labels the class
// of each. It returns the mean cross entropy before the step.
func (t *Trainer) Step(x []float32, labels []int) float64 {
	acts := [][]float32{x}
	for i, l := range t.Net.Layers {
		acts = append(acts, l.forward(acts[i], i < len(t.Net.Layers)-1))
	}
	delta, loss := t.loss(acts[len(t.Net.Layers)], labels)
	for i := len(t.Net.Layers) - 1; i >= 0; i-- {
		l, grad := &t.Net.Layers[i], t.adam[i].grad
		l.gradient(grad, acts[i], delta)
		if i > 0 {
			delta = l.backward(acts[i], delta)
		}
	}
	t.step++
	for i := range t.Net.Layers {
		t.update(&t.Net.Layers[i], t.adam[i])
	}
	return loss
}

// loss returns the gradient by the logits and the mean smoothed cross entropy.
func (t *Trainer) loss(logits []float32, labels []int) ([]float32, float64) {
	classes := len(logits) / len(labels)
	delta, total := make([]float32, len(logits)), 0.0
	low := t.opt.Smoothing / float64(classes)
	for s, label := range labels {
		for c, p := range Softmax(logits[s*classes : (s+1)*classes]) {
			target := low
			if c == label {
				target += 1 - t.opt.Smoothing
			}
			total -= target * math.Log(max(p, 1e-30))
			delta[s*classes+c] = float32((p - target) / float64(len(labels)))
		}
	}
	return delta, total / float64(len(labels))
}

// gradient sets grad to the sum over the batch of x' delta, then of delta. Each
// row belongs to one goroutine; samples are added in order.
func (l *Layer) gradient(grad, x, delta []float32) {
	parallel(l.In+1, func(lo, hi int) {
		var g gather
		for k := lo; k < hi; k++ {
			row := grad[k*l.Out : (k+1)*l.Out]
			clear(row)
			for s := range len(delta) / l.Out {
				scale := float32(1)
				if k < l.In {
					scale = x[s*l.In+k]
				}
				g.add(row, scale, delta[s*l.Out:(s+1)*l.Out])
			}
			g.flush(row)
		}
	})
}

// backward returns the gradient by the layer's input x, through the ReLU that
// made x.
func (l *Layer) backward(x, delta []float32) []float32 {
	out := make([]float32, len(x))
	parallel(len(x)/l.In, func(lo, hi int) {
		for i := lo * l.In; i < hi*l.In; i++ {
			if s, k := i/l.In, i%l.In; x[i] > 0 {
				out[i] = dot(delta[s*l.Out:(s+1)*l.Out], l.W[k*l.Out:(k+1)*l.Out])
			}
		}
	})
	return out
}

// update takes one step of Adam on a layer.
func (t *Trainer) update(l *Layer, m moments) {
	const beta1, beta2, tiny = 0.9, 0.999, 1e-8
	n := float64(t.step)
	rate := t.opt.Rate * 0.5 * (1 + math.Cos(math.Pi*min(1, n/float64(t.opt.Steps))))
	first := float32(rate / (1 - math.Pow(beta1, n)))
	second := float32(1 / (1 - math.Pow(beta2, n)))
	keep := float32(1 - rate*t.opt.Decay)
	parallel(len(m.grad), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			g := m.grad[i]
			m.mean[i] = beta1*m.mean[i] + (1-beta1)*g
			m.square[i] = beta2*m.square[i] + (1-beta2)*g*g
			change := first * m.mean[i] / (float32(math.Sqrt(float64(m.square[i]*second))) + tiny)
			if i < len(l.W) {
				l.W[i] = keep*l.W[i] - change
			} else {
				l.B[i-len(l.W)] -= change
			}
		}
	})
}
