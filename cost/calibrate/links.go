package calibrate

import (
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"

	"tensortapestry.org/tapc/cost/machine"
	"tensortapestry.org/tapc/cost/sample"
)

// Sizes of what is measured between devices.
const (
	hops       = 64      // kernels, each of which waits for the one before, on another device
	hopCells   = 48      // of each
	sharedRows = 3 << 14 // cells of which each device computes its part, and the first reads all
)

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
	all := make([]string, devices)
	for i := range all {
		all[i] = fmt.Sprint(i)
	}
	return []probe{
		{graph: chain, what: handing, threads: devices, things: 0, plan: fmt.Sprintf(`{"version": 1, "devices": %d, "place": [%s]}`, devices, strings.Join(place, ", "))},
		{graph: ends, what: copying, threads: devices, things: 4 * sharedRows * float64(devices-1),
			plan: fmt.Sprintf(`{"version": 1, "devices": %d, "cuts": [{"target": "op:relu", "cut": "%d"}], "place": [{"target": "op:relu", "devices": [%s]}, {"target": "op:exp", "devices": [0]}, {"target": "op:sqrt", "devices": [0]}]}`,
				devices, devices, strings.Join(all, ", "))},
	}
}

// copiesOf finds what the first device took for copies in a run.
var copiesOf = regexp.MustCompile(`cpu0: .*copies (\S+) ms`)

// copied runs a program and gives the mean time that its first device took for copies in a run.
func copied(ctx context.Context, program string, threads int64) (float64, error) {
	c := exec.CommandContext(ctx, program, "--random", "1", "--bench", "300", "--profile", "--threads", strconv.FormatInt(threads, 10))
	c.WaitDelay = time.Second
	out, err := c.CombinedOutput()
	found := copiesOf.FindSubmatch(out)
	if err != nil || found == nil {
		return 0, failed("running a program that is measured: %s", said(out, err))
	}
	ms, err := strconv.ParseFloat(string(found[1]), 64)
	return ms / 1e3, err
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
