// Command tapc-cuda runs launch lists on an NVIDIA GPU: it loads a module of compiled kernels, fills
// buffers from files, launches, times by the device's own clock, and writes buffers to files. tapc tune
// measures the kernels of a GPU by it (backends/cuda/gpu).
//
// It is the one program that uses gorgonia.org/cu, and it is a program of its own because that package
// ends a process that has no driver. Its body is built with the tag cuda, by tools/cuda/build.sh;
// without the tag, which needs neither cgo nor any CUDA file, it only says so. Read next:
// internal/cudashim/launchlist for the form of a launch list, device_cuda.go for how it is run.
//
// Exit status: 0 done, 1 the list or a file of it is at fault, 2 usage, 3 the device, the driver or
// this build cannot do it.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"tensortapestry.org/tapc/backends/cuda/gpu"
	"tensortapestry.org/tapc/internal/cudashim/launchlist"
)

const usage = `usage: tapc-cuda devices
       tapc-cuda run [-device N] LAUNCHES.json
       tapc-cuda time [-device N] LAUNCHES.json

devices  prints the GPUs as JSON
run      runs a launch list on a GPU and prints times as JSON
time     runs a launch list once and prints the GPU as a line of JSON; then, for each line of its input, a number,
         it runs the list so many times and prints a line of JSON with what that took; it ends with its input
`

// Exit statuses.
const (
	exitInput  = 1
	exitUsage  = 2
	exitDevice = 3
)

// deviceError is a failure of the device, the driver or this build.
type deviceError struct {
	doing string
	err   error
}

func (e *deviceError) Error() string { return e.doing + ": " + e.err.Error() }
func (e *deviceError) Unwrap() error { return e.err }

// deviceInfo describes a GPU.
type deviceInfo = gpu.Device

// report is what a run took, by the device's events.
type report struct {
	Device   deviceInfo     `json:"device"`
	PassesMS []float64      `json:"passes_ms"` // all launches together, one number a repeat
	Launches []launchReport `json:"launches"`
}

// launchReport is what one launch took in passes with an event after every launch.
type launchReport struct {
	Kernel string    `json:"kernel"`
	MS     []float64 `json:"ms"` // one number a repeat
}

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	result, err := command(args, stdin, stdout)
	if err == nil && result != nil {
		err = writeJSON(stdout, result)
	}
	var device *deviceError
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errUsage):
		fmt.Fprint(stderr, usage)
		return exitUsage
	case errors.As(err, &device):
		fmt.Fprintf(stderr, "tapc-cuda: %v\n", err)
		return exitDevice
	}
	fmt.Fprintf(stderr, "tapc-cuda: %v\n", err)
	return exitInput
}

var errUsage = errors.New("usage")

// command returns the value to print as JSON, nil for none.
func command(args []string, stdin io.Reader, stdout io.Writer) (any, error) {
	if len(args) == 0 {
		return nil, errUsage
	}
	flags := flag.NewFlagSet("tapc-cuda", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	device := flags.Int("device", 0, "")
	verb := args[0]
	if err := flags.Parse(args[1:]); err != nil {
		return nil, errUsage
	}
	switch {
	case verb == "help" || verb == "-h" || verb == "--help":
		_, err := io.WriteString(stdout, usage)
		return nil, err
	case verb == "devices" && flags.NArg() == 0:
		return listDevices()
	case (verb == "run" || verb == "time") && flags.NArg() == 1:
		path := flags.Arg(0)
		p, err := launchlist.Read(path)
		switch {
		case err != nil:
			return nil, err
		case verb == "time":
			return nil, timeList(p, filepath.Dir(path), *device, stdin, stdout)
		}
		return runList(p, filepath.Dir(path), *device)
	}
	return nil, errUsage
}

func writeJSON(w io.Writer, value any) error {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s\n", text)
	return err
}
