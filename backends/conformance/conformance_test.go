package conformance

import (
	"testing"

	"tensortapestry.org/tapc/dialects/schedule"
)

// TestPasses takes all of the suite through the passes for every type of device.
func TestPasses(t *testing.T) {
	for _, device := range []schedule.DeviceType{schedule.CPU, schedule.CUDA} {
		t.Run(device.String(), func(t *testing.T) { Passes(t, device) })
	}
}
