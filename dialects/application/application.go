// Package application is the Application Expression dialect: how operations are cut into shards.
//
// It adds one node kind to the Operation Expression dialect, the Application: one shard of an operation, with the same ports
// and smaller boxes. Read next: dialects/schedule.
package application

import (
	"tensortapestry.org/tapc/ir"
)

// ApplicationKind is the kind of applications.
var ApplicationKind = &ir.Kind{
	URI:     "http://tensortapestry.org/schemas/loom/2024-01/node_types.jsd#/nodes/Application",
	Keyword: "application", Num: 4, New: func() ir.Body { return new(Application) },
}

// Application is one shard of an operation.
type Application struct {
	Operation ir.NodeID
	Inputs    ir.Ports
	Outputs   ir.Ports
}

// Kind is ApplicationKind.
func (*Application) Kind() *ir.Kind { return ApplicationKind }

// Fields names the operation and the ports.
func (a *Application) Fields(f ir.Fields) {
	f.Ref(ir.Field{Num: 1, Name: "operationId", Style: ir.Positional}, &a.Operation)
	f.Ports(ir.Field{Num: 2, Name: "inputs", Style: ir.Positional, Optional: true}, &a.Inputs)
	f.Ports(ir.Field{Num: 3, Name: "outputs", Style: ir.Arrow, Optional: true}, &a.Outputs)
}

// Ports gives the application's inputs and outputs.
func (a *Application) Ports() (in, out *ir.Ports) { return &a.Inputs, &a.Outputs }

// ApplicationOf gives the application body of a node, or nil if the node is not there or not an application.
func ApplicationOf(g *ir.Graph, id ir.NodeID) *Application {
	if n := g.Node(id); n != nil {
		a, _ := n.Body.(*Application)
		return a
	}
	return nil
}

// ByOperation lists the applications of each operation, in graph order.
func ByOperation(g *ir.Graph) map[ir.NodeID][]ir.NodeID {
	of := map[ir.NodeID][]ir.NodeID{}
	for n := range g.Nodes() {
		if a, ok := n.Body.(*Application); ok {
			of[a.Operation] = append(of[a.Operation], n.ID)
		}
	}
	return of
}
