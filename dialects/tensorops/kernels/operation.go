package kernels

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/bind"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/infer"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/instance"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
)

// ConstraintID is the id under which misuse of a kernel is reported.
const ConstraintID = "OperationKernelAgreementConstraint"

// BindOperation applies the kernel that an operation names to the operation's selections. An error is a diagnostic with its
// place in the user's file.
func (l *Library) BindOperation(g *ir.Graph, id ir.NodeID) (*instance.Instance, error) {
	n, op := g.Node(id), tensorops.OperationOf(g, id)
	decl, ok := l.Find(op.Kernel)
	if !ok {
		d := diag.Errorf("TAP0601", ConstraintID, g.At(n, "/body/kernel"), "%s uses a kernel that tapc does not know", g.Name(id))
		d = d.Want("a kernel that tapc has", strconv.Quote(op.Kernel))
		if near := l.nearest(op.Kernel); near != "" {
			d = d.WithHint("did you mean %q?", near)
		}
		return nil, d
	}
	in, err := bind.Instance(decl, infer.CallOf(g, op.Params, op.Inputs, op.Outputs))
	var refused *infer.Error
	if errors.As(err, &refused) {
		return nil, diag.Errorf("TAP0602", ConstraintID, g.At(n, refused.Field), "%s: %s", g.Name(id), refused.Message).
			Want(refused.Expected, refused.Found)
	}
	return in, err
}

// nearest finds the kernel whose name is closest to a misspelt one, or "". Namespaces do not count.
func (l *Library) nearest(name string) string {
	bare := make([]string, len(l.names))
	for i, n := range l.names {
		bare[i] = n[strings.IndexByte(n, ':')+1:]
	}
	if near, ok := diag.Nearest(name[strings.IndexByte(name, ':')+1:], bare); ok {
		return l.names[slices.Index(bare, near)]
	}
	return ""
}
