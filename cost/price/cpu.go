package price

import (
	"fmt"
	"slices"
	"strings"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/ir/scalar"
)

// choose finds how a kernel is carried out, by its config for the device, and how many units share it.
func (x *pricing) choose(kind schedule.DeviceType) {
	x.kind, x.form, x.units = kind, schedule.Loops.String(), x.device.Units
	for _, target := range x.settings.Targets[kind] {
		if c := x.analysis.Kernel.For(target); c != nil {
			x.config = c
			break
		}
	}
	if x.config != nil {
		var words []string
		for _, s := range x.config.Stages {
			words = append(words, s.Algorithm.String())
		}
		x.form = strings.Join(words, ", ")
	}
	if kind.Has(schedule.Thread) {
		if x.units = 1; x.threaded() {
			x.units = x.device.Units
		}
		if x.settings.Units > 0 {
			x.units = min(x.units, x.settings.Units)
		}
	}
}

// threaded says whether threads share a kernel.
func (x *pricing) threaded() bool {
	return x.config != nil && slices.ContainsFunc(x.config.Stages, func(s schedule.Stage) bool { return s.Threads })
}

// The rows of a machine file that kernels compute by.
const (
	rowProducts = "fma"
	rowVector   = "vector"
	rowFunction = "function"
	rowScalar   = "scalar"
)

// lowRows are the rows for products of narrow numbers, the best first.
var lowRows = []string{"amx", "vnni", "vexvnni", "usdot", "bf16", "bfdot", "sdot", "any"}

// compute gives the terms of what a kernel computes.
func (x *pricing) compute() (terms []Term, err error) {
	add := func(n float64, row string, of scalar.DType) {
		if n == 0 || err != nil {
			return
		}
		rate, e := x.device.Rate(arithmetic(of).String(), row, x.units)
		if err = e; e == nil {
			terms = append(terms, Term{fmt.Sprintf("%s of %v", rowWord(row), arithmetic(of)), over(n, rate)})
		}
	}
	c := x.work.Count
	products, vector, function := 2*c.Products, c.Vector, c.Function
	switch x.algorithm() {
	case schedule.LowPrecision:
		row, of, e := x.low()
		if e != nil {
			return nil, e
		}
		add(products, row, of)
	case schedule.Contraction, schedule.Transformed:
		add(products, rowProducts, x.work.Type)
	case schedule.Rows, schedule.Reduction, schedule.Scan:
		vector += products
	default:
		if !x.kind.Has(schedule.Thread) { // lanes are as good as vectors
			add(products, rowProducts, x.work.Type)
			break
		}
		add(products+vector+function, rowScalar, x.work.Type)
		return terms, err
	}
	add(vector, rowVector, x.work.Type)
	add(function, rowFunction, x.work.Type)
	return terms, err
}

// rowWord is what terms call a row.
func rowWord(row string) string {
	switch row {
	case rowProducts:
		return "products"
	case rowVector:
		return "arithmetic"
	case rowFunction:
		return "functions"
	case rowScalar:
		return "scalar arithmetic"
	}
	return "products by " + row
}

// algorithm is that of a kernel's first stage.
func (x *pricing) algorithm() schedule.Algorithm {
	if x.config == nil {
		return schedule.Loops
	}
	return x.config.Stages[0].Algorithm
}

// low gives the row of a device that carries out a low-precision contraction, and the type that it multiplies.
func (x *pricing) low() (row string, of scalar.DType, err error) {
	of = scalar.Int8
	if x.work.Type.IsFloat() {
		of = scalar.BFloat16
	}
	for _, row := range lowRows {
		if _, e := x.device.Rate(of.String(), row, 1); e == nil {
			return row, of, nil
		}
	}
	return "", of, x.device.Unknown(fmt.Sprintf("rate of products of %v", of), "rates")
}

// arithmetic is the type that arithmetic on a type is carried out in.
func arithmetic(d scalar.DType) scalar.DType {
	switch {
	case d.IsFloat() && d.Bits() < 32:
		return scalar.Float32
	case d == scalar.Complex64:
		return scalar.Float32
	case d == scalar.Complex128:
		return scalar.Float64
	case d == scalar.Bool:
		return scalar.UInt8
	}
	return d
}
