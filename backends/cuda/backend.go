package cuda

import (
	"context"

	"tensortapestry.org/tapc/backends"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/internal/interruptible"
)

// Backend is the row of the list of back ends.
func Backend() backends.Backend {
	return backends.Backend{
		Name: "cuda", Doc: "CUDA kernels for NVIDIA GPUs.", Devices: []schedule.DeviceType{device},
		Outputs: []backends.Output{{Name: "cuda", Doc: "the CUDA kernels", Text: func(ctx context.Context, j *backends.Job) (string, error) {
			return interruptible.Value(ctx, func() (string, error) {
				src, err := Emit(j.Graph, j.Program, j.Version)
				if err != nil {
					return "", err
				}
				return src.CUDA, nil
			})
		}}, {Name: "tree", Doc: "what kernels with a config do", Text: func(ctx context.Context, j *backends.Job) (string, error) {
			return interruptible.Value(ctx, func() (string, error) { return Trees(j.Graph) })
		}}},
		Configs: Chooser{}, Lab: newLab,
	}
}

// device is what graphs are scheduled for.
const device = schedule.CUDA
