package schedule

import (
	"tensortapestry.org/tapc/dialects/application"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
)

// WaitsForItself is the code of steps whose order has a cycle.
const WaitsForItself = "TAP0300"

// TooMuchMemory is the code of buffers that are larger than can be addressed.
const TooMuchMemory = "TAP0805"

// After gives the steps that must be done before a kernel or transfer, and whether the node is one.
func After(n *ir.Node) ([]ir.NodeID, bool) {
	if list := AfterOf(n); list != nil {
		return *list, true
	}
	return nil, false
}

// AfterOf is where a kernel or transfer has the steps that must be done before it; nil if the node is neither.
func AfterOf(n *ir.Node) *[]ir.NodeID {
	switch b := n.Body.(type) {
	case *Kernel:
		return &b.After
	case *Transfer:
		return &b.After
	}
	return nil
}

// Touches calls a function for each buffer that a kernel or transfer reads or writes, once for each operand.
func Touches(n *ir.Node, touch func(buffer ir.NodeID, write bool)) {
	switch b := n.Body.(type) {
	case *Kernel:
		for _, o := range b.Operands {
			touch(o.Buffer, o.Mode == Write)
		}
	case *Transfer:
		touch(b.From, false)
		touch(b.To, true)
	}
}

// Order gives the kernels and transfers of a graph in an order that respects After: the graph's order where it does so
// already. A cycle is an error.
func Order(g *ir.Graph) ([]ir.NodeID, error) {
	var order []ir.NodeID
	state := make([]uint8, g.Bound()) // 0 new, 1 open, 2 done
	for n := range g.Nodes() {
		if _, ok := After(n); !ok || state[n.ID] == 2 {
			continue
		}
		if err := visit(g, n.ID, state, &order); err != nil {
			return nil, err
		}
	}
	return order, nil
}

// visit appends what a step waits for, then the step, with a stack of its own so that long chains are no trouble.
func visit(g *ir.Graph, root ir.NodeID, state []uint8, order *[]ir.NodeID) error {
	type frame struct {
		id   ir.NodeID
		next int
	}
	stack := []frame{{id: root}}
	state[root] = 1
	for len(stack) > 0 {
		top := &stack[len(stack)-1]
		after, _ := After(g.Node(top.id))
		if top.next == len(after) {
			state[top.id] = 2
			*order = append(*order, top.id)
			stack = stack[:len(stack)-1]
			continue
		}
		dep := after[top.next]
		top.next++
		n := g.Node(dep)
		if n == nil {
			continue
		}
		switch state[dep] {
		case 1:
			return diag.Errorf(WaitsForItself, "ScheduleOrderConstraint", g.At(g.Node(top.id), ""), "%s waits for itself", g.Name(dep))
		case 0:
			state[dep] = 1
			stack = append(stack, frame{id: dep})
		}
	}
	return nil
}

// Carriers gives the kernels that carry out each operation, in graph order.
func Carriers(g *ir.Graph) map[ir.NodeID][]ir.NodeID {
	of := map[ir.NodeID][]ir.NodeID{}
	for n := range g.Nodes() {
		if k, ok := n.Body.(*Kernel); ok {
			for _, a := range k.Applications {
				app := application.ApplicationOf(g, a)
				if app == nil {
					continue
				}
				if list := of[app.Operation]; len(list) == 0 || list[len(list)-1] != n.ID {
					of[app.Operation] = append(list, n.ID)
				}
			}
		}
	}
	return of
}

// Place puts the arena buffers of each device one after the other, live from the first step to the last: a valid plan, which pass memory makes small. A device with more than can be
// addressed is an error of the pass that asks for it.
func Place(g *ir.Graph, pass string) error {
	steps, err := Order(g)
	if err != nil {
		return err
	}
	ends := map[ir.NodeID]int64{}
	for n := range g.Nodes() {
		b, ok := n.Body.(*Buffer)
		if !ok || b.Space != Arena {
			continue
		}
		at := (ends[b.Device] + b.Align - 1) / b.Align * b.Align
		if b.Bytes > (1<<62)-at {
			return diag.Errorf(TooMuchMemory, pass, g.At(g.Node(b.Tensor), "/body/range"), "%s: the program needs more memory than can be addressed", g.Name(b.Tensor))
		}
		b.Offset, b.First, b.Last = at, 0, max(0, int64(len(steps))-1)
		ends[b.Device] = at + b.Bytes
	}
	return nil
}
