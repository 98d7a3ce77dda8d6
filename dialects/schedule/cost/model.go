package cost

import (
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
)

// Model says what single kernels take on the devices of a machine. The passes fuse, layout and tile compare by it what they choose from, if they are given one.
type Model interface {
	// Estimate gives that of a kernel on a device of a kind, by the config that it has for it. Operands come from where they are left when the kernel runs again and again, alone.
	Estimate(kind schedule.DeviceType, a *nest.Analysis) (Estimate, error)
}
