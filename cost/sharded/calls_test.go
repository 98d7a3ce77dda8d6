package sharded

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"tensortapestry.org/tapc/cost/collective"
	"tensortapestry.org/tapc/cost/machine"
	"tensortapestry.org/tapc/cost/price"
	"tensortapestry.org/tapc/dialects"
	"tensortapestry.org/tapc/dialects/application/planfile"
	"tensortapestry.org/tapc/dialects/schedule"
	calls "tensortapestry.org/tapc/dialects/schedule/collective"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/permission"
	"tensortapestry.org/tapc/ir/text"
	"tensortapestry.org/tapc/passes/apply"
	"tensortapestry.org/tapc/passes/lower"
	"tensortapestry.org/tapc/passes/propagate"
	"tensortapestry.org/tapc/passes/split"
	"tensortapestry.org/tapc/passes/standard"
)

// placed schedules the layer, and an operation that reads all of what it gives, on 4 devices of a node of H100s, changes its collectives, and prices it.
func placed(t *testing.T, tensors string, change func(g *ir.Graph, c *calls.Collective)) (*Report, *ir.Graph) {
	t.Helper()
	g, err := text.Read([]byte(layer+"%z = tensor float32 [0:64, 0:256]\n%last = operation op:relu (tensor: %y) -> (result: %z)\n"), "g.tap", dialects.Registry())
	if err != nil {
		t.Fatal(err)
	}
	plan, err := planfile.Parse("p.json", []byte(`{"version": 1, "mesh": [{"axis": "t", "size": 4}], "tensors": [`+tensors+`]}`))
	if err != nil {
		t.Fatal(err)
	}
	m, err := machine.Preset("8xh100")
	if err != nil {
		t.Fatal(err)
	}
	lib, allow := kernels.Builtin(), permission.Reassociate
	if _, _, err = propagate.Run(g, plan, propagate.Settings{Library: lib, Allow: allow, Split: split.One, Devices: 4}); err != nil {
		t.Fatal(err)
	}
	apply.Run(g)
	if err := apply.Spread(g, kernels.Builtin(), 4); err != nil {
		t.Fatal(err)
	}
	if err := standard.Run(g, lib, lower.Options{Target: schedule.CUDA, Allow: allow}); err != nil {
		t.Fatal(err)
	}
	for n := range g.Nodes() {
		if c, ok := n.Body.(*calls.Collective); ok {
			change(g, c)
		}
	}
	list, err := price.Program(g, m, price.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	out, err := Placed(m, g, price.Steps{Kernels: list}, price.Steps{Kernels: list}, 0)
	if err != nil {
		t.Fatal(err)
	}
	return out, g
}

// The all-reduce of the layer is priced as one, by the fastest algorithm or by the one that it names, in two phases with the kernels that combine between; terms add up.
func TestCollectivesOfSchedules(t *testing.T) {
	const tensors = `{"tensor": "w1", "dims": ["", "t"]}, {"tensor": "y", "dims": ["", ""]}`
	m, err := machine.Preset("8xh100")
	if err != nil {
		t.Fatal(err)
	}
	prices, err := collective.Of(m.Layout(), collective.AllReduce, []int64{0, 1, 2, 3}, 64*256*4)
	if err != nil {
		t.Fatal(err)
	}
	for _, algorithm := range []string{"", "ring", "tree", "direct"} {
		found := 0
		r, _ := placed(t, tensors, func(_ *ir.Graph, c *calls.Collective) {
			if c.Does == calls.AllReduce {
				c.Algorithm = algorithm
				found++
			}
		})
		if found != 1 {
			t.Fatalf("%d all-reduces", found)
		}
		want := prices[0]
		for _, p := range prices {
			if p.Algorithm == algorithm {
				want = p
			}
		}
		taken, phases := 0.0, 0
		for i, name := range r.Names {
			if strings.Contains(name, fmt.Sprintf("(%s), phase", want.Algorithm)) {
				taken, phases = taken+r.Result.End[i]-r.Result.Start[i], phases+1
			}
		}
		if phases != 2 || math.Abs(taken-want.Seconds.Value) > 1e-9*taken {
			t.Errorf("%q: %d phases of %v s, expected %v", algorithm, phases, taken, want.Seconds.Value)
		}
		ways, sent, links := 0, 0.0, 0.0
		for _, x := range r.Transfers {
			sent += x.Ways[0].Sent.Bytes()
			for _, way := range x.Ways {
				sum := 0.0
				for _, term := range way.Terms {
					sum += term.Seconds
				}
				if ways++; math.Abs(sum-way.Seconds.Value) > 0.01*way.Seconds.Value {
					t.Errorf("%s: terms of %v, and %v", way.Words, sum, way.Seconds.Value)
				}
			}
			if strings.Contains(x.To, "all-reduce") && (x.Bytes.Int64() != 2*3*64*256*4 || x.Ways[0].Words != fmt.Sprintf("all-reduce (%s)", want.Algorithm) || len(x.Ways) != 2) {
				t.Errorf("%q: %+v", algorithm, x)
			}
		}
		if ways == 0 {
			t.Error("no transfer is explained")
		}
		for _, bytes := range r.Result.Links {
			links += bytes
		}
		if math.Abs(sent-links) > 1e-9*links {
			t.Errorf("%q: transfers send %v bytes, and %v pass links", algorithm, sent, links)
		}
	}
}

// A near miss: what the host sends to all of its GPUs is a broadcast by its boxes, and copies on its link by price.
func TestBroadcastsOfTheHost(t *testing.T) {
	broadcasts := 0
	r, g := placed(t, `{"tensor": "w1", "dims": ["", "t"]}`, func(_ *ir.Graph, c *calls.Collective) {
		if c.Does == calls.Broadcast {
			broadcasts++
		}
	})
	for _, name := range r.Names {
		if strings.Contains(name, "broadcast") {
			t.Errorf("%s", name)
		}
	}
	if broadcasts == 0 || len(calls.Of(g)) == 0 || r.Result.Links["pcie"] == 0 {
		t.Errorf("%d broadcasts, %v", broadcasts, r.Result.Links)
	}
}

// What could be done instead of a transfer between GPUs is to compute it on both, for which it takes what its kernel does and what that lacks there: terms add up. A near miss: nothing computes
// what comes from the host.
func TestInstead(t *testing.T) {
	again, none := 0, 0
	r, _ := placed(t, `{"tensor": "h", "dims": ["t", ""]}, {"tensor": "y", "dims": ["", ""]}`, func(_ *ir.Graph, c *calls.Collective) { c.Transfers = nil }) // each by itself
	for _, x := range r.Transfers {
		if x.From == `device "cpu0"` {
			if none++; len(x.Ways) != 1 {
				t.Errorf("%+v", x)
			}
		}
		for _, way := range x.Ways {
			sum := 0.0
			for _, term := range way.Terms {
				sum += term.Seconds
			}
			if math.Abs(sum-way.Seconds.Value) > 0.01*way.Seconds.Value {
				t.Errorf("%s: terms of %v, and %v", way.Words, sum, way.Seconds.Value)
			}
			if strings.HasPrefix(way.Words, "computing it on device") {
				again++
				if way.Seconds.Value <= 0 || way.Seconds.Low > way.Seconds.Value || way.Seconds.High < way.Seconds.Value {
					t.Errorf("%+v", way)
				}
			}
		}
	}
	if again == 0 || none == 0 {
		t.Errorf("%d transfers could be computed, %d are from the host", again, none)
	}
}
