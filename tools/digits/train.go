package main

import (
	"fmt"
	"io"
	"math"

	"tensortapestry.org/tapc/ir/tensorfile"
	"tensortapestry.org/tapc/tools/digits/glyph"
	"tensortapestry.org/tapc/tools/digits/mlp"
)

// Streams of images, so that no image is in two of them.
const (
	streamTrain = iota << 32
	streamHeldOut
	streamSamples
)

// hidden is the width of the hidden layers, classes that of the output.
const (
	hidden  = 512
	classes = 10
)

// A plan says how long to train and what the result must be.
type plan struct {
	seed          uint64
	epochs        int
	batches, size int // batches in an epoch, images in a batch; none is seen twice
	heldOut       int
	accuracy      float64 // least share of held-out images that must be right
	logit         float64 // greatest |logit| allowed on them; the graph's exp has no guard
	options       mlp.Options
}

// standard is the plan of the checked-in weights.
var standard = plan{
	seed: 1, epochs: 12, batches: 200, size: 64, heldOut: 5000, accuracy: 0.98, logit: 20,
	options: mlp.Options{Rate: 1.5e-3, Decay: 0.5, Smoothing: 0.05},
}

// train follows the plan, reporting to log, and fails if the result falls short.
func train(p plan, log io.Writer) (*mlp.Net, error) {
	p.options.Steps = p.epochs * p.batches
	t := mlp.NewTrainer(mlp.New(p.seed, glyph.Pixels, hidden, hidden, classes), p.options)
	next := uint64(0)
	for epoch := range p.epochs {
		loss := 0.0
		for range p.batches {
			x, labels := batch(p.seed+streamTrain, next, p.size)
			loss += t.Step(x, labels)
			next += uint64(p.size)
		}
		fmt.Fprintf(log, "epoch %d of %d: loss %.4f\n", epoch+1, p.epochs, loss/float64(p.batches))
	}
	right, top := evaluate(t.Net, p.seed+streamHeldOut, p.heldOut)
	fmt.Fprintf(log, "held out: %.2f %% of %d right, greatest |logit| %.2f\n", 100*right, p.heldOut, top)
	if right < p.accuracy || top > p.logit {
		return nil, fmt.Errorf("the net is not good enough: %.2f %% right (at least %.2f), |logit| up to %.2f (at most %.2f)",
			100*right, 100*p.accuracy, top, p.logit)
	}
	return t.Net, nil
}

// batch draws count images of a stream, beginning with number first, as rows,
// with their digits.
func batch(stream, first uint64, count int) ([]float32, []int) {
	x, labels := make([]float32, 0, count*glyph.Pixels), make([]int, count)
	for i := range labels {
		n := first + uint64(i)
		x, labels[i] = append(x, glyph.Random(stream, n)[:]...), int(n%classes)
	}
	return x, labels
}

// evaluate returns the share of the stream's first count images that the net
// gets right, and the greatest absolute logit.
func evaluate(net *mlp.Net, stream uint64, count int) (share, top float64) {
	right := 0
	for first := 0; first < count; first += 500 {
		x, labels := batch(stream, uint64(first), min(500, count-first))
		logits := net.Logits(x)
		for i, label := range labels {
			if mlp.Argmax(logits[i*classes:(i+1)*classes]) == label {
				right++
			}
		}
		for _, v := range logits {
			top = max(top, math.Abs(float64(v)))
		}
	}
	return float64(right) / float64(count), top
}

// weights renders the net as W1, b1, W2, b2, W3, b3; W has shape [in, out].
func weights(net *mlp.Net) ([]byte, error) {
	tensors := map[string]tensorfile.Tensor{}
	for i, l := range net.Layers {
		tensors[fmt.Sprintf("W%d", i+1)] = tensor(l.W, int64(l.In), int64(l.Out))
		tensors[fmt.Sprintf("b%d", i+1)] = tensor(l.B, int64(l.Out))
	}
	return tensorfile.Safetensors(tensors)
}
