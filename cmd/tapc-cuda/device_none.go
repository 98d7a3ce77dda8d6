//go:build !cuda

package main

import (
	"errors"
	"io"

	"tensortapestry.org/tapc/internal/cudashim/launchlist"
)

var errNotBuilt = &deviceError{
	doing: "this tapc-cuda was built without CUDA",
	err:   errors.New("build it with tools/cuda/build.sh OUTPUT (needs gcc and CUDA's headers, which tools/cuda/install.sh fetches; no GPU and no driver)"),
}

func listDevices() ([]deviceInfo, error) { return nil, errNotBuilt }

func runList(*launchlist.List, string, int) (*report, error) { return nil, errNotBuilt }

func timeList(*launchlist.List, string, int, io.Reader, io.Writer) error { return errNotBuilt }
