package values

import (
	"math"
	"testing"

	"tensortapestry.org/tapc/ir"
)

func TestFunctions(t *testing.T) {
	i, l := ir.IntAttr, ir.IntsAttr
	const most, least = math.MaxInt64, math.MinInt64
	none := ir.StringAttr("none")
	for _, c := range []struct {
		name string
		args []ir.AttrValue
		want ir.AttrValue
	}{
		{"plus", []ir.AttrValue{i(2), i(-5)}, i(-3)}, {"plus", []ir.AttrValue{i(most), i(1)}, none}, {"plus", []ir.AttrValue{i(least), i(-1)}, none}, {"plus", []ir.AttrValue{i(most), i(0)}, i(most)},
		{"minus", []ir.AttrValue{i(2), i(5)}, i(-3)}, {"minus", []ir.AttrValue{i(least), i(1)}, none}, {"minus", []ir.AttrValue{i(0), i(least)}, none}, {"minus", []ir.AttrValue{i(-1), i(least)}, i(most)},
		{"times", []ir.AttrValue{i(-3), i(5)}, i(-15)}, {"times", []ir.AttrValue{i(1 << 32), i(1 << 31)}, none}, {"times", []ir.AttrValue{i(least), i(0)}, i(0)},
		{"quotient", []ir.AttrValue{i(12), i(-4)}, i(-3)}, {"quotient", []ir.AttrValue{i(12), i(5)}, none}, {"quotient", []ir.AttrValue{i(1), i(0)}, none}, {"quotient", []ir.AttrValue{i(least), i(-1)}, none},
		{"quotient", []ir.AttrValue{i(0), i(-1)}, i(0)}, {"quotient", []ir.AttrValue{ir.FloatAttr(1), i(1)}, none},
		{"product", []ir.AttrValue{l(2, 3, 4)}, i(24)}, {"product", []ir.AttrValue{l()}, i(1)}, {"product", []ir.AttrValue{l(1<<40, 1<<40)}, none}, {"product", []ir.AttrValue{i(3)}, none},
		{"length", []ir.AttrValue{l(5, 5)}, i(2)}, {"length", []ir.AttrValue{i(2)}, none},
		{"entry", []ir.AttrValue{l(5, 6), i(1)}, i(6)}, {"entry", []ir.AttrValue{l(5, 6), i(-2)}, i(5)}, {"entry", []ir.AttrValue{l(5, 6), i(2)}, none}, {"entry", []ir.AttrValue{l(5, 6), i(-3)}, none},
		{"part", []ir.AttrValue{l(5, 6, 7), i(1), i(3)}, l(6, 7)}, {"part", []ir.AttrValue{l(5, 6, 7), i(0), i(-1)}, l(5, 6)}, {"part", []ir.AttrValue{l(5), i(1), i(0)}, none}, {"part", []ir.AttrValue{l(5), i(0), i(2)}, none},
		{"join", []ir.AttrValue{l(5), l(6, 7)}, l(5, 6, 7)}, {"join", []ir.AttrValue{l(5), i(6)}, none},
		{"compose", []ir.AttrValue{l(1, 2, 0), l(1, 0, 2)}, l(2, 1, 0)}, {"compose", []ir.AttrValue{l(0, 0), l(1, 0)}, none},
		{"unmoved", []ir.AttrValue{l(0, -1)}, ir.BoolAttr(true)}, {"unmoved", []ir.AttrValue{l(1, 0)}, ir.BoolAttr(false)},
	} {
		v, ok := Functions[c.name].Of(c.args)
		if !ok {
			v = none
		}
		if !v.Equal(c.want) {
			t.Errorf("%s(%v): found %v, expected %v", c.name, c.args, v, c.want)
		}
	}
}
