package main

import (
	"math/rand/v2"
	"testing"

	"tensortapestry.org/tapc/plugins"
	"tensortapestry.org/tapc/plugins/plugintest"
)

func TestMain(m *testing.M) { plugintest.Main(m) }

func TestConformance(t *testing.T) { plugintest.Run(t, ".") }

// What is cut costs, and is mended until nothing is cut.
func TestMend(t *testing.T) {
	s := &plugins.Space{Genes: []plugins.Gene{{Name: "mesh", Values: []string{"2x2"}}, {Name: "mul", Values: []string{"x=-, y=-", "x=m, y=-", "x=-, y=n"}}, {Name: "y", Values: []string{"x=d0, y=d1", "x=-, y=-"}}}}
	trial, r := []int{0, 2, 0}, rand.New(rand.NewPCG(1, 2))
	for want := 2; want >= 0; want-- {
		if c, err := pieces(t.Context(), s, trial); err != nil || c != float64(want)*1e-6 {
			t.Fatalf("%v costs %v (%v), expected %d pieces", trial, c, err, want)
		}
		if mended := mend(t.Context(), s, r, trial); mended != (want > 0) {
			t.Fatalf("%v: mended %v", trial, mended)
		}
	}
}
