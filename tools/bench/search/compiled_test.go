package main

import "testing"

// Plans in which nothing moves take what was thought once they are compiled: operations that become one kernel are priced as one, and those that do not are not.
func TestPricesOfCompiledPlans(t *testing.T) {
	for _, c := range compiledGraphs() {
		if c.name != "linear and ReLU, 2 devices" && c.name != "product, 2 devices" {
			continue
		}
		a, err := compiled(c, 1)
		if err != nil {
			t.Fatal(err)
		}
		if a.plans != 1 || a.most > 1.05 {
			t.Errorf("%s: of %d plans, one is off by %.3f", c.name, a.plans, a.most)
		}
	}
}
