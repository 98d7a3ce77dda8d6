package app

import (
	"context"

	"tensortapestry.org/tapc/backends"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/plugins/host"
)

// pluginBackend makes the row of a plugin's back end. What it finds wrong with a graph is reported.
func pluginBackend(b host.Backend, plugin string, open host.Opener, report func(diag.List)) backends.Backend {
	dir := func(ctx context.Context, j *backends.Job, dir string) error {
		if len(b.Devices) > 0 {
			if err := backends.Scheduled(j.Graph, b.Name, b.Devices...); err != nil {
				return err
			}
		}
		p, err := open(ctx)
		if err != nil {
			return err
		}
		out, err := p.Emit(ctx, host.Request{Backend: b.Name, Program: j.Program, Settings: j.Values.Given(), Dir: dir}, j.Graph)
		if err != nil {
			return err
		}
		report(out.Found)
		if out.Found.HasErrors() {
			return Reported{}
		}
		return nil
	}
	return backends.Backend{Name: b.Name, Doc: b.Doc, Plugin: plugin, Devices: b.Devices,
		Outputs: []backends.Output{{Name: "files", Doc: "its files, in a directory", Options: b.Options, Dir: dir}}}
}
