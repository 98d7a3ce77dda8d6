package info

import (
	"fmt"
	"maps"
	"slices"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir"
)

// OfOwn looks at a graph of tapc's own kernels.
func OfOwn(g *ir.Graph, lib *kernels.Library, flags []string) (*Info, error) {
	x := &Info{File: g.File, Versions: []Version{}, Inputs: []Port{}, Outputs: []Port{}, Dimensions: []Dimension{}, Faults: []string{}, Builds: true}
	program, err := tensorops.ProgramOf(g)
	if err != nil {
		return nil, err
	}
	for _, p := range program.Inputs {
		x.Inputs = append(x.Inputs, ownPort(g, p))
	}
	for _, p := range program.Outputs {
		x.Outputs = append(x.Outputs, ownPort(g, p))
	}
	for _, c := range program.Constants {
		t := tensorops.TensorOf(g, c.Tensor)
		n, err := t.Range.Size()
		if err != nil {
			return nil, err
		}
		x.Parameters.add(n, n*int64(t.Type().Size()))
	}
	x.kernels(g, lib)
	x.command(flags)
	return x, nil
}

func ownPort(g *ir.Graph, p tensorops.Named) Port {
	t := tensorops.TensorOf(g, p.Tensor)
	return Port{Name: p.Name, Type: t.Type().String(), Shape: shapeOf(t)}
}

func shapeOf(t *tensorops.Tensor) []Size {
	shape := []Size{}
	for _, n := range t.Range.Shape() {
		shape = append(shape, Size(fmt.Sprint(n)))
	}
	return shape
}

// kernels counts the operations by kernel, or what is scheduled.
func (x *Info) kernels(g *ir.Graph, lib *kernels.Library) {
	counts, unknown := map[string]int{}, map[string][]string{}
	for n := range g.Nodes() {
		switch body := n.Body.(type) {
		case *tensorops.Operation:
			if body.IsSource() || body.IsSink() {
				continue
			}
			counts[body.Kernel]++
			if _, ok := lib.Find(body.Kernel); !ok && !body.IsComposite() {
				unknown[body.Kernel] = append(unknown[body.Kernel], g.Name(n.ID))
			}
		case *schedule.Kernel:
			counts[body.Name]++
		}
	}
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		o := Operator{Name: name, Count: counts[name], Mapped: len(unknown[name]) == 0}
		if !o.Mapped {
			x.Builds = false
			o.Reasons = []Reason{{Cause: "no-kernel", Text: "tapc has no kernel of this name: --kernels FILE adds yours", Nodes: unknown[name][:min(3, len(unknown[name]))]}}
		}
		x.Operators = append(x.Operators, o)
	}
}
