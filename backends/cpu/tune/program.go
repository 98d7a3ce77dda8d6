package tune

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"

	"tensortapestry.org/tapc/cost/calibrate"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/internal/childproc"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/tensorfile"
)

// program is one that a bench built.
type program struct {
	path    string
	threads int
	runs    int // of one measurement
	values  map[string]tensorfile.Tensor
}

// perRun is how long a measurement takes at least, in seconds, but for the fewest runs.
const (
	perRun    = 0.015
	fewest    = 3
	mostRuns  = 20000
	firstRuns = 5
)

// Time gives the 10th percentile of some runs in a process of its own.
func (p *program) Time(ctx context.Context) (float64, error) {
	if p.runs == 0 {
		t, err := p.time(ctx, firstRuns)
		if err != nil {
			return 0, err
		}
		p.runs = min(max(fewest, int(perRun/max(t, 1e-9))), mostRuns)
	}
	return p.time(ctx, p.runs)
}

func (p *program) time(ctx context.Context, runs int) (float64, error) {
	t, err := calibrate.Time(ctx, p.path, runs, int64(p.threads))
	if err != nil {
		if ended := context.Cause(ctx); ended != nil {
			return 0, ended
		}
		return 0, fmt.Errorf("%w: %w", ErrNoMeasure, err)
	}
	return t, nil
}

// Remove removes the program.
func (p *program) Remove() { os.Remove(p.path) }

// compute runs the program once. What it does not write has the same bytes in every program.
func (p *program) compute(ctx context.Context) (map[string]tensorfile.Tensor, error) {
	if p.values != nil {
		return p.values, nil
	}
	file := p.path + ".safetensors"
	defer os.Remove(file)
	cmd := childproc.Command(ctx, p.path, "--random", "1", "--threads", strconv.Itoa(p.threads), "--outputs", file)
	cmd.Env = append(os.Environ(), "TAPC_MEMORY=poison")
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("the program failed: %v: %s", err, out)
	}
	f, err := tensorfile.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	p.values = map[string]tensorfile.Tensor{}
	for _, t := range f.Tensors() {
		if p.values[t.Name], err = f.Load(t.Name); err != nil {
			return nil, err
		}
	}
	return p.values, nil
}

// Agrees says why the values of the program are not those of another: the same bits or, where sums may be taken in another order, near them.
func (p *program) Agrees(ctx context.Context, other Program, reassociated bool) error {
	want, err := other.(*program).compute(ctx)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNoMeasure, err)
	}
	got, err := p.compute(ctx)
	if err != nil {
		return err
	}
	p.values = nil // they are asked for once, but for those of the default
	for _, name := range slices.Sorted(maps.Keys(want)) {
		w, g := want[name], got[name]
		switch {
		case bytes.Equal(w.Data, g.Data):
		case !reassociated:
			return fmt.Errorf("%w, as sums in another order do: the permission reassociate is not given", ErrValues)
		case !near(w, g):
			return fmt.Errorf("%w, farther from those than sums in another order are", ErrValues)
		}
	}
	return nil
}

// Errors of sums in another order, relative to the greatest magnitude of a tensor.
const (
	usualError = 1e-4
	shortError = 2e-2 // of types of less than four bytes
)

// near says whether two tensors differ by no more than sums in another order do.
func near(w, g tensorfile.Tensor) bool {
	size := w.DType.Size()
	if len(w.Data) != len(g.Data) || !w.DType.IsFloat() {
		return false
	}
	scale, apart := 0.0, 0.0
	for i := 0; i+size <= len(w.Data); i += size {
		x, y := scalar.Decode(w.DType, w.Data[i:]), scalar.Decode(w.DType, g.Data[i:])
		if x.Same(y) {
			continue
		}
		apart = max(apart, math.Abs(x.Float()-y.Float()))
		scale = max(scale, math.Abs(x.Float()))
	}
	if size < 4 {
		return apart <= shortError*scale
	}
	return apart <= usualError*scale
}

// varied is how many elements of a constant differ; then they come again.
const varied = 1<<16 + 1

// constant gives a tensor as programs fill inputs: floats in [-1, 1), and small integers.
func constant(t *tensorops.Tensor) (tensorfile.Tensor, error) {
	d := t.Type()
	out := tensorfile.Tensor{DType: d, Shape: t.Range.Shape()}
	n, err := out.Len()
	if err != nil {
		return out, err
	}
	out.Data = make([]byte, n*int64(d.Size()))
	r, first := rand.New(rand.NewPCG(1, 2)), min(n, varied)
	for i := range first {
		v := 2*r.Float64() - 1
		if !d.IsFloat() {
			v = float64(r.IntN(2))
		}
		x, err := scalar.Literal(d, v)
		if err != nil {
			return out, err
		}
		x.Encode(out.Data[i*int64(d.Size()):][:d.Size()])
	}
	for at := first * int64(d.Size()); at < int64(len(out.Data)); {
		at += int64(copy(out.Data[at:], out.Data[:first*int64(d.Size())]))
	}
	return out, nil
}
