// Command nvcc is NVIDIA's compiler where there is no GPU: what it makes of a text is no machine code but a shared library of emulated kernels, as the
// driver without a GPU loads (internal/cudashim/fake). It takes the arguments that backends/cuda/toolchain gives, and looks at the names of files alone. Tests put it
// at bin/nvcc of a folder that TAPC_CUDA_HOME names.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"tensortapestry.org/tapc/backends/cuda/emu"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if slices.Equal(args, []string{"--version"}) {
		_, err := fmt.Println("Cuda compilation tools, release 13.0, V13.0.0 (emulated)")
		return err
	}
	at := slices.Index(args, "-o")
	if at < 0 || at+3 != len(args) {
		return errors.New("expected … -o OUTPUT TEXT.cu")
	}
	text, err := os.ReadFile(args[at+2])
	if err != nil {
		return err
	}
	p, err := emu.Compile(context.Background(), string(text), emu.Options{Shared: true, Optimize: "-O0"})
	if err != nil {
		return err
	}
	defer p.Close()
	module, err := os.ReadFile(p.Path)
	if err != nil {
		return err
	}
	return os.WriteFile(args[at+1], module, 0o666)
}
