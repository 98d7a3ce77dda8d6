package main

import (
	"math"
	"strings"
	"testing"

	"tensortapestry.org/tapc/backends/cpu"
	"tensortapestry.org/tapc/cost/calibrate"
	"tensortapestry.org/tapc/cost/sample"
	"tensortapestry.org/tapc/dialects"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir/text"
	"tensortapestry.org/tapc/passes/lower"
	"tensortapestry.org/tapc/passes/standard"
)

// TestFigures: of two programs, one at twice its time and one at half of it, in the right order.
func TestFigures(t *testing.T) {
	list := []result{{name: "a", predicted: 2, times: []float64{1, 1.1}}, {name: "b", predicted: 5, times: []float64{12, 10}}}
	o := ordersOf(list)
	for what, x := range map[string][2]float64{
		"mean":   {mean(list, (*result).factor), 2},
		"tau":    {o.all.tau(), 1},
		"sure":   {o.sure.tau(), 1},
		"apart":  {float64(o.apart.pairs), 1},
		"wrong":  {float64(o.apart.wrong), 0},
		"halves": {mean(list, (*result).halves), math.Sqrt(1.1 * 1.2)},
	} {
		if math.Abs(x[0]-x[1]) > 1e-9 {
			t.Errorf("%s is %v, expected %v", what, x[0], x[1])
		}
	}
	list[1].predicted = 1
	if o := ordersOf(list); o.all.tau() != -1 || o.apart.wrong != 1 {
		t.Errorf("the other order: %+v", o)
	}
	list[1].predicted = 2
	if o := ordersOf(list); o.all.tau() != 0 || o.apart.wrong != 1 {
		t.Errorf("the same price: %+v", o)
	}
}

// TestSure: times that are nearer than the halves of their rounds are in no order, times that are farther are.
func TestSure(t *testing.T) {
	near := []result{{predicted: 2, times: []float64{1, 1.1}}, {predicted: 1, times: []float64{1.2, 1.05}}}
	if o := ordersOf(near); o.all.tau() != -1 || o.sure.pairs != 0 {
		t.Errorf("%+v", o)
	}
	near[1].times = []float64{1.3, 1.31}
	if o := ordersOf(near); o.sure.pairs != 1 || o.sure.tau() != -1 {
		t.Errorf("%+v", o)
	}
}

// TestItself: half of the rounds orders programs as the other half does, or not.
func TestItself(t *testing.T) {
	list := []result{{times: []float64{1, 2}}, {times: []float64{2, 1}}}
	if o := ordersOf(list).itself; o.pairs != 2 || o.wrong != 2 {
		t.Errorf("they are not as each other: %+v", o)
	}
	list[1].times = []float64{2, 2.05}
	if o := ordersOf(list).itself; o.pairs != 1 || o.wrong != 0 {
		t.Errorf("one half has them apart, the other in the same order: %+v", o)
	}
}

// TestKept: times before or behind which the cores were in another state do not count.
func TestKept(t *testing.T) {
	r := result{times: []float64{3, 1, 2, 4, 0.5}}
	for _, hops := range [][2]float64{{60, 61}, {60, 280}, {50, 70}, {280, 60}, {60, 280}} {
		r.states = append(r.states, [2]calibrate.State{{Hop: hops[0]}, {Hop: hops[1]}})
	}
	unusual := func(s calibrate.State) bool { return s.Hop > 90 }
	if n := fewest([]result{r}, unusual); n != 2 {
		t.Errorf("%d count", n)
	}
	if r.keep(unusual); len(r.times) != 2 || r.seconds() != 2 {
		t.Errorf("%v", r.times)
	}
}

// TestPrograms: there are at least 40, each of a name of its own.
func TestPrograms(t *testing.T) {
	names := map[string]bool{}
	for _, g := range programs() {
		names[g.Name] = true
	}
	if a, b := names[randomName(0)], names[randomName(seeds-1)]; !a || !b {
		t.Errorf("random graphs are there: %v, %v", a, b)
	}
	if len(names) < 40 || len(names) != len(programs()) {
		t.Errorf("%d names of %d programs", len(names), len(programs()))
	}
}

// TestRandom: random graphs are the same each time, differ from each other, have no input that nothing reads, so that plans for two devices cut the first of them, and are scheduled.
func TestRandom(t *testing.T) {
	texts := map[string]bool{}
	for seed := range uint64(seeds) {
		var both [2]string
		for i := range both {
			g := sample.New(randomName(seed))
			random(seed)(g)
			both[i] = g.Text()
		}
		if both[0] != both[1] || texts[both[0]] {
			t.Errorf("seed %d: the graph is another each time, or that of another seed", seed)
		}
		texts[both[0]] = true
		for line := range strings.Lines(both[0]) {
			if name, _, ok := strings.Cut(line, " = tensor"); ok && strings.Count(both[0], name+",")+strings.Count(both[0], name+")")+strings.Count(both[0], name+"]") == 0 {
				t.Errorf("seed %d: no operation has %s", seed, name)
			}
		}
		g, err := text.Read([]byte(both[0]), randomName(seed), dialects.Registry())
		if err == nil {
			err = standard.Run(g, kernels.Builtin(), lower.Options{}, cpu.Choosers()...)
		}
		if err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
}
