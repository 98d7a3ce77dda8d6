package tensorops

import (
	"slices"
	"strings"

	"tensortapestry.org/tapc/ir"
)

// ReducedKind is the kind of the tag that says along what an operation reduces.
var ReducedKind = &ir.Kind{URI: tapcTagBase + "Reduced", Keyword: "reduced", Num: 6, New: func() ir.Body { return new(Reduced) }}

// Reduced is the reduced part of an operation's index: the dimensions that it reduces, beside those of its index, which are free, and what a
// point of both parts reads. A cut along a reduced dimension gives partial results, which its reductions combine.
type Reduced struct {
	Dimensions []ReducedDimension
	Inputs     ir.PortMaps // of points of the index, followed by the reduced dimensions
}

// ReducedDimension is a dimension of 0 to Extent.
type ReducedDimension struct {
	Name    string
	Extent  int64
	Combine string // the monoids of the reductions along it in the order in which they are carried out, with commas between
	Stored  bool   // results run along it too, and need what all of it combines to
}

// Monoids of two numbers, which package reduced defines.
const (
	LogSumExp = "log-sum-exp" // the greatest value, and a sum of powers of e scaled to it
	Moments   = "moments"     // a sum, and the sum of the squared distances from the mean
)

// Monoids are what the reductions of a dimension combine by.
var Monoids = []string{"sum", "prod", "min", "max", "all", "any", LogSumExp, Moments}

// Kind is ReducedKind.
func (*Reduced) Kind() *ir.Kind { return ReducedKind }

// Fields names the dimensions and the maps.
func (r *Reduced) Fields(f ir.Fields) {
	f.List(ir.Field{Num: 1, Name: "dimensions"}, len(r.Dimensions), func(n int) { r.Dimensions = make([]ReducedDimension, n) },
		func(i int, f ir.Fields) { r.Dimensions[i].fields(f) })
	f.PortMaps(ir.Field{Num: 2, Name: "inputs", Optional: true}, &r.Inputs)
}

func (d *ReducedDimension) fields(f ir.Fields) {
	f.String(ir.Field{Num: 1, Name: "name", Style: ir.Positional}, &d.Name)
	f.Int(ir.Field{Num: 2, Name: "extent", Style: ir.Positional}, &d.Extent)
	f.String(ir.Field{Num: 3, Name: "combine"}, &d.Combine)
	f.Bool(ir.Field{Num: 4, Name: "stored", Optional: true}, &d.Stored)
}

// ReducedOf gives what a node is said to reduce along, or nil.
func ReducedOf(n *ir.Node) *Reduced {
	r, _ := n.Tag(ReducedKind).(*Reduced)
	return r
}

// combines says whether a text lists reductions.
func combines(text string) bool {
	for word := range strings.SplitSeq(text, ",") {
		if !slices.Contains(Monoids, word) {
			return false
		}
	}
	return true
}
