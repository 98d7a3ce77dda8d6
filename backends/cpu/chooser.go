package cpu

import (
	"fmt"

	"tensortapestry.org/tapc/backends/cpu/blocking"
	"tensortapestry.org/tapc/backends/cpu/isa"
	"tensortapestry.org/tapc/backends/cpu/lowprecision"
	"tensortapestry.org/tapc/backends/cpu/point"
	"tensortapestry.org/tapc/backends/cpu/product"
	"tensortapestry.org/tapc/backends/cpu/rows"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/cost"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/passes/tile"
)

// device is what graphs are scheduled for.
const device = schedule.CPU

// Chooser offers the configs of kernels for a kind of processor.
type Chooser struct{ For isa.Target }

// Choosers gives that of the processors that kernels are decided for if nothing else is told.
func Choosers() []tile.Chooser { return []tile.Chooser{Chooser{isa.Scheduled}} }

// Target is a CPU, and what passes/tile knows of it.
func (c Chooser) Target() (schedule.DeviceType, string) { return device, c.For.Target.Name() }

// Candidates are those of passes/tile that can be written.
func (c Chooser) Candidates(a *nest.Analysis) []tile.Candidate {
	return c.For.Candidates(a, func(f nest.Form, config *schedule.Config) error {
		if config != nil {
			return c.Check(a, config)
		}
		if !written(a, f) {
			return fmt.Errorf("it has values of a type that there are no vectors of, or may read outside of an operand")
		}
		return nil
	})
}

// Price is the time on one thread.
func (c Chooser) Price(a *nest.Analysis, x *tile.Candidate) (cost.Estimate, error) {
	return c.For.Price(a, x)
}

// Check says why a kernel cannot be carried out by a config.
func (c Chooser) Check(a *nest.Analysis, config *schedule.Config) error {
	_, _, err := c.read(a, config)
	return err
}

// read reads a config.
func (c Chooser) read(a *nest.Analysis, config *schedule.Config) (*nest.Contraction, blocking.Decided, error) {
	if len(config.Stages) != 1 || config.Stages[0].Algorithm != schedule.Contraction {
		return nil, blocking.Decided{}, fmt.Errorf("it is %q: expected one stage, a contraction", config)
	}
	form, ok := nest.Of[*nest.Contraction](a.Forms)
	if !ok || !written(a, form) {
		return nil, blocking.Decided{}, fmt.Errorf("the kernel is no contraction, or has values of a type that there are no vectors of")
	}
	d, err := blocking.Read(c.For, a.Kernel, form, &config.Stages[0])
	return form, d, err
}

// written says whether a kernel can be written as a form.
func written(a *nest.Analysis, form nest.Form) bool {
	switch f := form.(type) {
	case *nest.LowPrecision:
		_, _, ok := lowprecision.Widened(a.Kernel, a.Buffers, f)
		return ok
	case *nest.Winograd:
		return point.VectorKernel(a.Kernel, a.Buffers, f.Image)
	case *nest.Contraction:
		return product.Fits(a.Kernel, a.Buffers, f)
	case *nest.Rows:
		return rows.Fits(a.Kernel)
	}
	return true
}
