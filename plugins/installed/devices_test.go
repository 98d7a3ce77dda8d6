package installed

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/plugins/host"
	"tensortapestry.org/tapc/plugins/proto"
)

// The devices of a back end travel, and are in a lock file.
func TestDevicesOfBackends(t *testing.T) {
	message := func(words ...string) *proto.Description {
		return &proto.Description{Name: "a", Version: "1.0.0", Backends: []*proto.Backend{{Name: "b", Devices: words}}}
	}
	for _, words := range [][]string{nil, {"cuda"}, {"cuda", "cpu"}} {
		d, err := host.ReadDescription(message(words...))
		if err != nil {
			t.Fatal(err)
		}
		var want []schedule.DeviceType
		for _, w := range words {
			device, _ := schedule.DeviceNamed(w)
			want = append(want, device)
		}
		l := lockedOf(d, "", host.Access{})
		again, err := l.Description()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, d.Backends[0].Devices) + cmp.Diff(want, again.Backends[0].Devices); diff != "" {
			t.Errorf("%q: %s", words, diff)
		}
	}
	if _, err := host.ReadDescription(message("cpu", "abacus")); err == nil || !strings.Contains(err.Error(), `"abacus", which this tapc does not know`) {
		t.Error(err)
	}
}
