// Package dialects lists what the three dialects define, for readers of graph files. Read next: dialects/tensorops.
package dialects

import (
	"tensortapestry.org/tapc/dialects/application"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/collective"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/definition"
	"tensortapestry.org/tapc/dialects/tensorops/parts"
	"tensortapestry.org/tapc/dialects/tensorops/sequence"
	"tensortapestry.org/tapc/ir"
)

// Registry gives every node and tag kind of tapc's dialects.
func Registry() *ir.Registry {
	return &ir.Registry{
		Nodes: []*ir.Kind{
			tensorops.TensorKind, tensorops.OperationKind, tensorops.NoteKind, definition.Kind, application.ApplicationKind,
			schedule.DeviceKind, schedule.BufferKind, schedule.KernelKind, schedule.TransferKind,
			sequence.Kind, collective.CollectiveKind, parts.WholeKind,
		},
		Tags:    []*ir.Kind{tensorops.SignatureKind, tensorops.ReadsKind, tensorops.ReducedKind, tensorops.IndexKind, tensorops.IOSequencePointKind, tensorops.PrecomputedKind, tensorops.DerivedKind, application.PlacementKind, tensorops.CostsKind, parts.PartKind},
		Retired: schedule.Retired,
	}
}
