package collective

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"tensortapestry.org/tapc/cost/machine"
)

// racks is two racks of two nodes of four devices each.
const racks = `tapc: machine/1
name: racks
devices:
  - {name: d, kind: cuda, units: 1, memory: 1 GB, bandwidth: 1 GB/s, launch: 1 us, rates: [{type: float32, row: fma, rate: 1 Gop/s}]}
links:
  - {name: near, latency: 1 us, bandwidth: 100 GB/s}
  - {name: far, latency: 10 us, bandwidth: 10 GB/s, each: device}
  - {name: farther, latency: 20 us, bandwidth: 5 GB/s, each: device}
localities:
  - {name: all, link: farther, members: [{of: rack, count: 2}]}
  - {name: rack, link: far, members: [{of: node, count: 2}]}
  - {name: node, link: near, members: [{of: d, count: 4}]}
`

// message is what one device sends another in a collective of one byte.
type message struct {
	from, to int
	bytes    float64
}

// messages are those that an algorithm has, as R. Thakur, R. Rabenseifner and W. Gropp (2005) describe it, among n devices, a power of two, in a row: a ring in which each sends to the next, a
// binomial tree or recursive doubling, and all to all others.
func messages(kind Kind, algorithm string, n int) (list []message) {
	part := 1 / float64(n)
	around := func(bytes float64) {
		for i := range n {
			list = append(list, message{i, (i + 1) % n, bytes})
		}
	}
	everybody := func(bytes float64) {
		for i := range n {
			for j := range n {
				if i != j {
					list = append(list, message{i, j, bytes})
				}
			}
		}
	}
	down := func(bytes func(step int) float64, back bool) { // from the first, to those that are farthest first
		for step, distance := 1, n/2; distance > 0; step, distance = step+1, distance/2 {
			for i := 0; i < n; i += 2 * distance {
				list = append(list, message{i, i + distance, bytes(step)})
				if back {
					list = append(list, message{i + distance, i, bytes(step)})
				}
			}
		}
	}
	whole := func(int) float64 { return 1 }
	switch string(kind) + " " + algorithm {
	case "broadcast tree":
		down(whole, false)
	case "broadcast ring": // scattered by the tree, each time half of what is there, then gathered
		down(func(step int) float64 { return math.Pow(0.5, float64(step)) }, false)
		around(part * float64(n-1))
	case "broadcast direct":
		for i := 1; i < n; i++ {
			list = append(list, message{0, i, 1})
		}
	case "all-gather ring", "reduce-scatter ring":
		around(part * float64(n-1))
	case "all-gather tree", "reduce-scatter tree": // with the one at a distance, what both have: twice as much each time
		for distance := 1; distance < n; distance *= 2 {
			for i := range n {
				list = append(list, message{i, i ^ distance, part * float64(distance)})
			}
		}
	case "all-reduce ring":
		around(2 * part * float64(n-1))
	case "all-reduce tree":
		down(whole, true)
	case "all-gather direct", "reduce-scatter direct", "all-to-all direct", "all-to-all ring": // an all-to-all goes around by distances
		everybody(part)
	case "all-reduce direct":
		everybody(1)
	}
	return list
}

// TestMessages: bytes by link are those of the messages of each algorithm, one by one, on the outermost link of each one's route.
func TestMessages(t *testing.T) {
	m, err := machine.Read([]byte(racks), "racks.yaml")
	if err != nil {
		t.Fatal(err)
	}
	l := m.Layout()
	checked, several := 0, 0
	for _, devices := range [][]int64{{0, 1, 2, 3}, {1, 2}, {0, 4}, {0, 8}, {0, 1, 2, 3, 4, 5, 6, 7}, {0, 1, 4, 5}, {0, 1, 8, 9}, {0, 1, 4, 5, 8, 9, 12, 13}, {0, 4, 8, 12}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}} {
		for _, kind := range Kinds {
			list, err := Of(l, Kind(kind), devices, 1)
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range list {
				if p.Algorithm == "hierarchical" {
					continue
				}
				want := map[string]float64{}
				for _, x := range messages(Kind(kind), p.Algorithm, len(devices)) {
					out, _ := l.Route(devices[x.from], devices[x.to])
					want[out[len(out)-1].Link.Name] += x.bytes
				}
				got := p.Traffic()
				for _, x := range got {
					if math.Abs(x.Bytes-want[x.Link]) > 1e-9*x.Bytes {
						t.Errorf("%s by %s among %v: %v, expected %v", kind, p.Algorithm, devices, got, want)
					}
				}
				if checked++; len(want) > 1 {
					several++
				}
				if len(got) != len(want) || len(want) == 0 {
					t.Errorf("%s by %s among %v: %v, expected %v", kind, p.Algorithm, devices, got, want)
				}
			}
		}
	}
	if checked < 100 || several < 50 {
		t.Errorf("%d algorithms, %d of them on several links", checked, several)
	}
}

// TestHierarchies: bytes by link of hierarchical collectives of 8 MB among m = 2 nodes of p = 4 devices, by hand: inside a node what a ring sends there, and between the nodes what rings of m
// devices do for each of p parts (all-reduce: 2 (m-1) b/p each; all-gather and reduce-scatter: (m-1) b/p; R. Thakur and others, 2005). Of 128 devices in 16 nodes as well.
func TestHierarchies(t *testing.T) {
	node := []int64{0, 1, 2, 3, 4, 5, 6, 7}
	cluster, err := machine.Preset("16x8xh100")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		l         *machine.Layout
		devices   []int64
		kind      Kind
		in, out   string
		near, far float64
	}{
		{layout(t), node, AllReduce, "near", "far", 2 * 2 * 3 * 8e6, 4 * 2 * 1 * 2e6},
		{layout(t), node, AllGather, "near", "far", 2 * 3 * 8e6, 4 * 1 * 2e6},
		{layout(t), node, ReduceScatter, "near", "far", 2 * 3 * 8e6, 4 * 1 * 2e6},
		{layout(t), node, Broadcast, "near", "far", 2 * (8e6 + 3*8e6), 8e6},          // in each node scattered by a tree, and gathered; to the other node once
		{layout(t), node, AllToAll, "near", "far", 2 * 4 * 3 * 2e6, 4 * 2 * 1 * 4e6}, // a quarter to each of 3, then half to the other node
		{cluster.Layout(), cluster.Layout().Named("h100"), AllReduce, "nvlink", "infiniband", 16 * 2 * 7 * 8e6, 8 * 2 * 15 * 1e6},
		{cluster.Layout(), cluster.Layout().Named("h100"), AllGather, "nvlink", "infiniband", 16 * 7 * 8e6, 8 * 15 * 1e6},
		{cluster.Layout(), cluster.Layout().Named("h100"), ReduceScatter, "nvlink", "infiniband", 16 * 7 * 8e6, 8 * 15 * 1e6},
	} {
		list, err := Of(c.l, c.kind, c.devices, 8e6)
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, p := range list {
			if p.Algorithm != "hierarchical" {
				continue
			}
			found = true
			got := map[string]float64{}
			for _, x := range p.Traffic() {
				got[x.Link] = x.Bytes
			}
			if math.Abs(got[c.in]-c.near) > 1e-6 || math.Abs(got[c.out]-c.far) > 1e-6 || len(got) != 2 || math.Abs(p.Sent()-c.near-c.far) > 1e-6 {
				t.Errorf("%s among %d: %v, expected %v on %s and %v on %s", c.kind, len(c.devices), got, c.near, c.in, c.far, c.out)
			}
		}
		if !found {
			t.Errorf("%s among %d has no hierarchical algorithm", c.kind, len(c.devices))
		}
	}
}

// TestTraffic: on any machine and of any group, no link has less than nothing, what is in one locality is on its link alone, and the links together have what the steps send: as much as if the
// machine were one locality, for what is not hierarchical.
func TestTraffic(t *testing.T) {
	rnd := rand.New(rand.NewPCG(18, 44))
	for range 300 {
		counts := [3]int{1 + rnd.IntN(4), 1 + rnd.IntN(4), 2 + rnd.IntN(4)}
		text := racks
		for i, of := range []string{"rack", "node", "d"} {
			old := map[string]int{"rack": 2, "node": 2, "d": 4}[of]
			text = strings.Replace(text, fmt.Sprintf("{of: %s, count: %d}", of, old), fmt.Sprintf("{of: %s, count: %d}", of, counts[i]), 1)
		}
		m, err := machine.Read([]byte(text), "racks.yaml")
		if err != nil {
			t.Fatal(err)
		}
		n := counts[0] * counts[1] * counts[2]
		one, err := machine.Read([]byte(fmt.Sprintf(nodes[:strings.Index(nodes, "  - {name: all")]+"  - {name: node, link: near, members: [{of: d, count: %d}]}\n", n)), "one.yaml")
		if err != nil {
			t.Fatal(err)
		}
		var devices []int64
		for d := range n {
			devices = append(devices, int64(d))
		}
		levels := 0
		for _, c := range counts {
			if c > 1 {
				levels++
			}
		}
		kind, bytes := Kind(append(Kinds, string(Exchange))[rnd.IntN(6)]), float64(1+rnd.IntN(1<<20))
		list, err := Of(m.Layout(), kind, devices, bytes)
		if err != nil {
			t.Fatal(err)
		}
		flat, err := Of(one.Layout(), kind, devices, bytes)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range list {
			sum := 0.0
			for _, x := range p.Traffic() {
				if x.Bytes <= 0 {
					t.Errorf("%v: %s by %s: %v", counts, kind, p.Algorithm, p.Traffic())
				}
				sum += x.Bytes
			}
			if got := len(p.Traffic()); math.Abs(sum-p.Sent()) > 1e-9*sum || got != levels {
				t.Errorf("%v: %s by %s: %v on %d links, %v sent", counts, kind, p.Algorithm, p.Traffic(), levels, p.Sent())
			}
			for _, f := range flat {
				if f.Algorithm == p.Algorithm && (math.Abs(f.Sent()-sum) > 1e-9*sum || len(f.Traffic()) != 1) {
					t.Errorf("%v: %s by %s: %v, in one locality %v", counts, kind, p.Algorithm, sum, f.Traffic())
				}
			}
		}
	}
}

// TestThreeLevels: what is inside a rack takes as long as on the link between its nodes, not as on that of the first two devices: 8 MB, by hand.
func TestThreeLevels(t *testing.T) {
	m, err := machine.Read([]byte(racks), "racks.yaml")
	if err != nil {
		t.Fatal(err)
	}
	l := m.Layout()
	list, err := Of(l, AllReduce, l.Named("d"), 8e6)
	if err != nil {
		t.Fatal(err)
	}
	want := 2*(10e-6+7e6/10e9) + 20e-6 + 1e6/5e9 // scattered and gathered among 8, an eighth exchanged by each two, all by everybody to everybody
	for _, p := range list {
		if p.Algorithm == "hierarchical" && math.Abs(p.Seconds.Value/want-1) < 1e-9 {
			return
		}
	}
	t.Errorf("%+v, expected %v s", list, want)
}
