package figure

import (
	"tensortapestry.org/tapc/dialects/application"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir"
)

// operationOf gives the operation of an application, or NoNode.
func operationOf(g *ir.Graph, id ir.NodeID) ir.NodeID {
	if a := application.ApplicationOf(g, id); a != nil {
		return a.Operation
	}
	return ir.NoNode
}

// kernelOf is the name of the kernel of an operation; "" for other nodes.
func kernelOf(n *ir.Node) string {
	if op, ok := n.Body.(*tensorops.Operation); ok {
		return op.Kernel
	}
	return ""
}
