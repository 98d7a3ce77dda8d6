package layouts

import (
	"fmt"
	"math"
	"sync"

	"slices"

	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/search/meshes"
)

// New makes the space of a graph. Kernels are those that its operations have.
func New(g *ir.Graph, lib *kernels.Library, s Settings) (*Space, error) {
	x := &Space{settings: s, graph: g.Clone(), found: members{opOf: map[ir.NodeID]member{}, tensorOf: map[ir.NodeID]int{}}, line: pipeline{stages: max(1, s.Stages)}}
	for _, o := range s.Objectives {
		x.costs = append(x.costs, slices.Index(Objectives, o))
	}
	if err := x.place(); err != nil {
		return nil, err
	}
	if err := x.collect(lib); err != nil {
		return nil, err
	}
	x.number()
	for _, m := range x.meshes {
		x.tables = append(x.tables, sync.OnceValue(func() *tables { return x.tabulate(m) }))
	}
	return x, x.check()
}

// CountDevices is how many devices there are that plans with some settings are for; 0 if the machine has none of the kind.
func CountDevices(s *Settings) int64 {
	if s.Devices > 0 {
		return s.Devices
	}
	d, err := s.Machine.Device("", s.Kind)
	if err != nil {
		return 0
	}
	return int64(len(s.Machine.Layout().Named(d.Name)))
}

// place finds the devices and the meshes.
func (x *Space) place() error {
	d, err := x.settings.Machine.Device("", x.settings.Kind)
	if err != nil {
		return err
	}
	x.device, x.settings.Kind = d, d.Kind
	all, n := int64(len(x.settings.Machine.Layout().Named(d.Name))), x.settings.Devices
	if n == 0 {
		n = all
	}
	if n > all {
		return diag.Errorf("TAP2901", "plan", diag.Location{}, "the machine %s has fewer devices %s than are asked for", x.settings.Machine.Name, d.Name).
			Want(fmt.Sprintf("at most %d", all), fmt.Sprint(n))
	}
	x.settings.Devices = n
	if n%int64(x.line.stages) != 0 || x.line.stages > MaxStages {
		return diag.Errorf("TAP0965", "plan", diag.Location{}, "%d devices can not be divided among the stages", n).Want(fmt.Sprintf("a number of stages up to %d that divides them", MaxStages), fmt.Sprint(x.line.stages))
	}
	if x.settings.MaxMemory == 0 {
		x.settings.MaxMemory = float64(d.Memory)
	}
	if x.meshes = meshes.Of(n / int64(x.line.stages)); x.settings.Mesh != nil {
		x.meshes = [][]int64{slices.DeleteFunc(slices.Clone(x.settings.Mesh), func(size int64) bool { return size == 1 })}
	}
	return nil
}

// number gives genes their numbers.
func (x *Space) number() {
	x.genes = []int{len(x.meshes)}
	for _, o := range x.ops {
		o.gene = len(x.genes)
		x.genes = append(x.genes, len(o.cuts))
	}
	for _, t := range x.tensors {
		if t.gene = -1; t.leaf && x.settings.has(Leaves) || !t.leaf && x.settings.has(Tensors) {
			t.gene = len(x.genes)
			x.genes = append(x.genes, len(t.keeps))
		}
	}
}

// check makes the first tables, so that what a machine file does not say is an error here.
func (x *Space) check() error {
	if len(x.ops) == 0 {
		return diag.Errorf("TAP2902", "plan", diag.Location{}, "the graph has no operation to be planned").Want("an operation", "none")
	}
	for _, n := range x.genes {
		if n > math.MaxUint16 {
			return diag.Errorf("TAP2903", "plan", diag.Location{}, "an operation or a tensor has more dimensions than can be searched").
				Want(fmt.Sprintf("at most %d ways to cut it", math.MaxUint16), fmt.Sprint(n))
		}
	}
	for _, o := range x.ops {
		if _, err := o.work.Load(x.device); err != nil {
			return fmt.Errorf("%s: %w", o.name, err)
		}
	}
	return nil
}
