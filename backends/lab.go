package backends

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/permission"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/tensorfile"
	"tensortapestry.org/tapc/passes/pipeline"
	"tensortapestry.org/tapc/passes/tile"
)

// Lab builds and times kernels by themselves on this machine. What is built and in which order is decided in backends/tune. A graph is one of a program that
// carries out one kernel, by the config that the kernel has.
type Lab interface {
	// Chooser offers and checks the configs of the processor that is measured on.
	Chooser() tile.Chooser
	// On says what kernels run on, in words.
	On() string
	// Holds says what times hold for, beside the kernel and its code: the machine, the compiler and its flags. The error wraps ErrNoMeasure if that is not known.
	Holds() ([]string, error)
	// Code digests what is built of a graph, without building it.
	Code(g *ir.Graph) (string, error)
	// Build makes the program of a graph.
	Build(ctx context.Context, g *ir.Graph) (KernelProgram, error)
}

// KernelProgram is one that a lab built.
type KernelProgram interface {
	// Time gives the seconds of one run of the kernel.
	Time(ctx context.Context) (float64, error)
	// Values gives what the kernel computes. Inputs and constants are the same in every program.
	Values(ctx context.Context) (map[string]tensorfile.Tensor, error)
	// Remove ends the use of the program.
	Remove()
}

// LabRequest says what a lab is for.
type LabRequest struct {
	Values  pipeline.OptionValues // of the options of Processors
	Threads int                   // that programs run on, 0 for all that there are
	Dir     string                // a folder for programs; "" if none is built
}

// ErrNoMeasure is wrapped by errors that have nothing to do with what is measured, after which nothing is.
var ErrNoMeasure = errors.New("nothing can be measured")

// ErrValues is wrapped by errors of programs that compute other values.
var ErrValues = errors.New("it has other values than the default")

// Agree says why values are not those that are wanted: the same bits or, where sums may be taken in another order, near them. The error wraps ErrValues.
func Agree(want, got map[string]tensorfile.Tensor, allow permission.Set) error {
	for _, name := range slices.Sorted(maps.Keys(want)) {
		w, g := want[name], got[name]
		switch {
		case bytes.Equal(w.Data, g.Data):
		case !allow.Has(permission.Reassociate):
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
