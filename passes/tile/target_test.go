package tile_test

import (
	"testing"

	"tensortapestry.org/tapc/passes/tile"
)

// A name says all that the pass knows of a target; other names are none's.
func TestTargetsAreNamed(t *testing.T) {
	for _, x := range targets {
		if got, ok := tile.TargetNamed(x.Name()); !ok || got != x.Target {
			t.Errorf("%s: %v, %v, want %v", x.Name(), got, ok, x.Target)
		}
	}
	for _, name := range []string{"", "cpu", "sm_80", "cpu_v64_r32", "cpu_v64_r32_l1024", "cpu_v64_r32_l1024k ", "cpu_v064_r32_l1024k", "cpu_v48_r32_l1024k", "cpu_v0_r32_l1024k",
		"cpu_v512_r32_l1024k", "cpu_v-64_r32_l1024k", "cpu_v64_r0_l1024k", "cpu_v64_r999_l1024k", "cpu_v64_r32_l0k", "cpu_v64_r32_l-1k", "cpu_v64_r32_l9007199254740992k",
		"cpu_v64_r32_l99999999999999999999k"} {
		if got, ok := tile.TargetNamed(name); ok {
			t.Errorf("%q: %v, want none", name, got)
		}
	}
}
