package collective

import (
	"math"
	"slices"
	"strings"
	"testing"

	"tensortapestry.org/tapc/cost/machine"
)

// nodes is two nodes of four devices: links of 1 µs and 100 GB/s inside, and of 10 µs and 10 GB/s for each device between them.
const nodes = `tapc: machine/1
name: nodes
devices:
  - {name: d, kind: cuda, units: 1, memory: 1 GB, bandwidth: 1 GB/s, launch: 1 us, rates: [{type: float32, row: fma, rate: 1 Gop/s}]}
links:
  - {name: near, latency: 1 us, bandwidth: 100 GB/s}
  - {name: far, latency: 10 us, bandwidth: 10 GB/s, each: device}
localities:
  - {name: all, link: far, members: [{of: node, count: 2}]}
  - {name: node, link: near, members: [{of: d, count: 4}]}
`

func layout(t *testing.T) *machine.Layout {
	m, err := machine.Read([]byte(nodes), "nodes.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return m.Layout()
}

// TestByHand: times as counted by hand from the published formulas, for 8 MB.
func TestByHand(t *testing.T) {
	const us = 1e-6
	node, all, two := []int64{0, 1, 2, 3}, []int64{0, 1, 2, 3, 4, 5, 6, 7}, []int64{0, 4}
	for _, c := range []struct {
		kind      Kind
		devices   []int64
		algorithm string
		want      float64
	}{
		{AllReduce, node, "ring", 6*us + 2*6e6/100e9},                                                  // 2 (n-1) steps, 2 (n-1)/n of the bytes
		{AllReduce, node, "tree", 4*us + 4*8e6/100e9},                                                  // log n steps up and down, all bytes each
		{AllReduce, node, "direct", 1*us + 3*8e6/100e9},                                                // all to all others
		{AllGather, node, "ring", 3*us + 6e6/100e9},                                                    // n-1 steps
		{AllGather, node, "tree", 2*us + 6e6/100e9},                                                    // log n steps, doubled each time
		{ReduceScatter, node, "ring", 3*us + 6e6/100e9},                                                // the same backwards
		{Broadcast, node, "tree", 2*us + 2*8e6/100e9},                                                  // log n steps
		{Broadcast, node, "ring", 5*us + 2*6e6/100e9},                                                  // scattered, then gathered
		{AllToAll, node, "direct", 1*us + 6e6/100e9},                                                   // a part to each other
		{AllReduce, []int64{0, 4, 1, 5}, "ring", 60*us + 12e6/10e9},                                    // wherever the first and the last are
		{AllReduce, two, "ring", 20*us + 8e6/10e9},                                                     // by the ports of the devices
		{AllReduce, all, "ring", 14*10*us + 14e6/10e9},                                                 // every step as slow as the slowest link
		{AllReduce, all, "hierarchical", (1*us + 6e6/100e9) + (10*us + 2e6/10e9) + (1*us + 6e6/100e9)}, // a quarter of the bytes between nodes
	} {
		list, err := Of(layout(t), c.kind, c.devices, 8e6)
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for i, p := range list {
			if i > 0 && p.Seconds.Value < list[i-1].Seconds.Value {
				t.Errorf("%s: %s is faster than %s before it", c.kind, p.Algorithm, list[i-1].Algorithm)
			}
			if p.Algorithm == c.algorithm {
				found = true
				if math.Abs(p.Seconds.Value/c.want-1) > 1e-9 {
					t.Errorf("%s by %s among %d takes %v, expected %v", c.kind, c.algorithm, len(c.devices), p.Seconds.Value, c.want)
				}
			}
		}
		if !found {
			t.Errorf("%s among %d has no %s", c.kind, len(c.devices), c.algorithm)
		}
	}
}

// TestGroups: what is no group is an error.
func TestGroups(t *testing.T) {
	for want, devices := range map[string][]int64{"among 1 devices": {0}, "expected each of the devices 0 to 7 at most once, found 99": {0, 99}, "device 1 of a collective is not of the machine, or is there twice": {0, 1, 1, 2},
		"among 4 devices that are not equally many in each locality: expected 3 in each, as with device 0, found 1 with device 4": {0, 1, 2, 4}} {
		if _, err := Of(layout(t), AllReduce, devices, 1e6); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", devices, err)
		}
	}
}

// TestSent: what all devices send together, of 8 MB, by the numbers of messages of each algorithm; that is less than what the busiest sends for each of them, where one device has all.
func TestSent(t *testing.T) {
	node, all := []int64{0, 1, 2, 3}, []int64{0, 1, 2, 3, 4, 5, 6, 7}
	for _, c := range []struct {
		kind      Kind
		devices   []int64
		algorithm string
		want      float64
	}{
		{Broadcast, node, "direct", 3 * 8e6}, // from one to three others
		{Broadcast, node, "tree", 3 * 8e6},
		{Broadcast, node, "ring", 8e6 + 3*8e6}, // scattered by a tree of two steps of 4 MB together, then gathered
		{AllGather, node, "ring", 3 * 8e6},
		{AllReduce, node, "tree", 6 * 8e6}, // up and down
		{AllReduce, node, "ring", 6 * 8e6},
		{AllReduce, node, "direct", 12 * 8e6},               // all of it from each to three others
		{Broadcast, all, "hierarchical", 8e6 + 2*4*8e6},     // to one device of the other node, and in each by a ring
		{AllReduce, all, "hierarchical", 2*6*8e6 + 4*4e6},   // in two nodes scattered and gathered; four pairs exchange a quarter
		{AllGather, all, "hierarchical", 4*1*2e6 + 2*3*8e6}, // four pairs, of 2 MB each, then two nodes
		{AllToAll, node, "direct", 4 * 6e6},
	} {
		list, err := Of(layout(t), c.kind, c.devices, 8e6)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range list {
			if p.Algorithm == c.algorithm && p.Sent() != c.want {
				t.Errorf("%s by %s among %d sends %v bytes, expected %v", c.kind, c.algorithm, len(c.devices), p.Sent(), c.want)
			}
			if p.Sent() > p.Bytes*float64(len(c.devices)) {
				t.Errorf("%s by %s: all send %v bytes, and none more than %v", c.kind, p.Algorithm, p.Sent(), p.Bytes)
			}
		}
	}
}

// TestSharedPorts: on a bus all wait for each other, and for no more than what is sent. Four devices of a node that have one port together send what goes to the other node by
// it; a ring passes it once.
func TestSharedPorts(t *testing.T) {
	all := []int64{0, 1, 2, 3, 4, 5, 6, 7}
	for _, c := range []struct {
		each      string
		kind      Kind
		algorithm string
		want      float64
	}{
		{"locality", Broadcast, "direct", 10e-6 + 7*8e6/10e9},
		{"locality", AllReduce, "tree", 60e-6 + 14*8e6/10e9},
		{"locality", AllGather, "direct", 10e-6 + 7*8e6/10e9},
		{"member", AllGather, "direct", 10e-6 + 4*4*1e6/10e9}, // each of four sends its part to four others
		{"member", AllGather, "ring", 70e-6 + 7e6/10e9},
		{"member", AllReduce, "direct", 10e-6 + 4*4*8e6/10e9},
		{"member", Broadcast, "direct", 10e-6 + 7*8e6/10e9},
		{"device", AllGather, "direct", 10e-6 + 7e6/10e9},
	} {
		m, err := machine.Read([]byte(strings.Replace(nodes, "each: device", "each: "+c.each, 1)), "nodes.yaml")
		if err != nil {
			t.Fatal(err)
		}
		list, err := Of(m.Layout(), c.kind, all, 8e6)
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(list, func(p Price) bool { return p.Algorithm == c.algorithm })
		if i < 0 || math.Abs(list[i].Seconds.Value/c.want-1) > 1e-9 {
			t.Errorf("%s by %s with a link for each %s: %+v, expected %v s", c.kind, c.algorithm, c.each, list, c.want)
		}
	}
}
