package main

import (
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tensortapestry.org/tapc/cmd/tapc/app"
	"tensortapestry.org/tapc/cmd/tapc/report"
)

// TestFlagsOfReports holds each flag with a text for a value, of any command that takes a graph, to be one of which reports know whether it names files.
func TestFlagsOfReports(t *testing.T) {
	seen := 0
	var look func(c *cobra.Command)
	look = func(c *cobra.Command) {
		if c.Name() == "plugin" || c.Name() == "report" || c.Name() == "completion" { // they take no graph
			return
		}
		c.InheritedFlags()
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if kind := f.Value.Type(); kind != "string" && kind != "strings" && kind != "stringArray" {
				return
			}
			if seen++; !report.Known(f.Name) {
				t.Errorf("tapc %s --%s: cmd/tapc/report/words.go does not say whether it names files", c.Name(), f.Name)
			}
		})
		for _, sub := range c.Commands() {
			look(sub)
		}
	}
	look(root(app.New(nil, nil, nil)))
	if seen < 100 {
		t.Errorf("%d flags", seen)
	}
}
