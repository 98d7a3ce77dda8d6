package main

import (
	"context"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"tensortapestry.org/tapc/cmd/tapc/machines"
	"tensortapestry.org/tapc/cost/calibrate"
	"tensortapestry.org/tapc/ir/diag"
)

func calibrateCommand(a *app) *cobra.Command {
	c := &cobra.Command{Use: "calibrate [-o FILE]", Short: "Measure this machine and write a machine file", Long: machines.CalibrateHelp, Args: needFiles(0, 0),
		Example: "  tapc calibrate -o mine.yaml\n  tapc cost model.onnx --machine=./mine.yaml"}
	out := c.Flags().StringP("output", "o", stdName, `file to write; "-" is standard output`)
	return a.command(c, func(ctx context.Context, args []string) error {
		if len(args) > 0 {
			return diag.Usage("calibrate measures this machine, and reads no file: expected nothing, found %q", args[0])
		}
		tapc, err := os.Executable()
		if err != nil {
			return diag.Fault("%w", err)
		}
		dir, remove, err := temporary()
		if err != nil {
			return err
		}
		defer remove()
		m, err := calibrate.Measure(ctx, calibrate.Options{Dir: dir, Budget: 30 * time.Second, Tapc: tapc})
		if err != nil {
			return err
		}
		return a.writeFile(ctx, *out, func(w io.Writer) error { return m.Write(w) })
	})
}
