package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"tensortapestry.org/tapc/cmd/tapc/app"
	"tensortapestry.org/tapc/cmd/tapc/flagnames"
	"tensortapestry.org/tapc/cmd/tapc/machines"
	"tensortapestry.org/tapc/cmd/tapc/progress"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/ir/diag"
)

func calibrateCommand(a *app.App) *cobra.Command {
	c := &cobra.Command{Use: "calibrate [-o FILE] [--devices N]", Short: "Measure this machine and write a machine file", Long: machines.CalibrateHelp, Args: app.NeedFiles(0, 0),
		Example: "  tapc calibrate -o mine.yaml\n  tapc cost model.onnx --machine=./mine.yaml\n  tapc calibrate --devices=2 -o two.yaml"}
	out := c.Flags().StringP("output", "o", app.Standard, `file to write; "-" is standard output`)
	flagnames.Files(c.Flags(), flagnames.Written, "output")
	devices := c.Flags().Int64("devices", 1, "devices of one host that the machine's cores are divided into")
	p := progress.Flag{}
	p.Add(c.Flags())
	return a.Command(c, func(ctx context.Context, args []string) error {
		if len(args) > 0 {
			return diag.Usage("calibrate measures this machine, and reads no file: expected nothing, found %q", args[0])
		}
		target, _ := app.OwnBackends().For(schedule.Host).Native(ctx) // without a compiler there is none, which building says
		m, err := machines.Calibrate(ctx, target, *devices, a.Stderr, &p)
		if err != nil {
			return err
		}
		return a.WriteFile(ctx, *out, func(w io.Writer) error { return m.Write(w) })
	})
}
