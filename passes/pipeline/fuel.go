package pipeline

import (
	"math"

	"tensortapestry.org/tapc/passes/rewrite"
)

// fuelLeft is how many rewrites may still happen in the run; negative is any number.
func (r *run) fuelLeft() int {
	if r.fuel == nil {
		return -1
	}
	return r.fuel.Left
}

// stepFuel gives a pass its fuel: the run's or the pass's own, whichever is less.
func (r *run) stepFuel(c *Context) *rewrite.Fuel {
	left := math.MaxInt
	if r.fuel != nil {
		left = r.fuel.Left
	}
	if o := findOption(c.pass.Options, FuelOption.Name); o != nil && o.Type == Int {
		if n := c.Int(FuelOption.Name); n >= 0 {
			left = int(min(int64(left), n))
		}
	}
	return &rewrite.Fuel{Left: left}
}

// burn takes off what a pass used.
func (r *run) burn(used int) {
	r.result.Applied += used
	if r.fuel != nil {
		r.fuel.Left -= used
	}
}
