package calibrate

import (
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"

	"tensortapestry.org/tapc/cost/machine"
	"tensortapestry.org/tapc/cost/sample"
)

// Sizes of what is measured between devices.
const (
	hops       = 64      // kernels, each of which waits for the one before, on another device
	paced      = 40_000  // cells of which each device computes a function
	hopCells   = 48      // of each
	sharedRows = 3 << 14 // cells of which each device computes its part, and the first reads all
)

// numbers lists devices.
func numbers(devices int64) string {
	all := make([]string, devices)
	for i := range all {
		all[i] = fmt.Sprint(i)
	}
	return strings.Join(all, ", ")
}

// beside lists what is measured to tell what devices do side by side: a function of which each computes its part, on one thread and on one for each.
func beside(devices int64) []probe {
	g := sample.New("side by side")
	g.Each("exp", g.Float(paced*devices))
	plan := fmt.Sprintf(`{"version": 1, "devices": %d, "cuts": [{"target": "op:exp", "cut": "%d"}], "place": [{"target": "op:exp", "devices": [%s]}]}`, devices, devices, numbers(devices))
	return []probe{{graph: g, what: pacing, threads: 1, plan: plan}, {graph: g, what: pacing, threads: devices, plan: plan}}
}

// links lists what is measured between devices that are threads of one process: what it takes until one sees that another has done something, and to copy what that has.
func links(devices int64) []probe {
	chain := sample.New("hops")
	x := chain.Float(hopCells)
	var place []string
	for i := range hops {
		x = chain.Each([]string{"relu", "exp"}[i%2], x) // the one on the first device, the other on the second
	}
	for i, kernel := range []string{"relu", "exp"} {
		place = append(place, fmt.Sprintf(`{"target": "op:%s", "devices": [%d]}`, kernel, i))
	}
	ends := sample.New("copies")
	y := ends.Each("exp", ends.Each("relu", ends.Float(sharedRows*devices)))
	ends.Each("sqrt", y)
	return []probe{
		{graph: chain, what: handing, threads: devices, things: 0, plan: fmt.Sprintf(`{"version": 1, "devices": %d, "place": [%s]}`, devices, strings.Join(place, ", "))},
		{graph: ends, what: copying, threads: devices, things: 4 * sharedRows * float64(devices-1),
			plan: fmt.Sprintf(`{"version": 1, "devices": %d, "cuts": [{"target": "op:relu", "cut": "%d"}], "place": [{"target": "op:relu", "devices": [%s]}, {"target": "op:exp", "devices": [0]}, {"target": "op:sqrt", "devices": [0]}]}`,
				devices, devices, numbers(devices))},
	}
}

// copiesOf finds what the first device took for copies in a run, in which it received something.
var copiesOf = regexp.MustCompile(`cpu0: .*copies (\S+) ms.* received [1-9]`)

// copied runs a program and gives the mean time that its first device took for copies in a run.
func copied(ctx context.Context, program string, threads int64) (float64, error) {
	c := exec.CommandContext(ctx, program, "--random", "1", "--bench", "300", "--profile", "--threads", strconv.FormatInt(threads, 10))
	return find(c, nil, copiesOf)
}

// linked gives the link between devices. Of a hop it is what is left without the kernel, which takes at least its start.
func linked(list []probe, launch float64) machine.Link {
	l := machine.Link{Name: "host", Source: "tapc calibrate: copies between the threads of a process, and what it takes until one sees what another has counted"}
	for i := range list {
		switch p := &list[i]; p.what {
		case handing:
			t := p.seconds()
			hop := func(t float64) float64 { return max(t/hops-launch, 1e-9) }
			l.Latency = machine.Figure{Value: hop(t.Value), Low: hop(t.Low), High: hop(t.High)}
		case copying:
			l.Bandwidth = p.rate(p.things)
		}
	}
	return l
}

// paceOf is the part of what a device does alone that each does while so many compute, by the same program on one thread and on one for each, where starting these takes so long. It is half at least.
func paceOf(list []probe, devices int64, region float64) machine.Figure {
	alone, together := 0.0, machine.Figure{}
	for i := range list {
		switch p := &list[i]; {
		case p.what == pacing && p.threads == 1:
			alone = Usual(p.times)
		case p.what == pacing:
			together = p.seconds()
		}
	}
	part := func(t float64) float64 { return min(max(alone/float64(devices)/(t-region), 0.5), 1) }
	return machine.Figure{Value: part(together.Value), Low: part(together.High), High: part(together.Low)}
}
