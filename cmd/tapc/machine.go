package main

import (
	"context"

	"github.com/spf13/cobra"

	"tensortapestry.org/tapc/cmd/tapc/app"
	"tensortapestry.org/tapc/cmd/tapc/flagnames"
	"tensortapestry.org/tapc/cmd/tapc/machines"
	"tensortapestry.org/tapc/cost/collective"
	"tensortapestry.org/tapc/cost/machine"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/passes/standard"
)

func machineCommand(a *app.App) *cobra.Command {
	c := &cobra.Command{Use: "machine [NAME]", Short: "Print machine files: devices, rates and links", Long: machines.Help, Args: app.NeedFiles(0, 1),
		Example: "  tapc machine\n  tapc machine 8xh100 >mine.yaml\n  tapc machine ./mine.yaml\n  tapc machine --schema"}
	schema := c.Flags().Bool("schema", false, "print the JSON schema of machine files")
	priced := c.Flags().String("collective", "", "price a collective, KIND=SIZE, among the devices of the first kind: all-reduce=1 GB")
	flagnames.Check(c.Flags(), "collective", collective.Kinds, machines.CheckCollective)
	return a.Command(c, func(_ context.Context, args []string) error {
		switch {
		case *schema && len(args) > 0:
			return diag.Usage("--schema is that of all machine files: expected no name beside it")
		case *schema:
			return machines.Schema(a.Stdout)
		case *priced != "" && len(args) == 1:
			return machines.Collectives(a.Stdout, args[0], *priced)
		case *priced != "":
			return diag.Usage("--collective=%s is priced on a machine: expected its name", *priced)
		case len(args) == 0:
			return machines.List(a.Stdout)
		}
		return machines.Print(a.Stdout, args[0], func(m *machine.Machine) error {
			_, err := standard.On(m, app.OwnBackends().Choosers())
			return err
		})
	})
}
