package schedule

import (
	"tensortapestry.org/tapc/dialects/application"
	"tensortapestry.org/tapc/ir/check"
)

// Environment gives the dialect's types and constraints, which begin with those of the two dialects above. Tensors may have
// the given element types; without any, those of tensorops.DefaultDTypes.
func Environment(dtypes ...string) *check.Environment {
	e := application.Environment(dtypes...)
	e.Name = "Scheduled Kernels"
	e.NodeKinds = append(e.NodeKinds, DeviceKind, BufferKind, KernelKind, TransferKind)
	return e.With(Constraints()...)
}

//go:generate go test -run TestConstraintsDocument -update .

// Constraints gives the constraints that this dialect adds, in the order in which they are checked.
func Constraints() []check.Constraint {
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
		scheduleOrder,
		sequenceOrder,
		sharedMemory,
		arenaOverlap,
		deviceMemory,
	}
}
