package reshard

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"tensortapestry.org/tapc/cost/collective"
	"tensortapestry.org/tapc/cost/machine"
	"tensortapestry.org/tapc/dialects/application/planfile"
	"tensortapestry.org/tapc/ir/diag"
)

// CodePlace is of a mesh that a machine has no devices for.
const CodePlace = "TAP2841"

// Place is a mesh on a machine. It is not to be used by several goroutines at once: what groups of devices share is kept.
type Place struct {
	Mesh    planfile.Mesh
	Layout  *machine.Layout
	Devices []int64 // of the machine, those of the mesh in its order
	Kind    *machine.Device
	groups  map[string]group
}

// group is one, or why there is none.
type group struct {
	*collective.Group
	err error
}

// On places a mesh on the first devices of a machine that are of a kind, such as "cpu"; of the kind of the machine's first device if it is "".
func On(m *machine.Machine, kind string, mesh planfile.Mesh) (*Place, error) {
	d, err := m.Device("", kind)
	if err != nil {
		return nil, err
	}
	p := &Place{Mesh: mesh, Layout: m.Layout(), Kind: d, groups: map[string]group{}}
	all := p.Layout.Named(d.Name)
	if n := mesh.Devices(); int64(len(all)) < n {
		return nil, diag.Errorf(CodePlace, "cost", diag.Location{}, "the mesh has more devices than the machine %s", m.Name).
			Want(fmt.Sprintf("at most %d, of which each is a %s", len(all), d.Name), fmt.Sprint(n)).WithHint("%s", p.others(m, n))
	}
	p.Devices = all[:mesh.Devices()]
	return p, nil
}

// others says which devices of another kind a machine has enough of; "" if it has none.
func (p *Place) others(m *machine.Machine, n int64) string {
	for i := range m.Devices {
		if d := &m.Devices[i]; d.Kind != p.Kind.Kind && int64(len(p.Layout.Named(d.Name))) >= n {
			return fmt.Sprintf("it has enough devices %s, for programs with --target=%s", d.Name, d.Kind)
		}
	}
	return ""
}

// Price is what a way takes.
type Price struct {
	Steps      []Step
	Algorithms []string // of each step; "" of a slice
	Seconds    machine.Figure
	Arrives    float64 // bytes that arrive at all devices together
}

// String names the steps: "all-to-all along t (direct)".
func (p Price) String() string {
	var words []string
	for i, s := range p.Steps {
		if s.Kind != Slice {
			words = append(words, fmt.Sprintf("%s (%s)", s.Kind, p.Algorithms[i]))
		}
	}
	return strings.Join(words, ", ")
}

// Of prices steps that follow each other, each by its fastest algorithm.
func (p *Place) Of(steps []Step) (Price, error) {
	out := Price{Steps: steps, Algorithms: make([]string, len(steps)), Arrives: Arrive(p.Mesh, steps)}
	for i, s := range steps {
		fastest, err := p.Fastest(s)
		if err != nil {
			return out, err
		}
		t := fastest.Seconds
		out.Algorithms[i] = fastest.Algorithm
		out.Seconds = machine.Figure{Value: out.Seconds.Value + t.Value, Low: out.Seconds.Low + t.Low, High: out.Seconds.High + t.High}
	}
	return out, nil
}

// Fastest prices a step by its fastest algorithm; nothing if it sends nothing.
func (p *Place) Fastest(s Step) (collective.Price, error) {
	if s.Kind == Slice || p.Mesh.Parts(s.Axes) < 2 || s.Bytes <= 0 {
		return collective.Price{}, nil
	}
	g, err := p.group(s.Axes)
	if err != nil {
		return collective.Price{}, err
	}
	return g.Fastest(s.Kind, s.Bytes)
}

// Algorithms prices a step by each algorithm, the fastest first.
func (p *Place) Algorithms(s Step) ([]collective.Price, error) {
	g, err := p.group(s.Axes)
	if err != nil {
		return nil, err
	}
	return g.Of(s.Kind, s.Bytes)
}

// group gives the groups of devices that differ along some axes alone.
func (p *Place) group(axes planfile.Axes) (*collective.Group, error) {
	key := make([]byte, 0, 8)
	for _, a := range axes {
		key = binary.AppendUvarint(key, uint64(a))
	}
	g, ok := p.groups[string(key)]
	if !ok {
		g.Group, g.err = collective.Among(p.Layout, p.Groups(axes))
		p.groups[string(key)] = g
	}
	return g.Group, g.err
}

// Groups gives the devices of the machine in groups that differ along some axes alone, in the order of the mesh.
func (p *Place) Groups(axes planfile.Axes) (groups [][]int64) {
	at := map[int64]int{} // by the place on the other axes
	for n, device := range p.Devices {
		rest, key, span := int64(n), int64(0), int64(1)
		for i, a := range slices.Backward(p.Mesh) {
			if !slices.Contains(axes, i) {
				key += rest % a.Size * span
			}
			rest, span = rest/a.Size, span*a.Size
		}
		i, ok := at[key]
		if !ok {
			i, groups = len(groups), append(groups, nil)
			at[key] = i
		}
		groups[i] = append(groups[i], device)
	}
	return groups
}

// Cheapest prices all ways between two layouts of a tensor, the fastest first; of ways that take as long, the one that moves less. It is none for layouts
// that are the same.
func (p *Place) Cheapest(bytes float64, from, to Layout) ([]Price, error) {
	var list []Price
	for _, w := range Ways(p.Mesh, bytes, from, to) {
		x, err := p.Of(w)
		if err != nil {
			return nil, err
		}
		list = append(list, x)
	}
	slices.SortStableFunc(list, compare)
	return list, nil
}

func compare(a, b Price) int {
	return cmp.Or(cmp.Compare(a.Seconds.Value, b.Seconds.Value), cmp.Compare(a.Arrives, b.Arrives))
}
