package schedule

import "testing"

func TestDeviceTypes(t *testing.T) {
	for i, word := range DeviceWords() {
		if d, ok := DeviceNamed(word); !ok || d != DeviceType(i) || d.String() != word {
			t.Errorf("%q names %v, %v", word, d, ok)
		}
	}
	if d, ok := DeviceNamed("cud"); ok {
		t.Errorf("cud names %v", d)
	}
	if len(deviceFacts) != int(CUDA)+1 {
		t.Errorf("%d rows", len(deviceFacts))
	}
	for d, has := range map[DeviceType]map[Binding]bool{
		CPU:  {Serial: true, Unrolled: true, Vector: true, Thread: true, Block: false, Warp: false, Lane: false},
		CUDA: {Serial: true, Unrolled: true, Vector: true, Thread: false, Block: true, Warp: true, Lane: true},
	} {
		for b, want := range has {
			if d.Has(b) != want {
				t.Errorf("%v has %v: %v", d, b, !want)
			}
		}
	}
}
