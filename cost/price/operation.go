package price

import (
	"cmp"
	"math"

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

// Load is what an operation, or several that become one kernel, take of the resources of a whole device: seconds of arithmetic and of its divider, and bytes from and to the memory.
type Load struct{ Arithmetic, Divider, Bytes float64 }

// Plus is what both take.
func (l Load) Plus(m Load) Load {
	return Load{l.Arithmetic + m.Arithmetic, l.Divider + m.Divider, l.Bytes + m.Bytes}
}

// Load computes at the rates that programs reach, by the matrix unit where there is one, though no kernel that tapc writes for GPUs uses it (docs/search.md).
func (o Operation) Load(d *machine.Device) (Load, error) {
	x := &pricing{device: d, units: d.Units}
	products, other, divide := adding{x: x}, adding{x: x}, adding{x: x}
	o.products(&products)
	other.add(o.Count.Vector, rowVector, o.Type)
	other.add(o.Count.Function, rowFunction, o.Type)
	divide.add(o.Count.Division, rowDivision, o.Type)
	return Load{total(products.terms).Value + total(other.terms).Value, total(divide.terms).Value, o.Bytes}, cmp.Or(products.err, other.err, divide.err)
}

// Seconds is the time of one kernel with a load, whose operands travel from and to the memory while it computes: resources hide each other as those of kernels do.
func (l Load) Seconds(d *machine.Device) float64 {
	sum := math.Pow(l.Arithmetic, overlap) + math.Pow(l.Divider, overlap) + math.Pow(l.Bytes/d.MemoryBandwidth(d.Units).Value, overlap)
	t := math.Pow(sum, 1.0/overlap) + d.Launch.Value
	if d.Units > 1 && d.Region.Known() {
		t += d.Region.Value
	}
	return t
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
