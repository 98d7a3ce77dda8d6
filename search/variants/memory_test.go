package variants_test

import (
	"math/rand/v2"
	"testing"

	"tensortapestry.org/tapc/dialects/application/planfile"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/internal/testkit"
	"tensortapestry.org/tapc/ir/permission"
	"tensortapestry.org/tapc/search"
	"tensortapestry.org/tapc/search/variants"
	"tensortapestry.org/tapc/tools/bench/search/graphs"
)

// summed says whether a plan cuts an operation along what it reduces, so that devices combine partial results.
func summed(p *planfile.Plan) bool {
	for _, c := range p.Cuts {
		for _, level := range c.Cut.Levels {
			if len(level.Names) > 0 {
				return true
			}
		}
	}
	return false
}

// What a plan takes on each device is what the schedule that carries it out states of a device, workspaces aside, or more: a plan holds its part of inputs from the beginning to the end. Two things are
// beyond it: the first device is the host, which has inputs and outputs whole, and where partial results are combined one device holds those of others, as docs/search.md says.
func TestMemoryIsWhatSchedulesState(t *testing.T) {
	turn, plans, equal := testkit.Turns(t, 4), 0, 0
	for _, c := range graphs.Smalls {
		source := c.Text(4)
		x := spaceOn(t, source, "8xh100", c.Devices, nil, variants.Words...)
		r := rand.New(rand.NewPCG(19, 6))
		for i := range 12 {
			trial := make(search.Trial, len(x.Genes()))
			for k, n := range x.Genes() {
				trial[k] = uint16(r.IntN(n))
			}
			price := x.Price(trial)
			if price.Beyond > 0 || !turn() {
				continue
			}
			plan, err := x.Plan(trial, kernels.Builtin())
			if err != nil { // a plan file can not say it
				continue
			}
			g := carried(t, source, plan, int(c.Devices), permission.Reassociate, "layout") // with which devices of one host share buffers
			planned, whole, most := price.Costs[1], 0.0, 0.0
			for id, h := range schedule.Held(g) {
				if g.Node(id).Body.(*schedule.Device).Number == 0 {
					whole = float64(h.Kept)
				} else {
					most = max(most, float64(h.Arena+h.Kept))
				}
			}
			plans++
			switch {
			case most == planned:
				equal++
			case most > planned && !summed(plan), most > planned+whole:
				t.Errorf("%s, plan %d: %v bytes planned, %v stated", c.Name, i, planned, most)
			}
		}
	}
	t.Log(plans, "plans, of which", equal, "state what is planned to the byte")
	if equal == 0 && plans > 40 {
		t.Error("no plan states what is planned")
	}
}
