package conformance

import (
	"testing"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/tensorfile"
)

// TestPasses takes all of the suite through the passes for every type of device.
func TestPasses(t *testing.T) {
	for _, device := range []schedule.DeviceType{schedule.CPU, schedule.CUDA} {
		t.Run(device.String(), func(t *testing.T) { Passes(t, Device{Type: device}) })
	}
}

// TestViews takes views around windows through the passes for every type of device, with the reference evaluator as the back end.
func TestViews(t *testing.T) {
	for _, device := range []schedule.DeviceType{schedule.CPU, schedule.CUDA} {
		t.Run(device.String(), func(t *testing.T) { Views(t, Device{Type: device}, 1, evaluated) })
	}
}

func evaluated(t *testing.T, g *ir.Graph, in map[string]tensorfile.Tensor) map[string]tensorfile.Tensor {
	return suite{T: t, g: g}.evaluate("the scheduled graph", in, nil)
}
