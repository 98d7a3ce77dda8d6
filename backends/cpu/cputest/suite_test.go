package cputest_test

import (
	"context"
	"os"
	"testing"

	"tensortapestry.org/tapc/backends/conformance"
	"tensortapestry.org/tapc/backends/cpu/cputest"
	"tensortapestry.org/tapc/backends/cpu/toolchain"
	"tensortapestry.org/tapc/internal/testkit"
)

func TestMain(m *testing.M) { os.Exit(cputest.Main(m)) }

func TestConformance(t *testing.T) {
	conformance.Run(t, cputest.Device, cputest.Strictly(cputest.Compiler(t))(nil))
}

// TestExamples runs the example graphs, built by one compiler or the other.
func TestExamples(t *testing.T) {
	chosen := testkit.Rotation(t) % 2
	for i, name := range []string{"gcc", "clang"} {
		if uint64(i) != chosen && !testkit.Full() {
			continue
		}
		t.Run(name, func(t *testing.T) {
			conformance.Examples(t, "../../..", cputest.Device, cputest.Strictly(cputest.Compiler(t, name)))
		})
	}
}

// TestViews builds views around windows, which take turns.
func TestViews(t *testing.T) {
	conformance.Views(t, cputest.Device, 4, cputest.Strictly(cputest.Compiler(t))(nil))
}

// TestVersions runs every case on the versions of a portable program that this machine can run.
func TestVersions(t *testing.T) {
	cc := cputest.Compiler(t)
	targets, err := cc.Targets(context.Background(), toolchain.Portable)
	if err != nil {
		t.Fatal(err)
	}
	for _, target := range targets[1:] {
		t.Run(target.Name, func(t *testing.T) {
			conformance.Run(t, cputest.Device, cputest.Executes(cc, target.Name, []string{"-Wall", "-Wextra", "-Werror"})(nil))
		})
	}
}
