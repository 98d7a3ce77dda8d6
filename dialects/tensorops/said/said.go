// Package said says which operations of a graph say the same but for their names, so that what follows from an operation alone is found once for all of them.
//
// It must not look at what operations read: equal operations may read different values. Read next: search/layouts, which plans layers that repeat once.
package said

import (
	"fmt"
	"slices"
	"strconv"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir"
)

// Of writes what an operation says without its name and place: its kernel, parameters, ports and tags, and the types and ranges of its tensors, which have numbers in
// place of names.
func Of(g *ir.Graph, n *ir.Node) string {
	op := n.Body.(*tensorops.Operation)
	b := strconv.AppendQuote(make([]byte, 0, 512), op.Kernel)
	if len(op.Params) > 0 {
		b = fmt.Appendf(b, " %#v", op.Params)
	}
	var tensors []ir.NodeID
	for _, ports := range []ir.Ports{op.Outputs, op.Inputs} {
		b = append(b, '|')
		for i := range ports.Len() {
			port := ports.At(i)
			b = strconv.AppendQuote(b, port.Name)
			for _, sel := range port.Sel {
				number := slices.Index(tensors, sel.Tensor)
				if number < 0 {
					number, tensors = len(tensors), append(tensors, sel.Tensor)
				}
				b = append(strconv.AppendInt(append(b, ' '), int64(number), 10), sel.Range().Text()...)
				if body := tensorops.TensorOf(g, sel.Tensor); body != nil {
					b = append(strconv.AppendQuote(b, body.DType), body.Range.Text()...)
				}
			}
		}
	}
	for _, t := range n.Tags() {
		b = fmt.Appendf(b, "%s %#v", t.Kind().URI, t)
	}
	return string(b)
}
