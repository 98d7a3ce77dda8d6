package nest

import (
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest/scan"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/permission"
)

// Form is a known computation that a kernel is: a *LowPrecision, *Winograd, *Contraction, *BackToBack, *scan.Scans or *Rows.
type Form interface {
	Name() string
	Needs() permission.Set // what a kernel has to be allowed to be carried out as this
}

// Forms lists what a kernel is, the most special form first. Plain loops, which every kernel is, are not among them.
type Forms []Form

// Classify finds what a kernel is. It depends on the kernel's loops, operands, statements and the order of its buffers' elements, not on how its
// loops are cut nor on what it is allowed.
func Classify(k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer) Forms {
	var out Forms
	out = appendFound(out, k, buffers, FindLowPrecision)
	out = appendFound(out, k, buffers, FindWinograd)
	out = appendFound(out, k, buffers, FindContraction)
	out = appendFound(out, k, buffers, FindBackToBack)
	if s, ok := scan.Find(k); ok {
		out = append(out, s)
	}
	return appendFound(out, k, buffers, FindRows)
}

func appendFound[F Form](out Forms, k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer,
	find func(k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer) (F, bool)) Forms {
	if f, ok := find(k, buffers); ok {
		out = append(out, f)
	}
	return out
}

// Allowed leaves out the forms that need more than some permissions.
func (f Forms) Allowed(set permission.Set) Forms {
	var out Forms
	for _, x := range f {
		if set.Has(x.Needs()) {
			out = append(out, x)
		}
	}
	return out
}

// Of gives the form of a type.
func Of[F Form](forms Forms) (form F, ok bool) {
	for _, x := range forms {
		if form, ok = x.(F); ok {
			return form, true
		}
	}
	return form, false
}

// Name is a word for the form, as are those of the others.
func (*LowPrecision) Name() string { return "low-precision contraction" }
func (*Winograd) Name() string     { return "transformed convolution" }
func (*Contraction) Name() string  { return "contraction" }
func (*BackToBack) Name() string   { return "back-to-back contractions" }
func (*Rows) Name() string         { return "rows" }

// Needs is nothing, but for the forms that round otherwise than the operations say.
func (*Contraction) Needs() permission.Set { return 0 }
func (*BackToBack) Needs() permission.Set  { return 0 }
func (*Rows) Needs() permission.Set        { return 0 }
func (*Winograd) Needs() permission.Set    { return permission.TransformedTiles }

// Needs is the permission to round operands, if the contraction does.
func (n *LowPrecision) Needs() permission.Set {
	if n.Rounds() {
		return permission.BF16
	}
	return 0
}

// Analysis is a kernel with what it is: what is found out once and handed to all who ask.
type Analysis struct {
	Kernel  *schedule.Kernel
	Buffers map[ir.NodeID]*schedule.Buffer // of the graph
	Forms   Forms
}

// Analyze classifies a kernel.
func Analyze(k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer) *Analysis {
	return &Analysis{k, buffers, Classify(k, buffers)}
}
