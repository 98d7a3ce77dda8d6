package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"tensortapestry.org/tapc/cmd/tapc/flagnames"
	"tensortapestry.org/tapc/cmd/tapc/machines"
	"tensortapestry.org/tapc/ir/diag"
)

func calibrateCommand(a *app) *cobra.Command {
	c := &cobra.Command{Use: "calibrate [-o FILE]", Short: "Measure this machine and write a machine file", Long: machines.CalibrateHelp, Args: needFiles(0, 0),
		Example: "  tapc calibrate -o mine.yaml\n  tapc cost model.onnx --machine=./mine.yaml"}
	out := c.Flags().StringP("output", "o", stdName, `file to write; "-" is standard output`)
	flagnames.Texts(c.Flags(), "output")
	return a.command(c, func(ctx context.Context, args []string) error {
		if len(args) > 0 {
			return diag.Usage("calibrate measures this machine, and reads no file: expected nothing, found %q", args[0])
		}
		m, err := machines.Calibrate(ctx)
		if err != nil {
			return err
		}
		return a.writeFile(ctx, *out, func(w io.Writer) error { return m.Write(w) })
	})
}
