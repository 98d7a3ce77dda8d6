// Package gpu times launch lists on the GPU of this machine, by the program tapc-cuda, which loads the driver: tapc itself needs neither, and a kernel that fails or
// hangs takes a process of its own with it. It must not import gorgonia.org/cu, and knows nothing of graphs. Read next: cmd/tapc-cuda; backends/cuda/lab.go, which
// uses it.
package gpu

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"tensortapestry.org/tapc/internal/childproc"
	"tensortapestry.org/tapc/ir/diag"
)

// Codes of what a machine lacks to measure kernels of a GPU.
const (
	codeProgram = "TAP0921" // there is no tapc-cuda
	codeDevice  = "TAP0922" // there is no driver, or no GPU that can be used
	codeAnswer  = "TAP0923" // tapc-cuda says what it never does
)

// Name is that of the program.
const Name = "tapc-cuda"

// Device is a GPU, as tapc-cuda describes it.
type Device struct {
	Ordinal           int    `json:"ordinal"`
	Name              string `json:"name"`
	ComputeCapability string `json:"compute_capability"` // such as "9.0"
	Multiprocessors   int    `json:"multiprocessors"`
	MemoryBytes       int64  `json:"memory_bytes"`
	SharedBytes       int    `json:"shared_bytes"` // a block may have, when asked for
	Driver            int    `json:"driver"`       // such as 13000 for 13.0
}

// Runner runs launch lists on a GPU.
type Runner struct {
	Program  string // the path of tapc-cuda
	Device   Device
	Patience time.Duration // that an answer may take
}

// Find finds tapc-cuda, beside this program or on PATH, and the first GPU that the driver has. The error says what was looked for, and where.
func Find(ctx context.Context) (*Runner, error) {
	program, err := find()
	if err != nil {
		return nil, err
	}
	cmd := childproc.Command(ctx, program, "devices")
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	if err := childproc.Run(ctx, cmd); err != nil {
		if ended := context.Cause(ctx); ended != nil {
			return nil, ended
		}
		why := strings.TrimSpace(strings.TrimPrefix(firstLine(problems.String()), program+": "))
		if why == "" {
			why = err.Error()
		}
		return nil, fault(codeDevice, "no GPU was found, as the CUDA driver's library, libcuda.so.1, cannot be loaded or does not answer").
			Want("a driver, and a GPU", "of "+program+" devices: "+why).
			WithHint("install NVIDIA's driver, or measure on a machine with a GPU")
	}
	var devices []Device
	switch err := json.Unmarshal(out.Bytes(), &devices); {
	case err != nil:
		return nil, garbled("devices", "a list of devices", out.String())
	case len(devices) == 0:
		return nil, fault(codeDevice, "the CUDA driver has no GPU").Want("one at least", "none").WithHint("CUDA_VISIBLE_DEVICES says which there are")
	}
	d := devices[0]
	if _, _, err := d.Capability(); err != nil || d.Name == "" || d.Multiprocessors < 1 {
		return nil, garbled("devices", "a GPU with a name, multiprocessors and a compute capability", firstLine(out.String()))
	}
	return &Runner{Program: program, Device: d, Patience: patience}, nil
}

// fault is what is wrong with the machine.
func fault(code, format string, args ...any) diag.Diagnostic {
	return diag.Errorf(code, "gpu", diag.Location{}, format, args...)
}

// garbled is the error of an answer that tapc-cuda never gives.
func garbled(to, want, found string) error {
	const shown = 200
	if len(found) > shown {
		found = found[:shown] + "…"
	}
	return fault(codeAnswer, "%s answers %s with what it never says", Name, to).Want(want, strconv.Quote(strings.TrimSpace(found))).
		WithHint("is it the %s of this version of tapc?", Name)
}

// find finds the program.
func find() (string, error) {
	var tried []string
	if self, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(self), Name)
		if _, err := exec.LookPath(beside); err == nil {
			return beside, nil
		}
		tried = append(tried, "beside "+self)
	}
	path, err := exec.LookPath(Name)
	if err == nil {
		return path, nil
	}
	if !errors.Is(err, exec.ErrNotFound) {
		return "", err
	}
	return "", fault(codeProgram, "no %s was found, by which kernels are measured on a GPU", Name).
		Want(Name+" "+strings.Join(append(tried, "on PATH"), ", or "), "none").
		WithHint("build it with tools/cuda/build.sh OUTPUT, which needs gcc and CUDA's headers, but no GPU and no driver")
}

// Capability gives the two numbers of the compute capability.
func (d Device) Capability() (major, minor int, err error) {
	a, b, _ := strings.Cut(d.ComputeCapability, ".")
	if major, err = strconv.Atoi(a); err == nil {
		minor, err = strconv.Atoi(b)
	}
	if err == nil && (major < 1 || minor < 0) {
		err = fmt.Errorf("compute capability %q", d.ComputeCapability)
	}
	return major, minor, err
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}
