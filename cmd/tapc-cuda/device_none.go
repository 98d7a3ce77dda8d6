//go:build !cuda

package main

import (
	"errors"

	"tensortapestry.org/tapc/internal/cudashim/plan"
)

var errNotBuilt = &deviceError{
	doing: "this tapc-cuda was built without CUDA",
	err:   errors.New("build it with tools/cuda/build.sh OUTPUT (needs gcc and CUDA's headers, which tools/cuda/install.sh fetches; no GPU and no driver)"),
}

func listDevices() ([]deviceInfo, error) { return nil, errNotBuilt }

func runPlan(*plan.Plan, string, int) (*report, error) { return nil, errNotBuilt }
