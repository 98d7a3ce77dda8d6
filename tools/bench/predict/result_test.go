package main

import (
	"math"
	"testing"
)

// TestFigures: of two programs, one at twice its time and one at half of it, in the right order.
func TestFigures(t *testing.T) {
	list := []result{{name: "a", predicted: 2, times: []float64{1, 1.1}}, {name: "b", predicted: 5, times: []float64{12, 10}}}
	order, apart, wrong := tau(list)
	for what, x := range map[string][2]float64{
		"mean":   {mean(list, (*result).factor), 2},
		"tau":    {order, 1},
		"apart":  {float64(apart), 1},
		"wrong":  {float64(wrong), 0},
		"halves": {mean(list, (*result).halves), math.Sqrt(1.1 * 1.2)},
	} {
		if math.Abs(x[0]-x[1]) > 1e-9 {
			t.Errorf("%s is %v, expected %v", what, x[0], x[1])
		}
	}
	list[1].predicted = 1
	if got, _, wrong := tau(list); got != -1 || wrong != 1 {
		t.Errorf("the other order: %v, %d", got, wrong)
	}
}

// TestPrograms: there are at least 40, each of a name of its own.
func TestPrograms(t *testing.T) {
	names := map[string]bool{}
	for _, g := range programs() {
		names[g.Name] = true
	}
	if len(names) < 40 || len(names) != len(programs()) {
		t.Errorf("%d names of %d programs", len(names), len(programs()))
	}
}
