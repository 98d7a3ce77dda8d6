package cpu

import "tensortapestry.org/tapc/ir/scalar"

// function writes a function of one float vector; ok is false for those that are computed lane by lane.
func (v *vectors) function(op scalar.Op, n int, args []value) (x value, ok bool) {
	return value{}, false
}
