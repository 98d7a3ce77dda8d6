// Package constraints lists what every schedule must keep to, in the order in which it is checked, and has the constraints on a kernel, a buffer or a
// transfer alone: its references, types, loops, statements, views and configs, and that kernels store what their applications put out. Those on the
// order of steps are in dialects/schedule/races, those on collectives in dialects/schedule/collective.
//
// A constraint is a value, with its codes and its text; docs/constraints.md is made of them. The package must not import passes or back ends, nor
// analyses of kernels (dialects/schedule/nest). Read next: statements.go, then coverage.go.
package constraints

import (
	"tensortapestry.org/tapc/dialects/application"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/races"
	"tensortapestry.org/tapc/ir/check"
)

// Environment gives the dialect's types and constraints, which begin with those of the two dialects above. Tensors may have
// the given element types; without any, those of tensorops.DefaultDTypes.
func Environment(dtypes ...string) *check.Environment {
	e := application.Environment(dtypes...)
	e.Name = "Scheduled Kernels"
	e.NodeKinds = append(e.NodeKinds, schedule.DeviceKind, schedule.BufferKind, schedule.KernelKind, schedule.TransferKind)
	return e.With(List()...)
}

// Constraints that passes check alone, by id.
const (
	Configs      = "KernelConfigConstraint"
	SharedMemory = races.SharedMemoryID
)

//go:generate go test -run TestConstraintsDocument -update .

// List gives the constraints that this dialect adds, in the order in which they are checked.
func List() []check.Constraint {
	return []check.Constraint{
		references,
		bufferLayout,
		kernelApplicationAgreement,
		kernelPermissions,
		kernelLoops,
		kernelConfigs,
		operandAgreement,
		statements,
		operandViewContainment,
		kernelLoopCoverage,
		transferAgreement,
		races.Order,
		races.Sequence,
		races.SharedMemory,
		races.Arena,
		deviceMemory,
	}
}
