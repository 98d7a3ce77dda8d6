package price

import (
	"cmp"

	"tensortapestry.org/tapc/cost/machine"
	"tensortapestry.org/tapc/cost/work"
	"tensortapestry.org/tapc/ir/scalar"
)

// Operation is what is known of an operation before it is scheduled: what it counts, and the bytes that it reads and writes.
type Operation struct {
	Count  work.Count
	Type   scalar.DType // that it computes with
	Narrow scalar.DType // of the operands of its products
	Bytes  float64
	Matrix bool // products of float32 may be rounded to what the matrix unit takes
}

// Price gives the time of an operation on a whole device: it computes at the rates that programs reach, by the matrix unit where there is one,
// while its operands travel from and to the memory. Resources hide each other as those of kernels do.
func (o Operation) Price(d *machine.Device) (Interval, error) {
	x := &pricing{device: d, units: d.Units}
	products, other, divide := adding{x: x}, adding{x: x}, adding{x: x}
	o.products(&products)
	other.add(o.Count.Vector, rowVector, o.Type)
	other.add(o.Count.Function, rowFunction, o.Type)
	divide.add(o.Count.Division, rowDivision, o.Type)
	if err := cmp.Or(products.err, other.err, divide.err); err != nil {
		return Interval{}, err
	}
	var k Kernel
	x.finish(&k, []step{{arithmetics: append(products.terms, other.terms...), divider: divide.terms,
		behind: {{"memory", over(o.Bytes, d.MemoryBandwidth(d.Units))}}}})
	return k.Time, nil
}

// products adds the time of sums of products, by the best row that the device has for their type.
func (o Operation) products(a *adding) {
	of := cmp.Or(o.Narrow, o.Type)
	if of != scalar.Float32 || o.Matrix {
		if rate, err := a.x.device.Rate(of.String(), rowMatrix, a.x.units); err == nil && o.Count.Products > 0 {
			a.terms = append(a.terms, Term{"products of " + of.String() + " in the matrix unit", over(2*o.Count.Products, rate)})
			return
		}
	}
	a.add(2*o.Count.Products, rowProducts, o.Type)
}

// rowMatrix is the row of the matrix unit of a GPU.
const rowMatrix = "mma"
