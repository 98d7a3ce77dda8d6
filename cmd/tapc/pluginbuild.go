package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/passes/pipeline"
	"tensortapestry.org/tapc/plugins/host"
)

// buildWith hands a compiled graph to the back end of a plugin and writes the files that it makes into a directory, all of
// them or none. The back end is named with its settings as a pass is: NAME or NAME{OPTION=VALUE,...}.
func (a *app) buildWith(ctx context.Context, c *compilation, text, program, dir string) error {
	b, settings, err := a.plugins.backend(text)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return diag.Fault("%w", err)
	}
	made, err := os.MkdirTemp(dir, ".tapc-")
	if err != nil {
		return diag.Fault("%w", err)
	}
	defer os.RemoveAll(made)
	p, err := b.open(ctx)
	if err != nil {
		return err
	}
	out, err := p.Emit(ctx, host.Request{Backend: b.Name, Program: program, Settings: settings, Dir: made}, c.g)
	if err != nil {
		return err
	}
	a.report(out.Found)
	if out.Found.HasErrors() {
		return errReported{}
	}
	for _, name := range out.Files {
		if info, err := os.Stat(filepath.Join(dir, name)); err == nil && !info.Mode().IsRegular() {
			return diag.Fault("%s is in the way", filepath.Join(dir, name))
		} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return diag.Fault("%w", err)
		}
	}
	for _, name := range out.Files {
		if err := os.Rename(filepath.Join(made, name), filepath.Join(dir, name)); err != nil {
			return diag.Fault("%w", err)
		}
	}
	return nil
}

// backend finds the back end that a text names, with its settings.
func (s *pluginSet) backend(text string) (*pluginBackend, []pipeline.Setting, error) {
	name, _, _ := strings.Cut(text, "{")
	var names []string
	for i := range s.backends {
		b := &s.backends[i]
		if names = append(names, b.Name); b.Name != name {
			continue
		}
		// A back end's options are written as a pass's are, so the one parser reads both.
		row := pipeline.Pass{Name: b.Name, Options: b.Options}
		p, err := pipeline.ParsePipeline(text, &pipeline.Table{Passes: []pipeline.Pass{row}})
		if err != nil {
			return nil, nil, inFlag(err, "--backend")
		}
		if len(p.Steps) != 1 || p.Steps[0].Pass == nil {
			return nil, nil, diag.Usage("--backend %q: expected NAME or NAME{OPTION=VALUE,...}", text)
		}
		return b, p.Steps[0].Settings, nil
	}
	if len(names) == 0 {
		return nil, nil, diag.Usage("--backend %q: no plugin provides a back end; name one with --plugin or install one", text)
	}
	return nil, nil, unknown("back end", name, names)
}

// inFlag gives the findings of a parser that reads the text of another flag.
func inFlag(err error, flag string) error {
	list := slices.Clone(diag.FromError(err))
	for i := range list {
		list[i].Location.File = flag
	}
	return &diag.StatusError{Status: diag.ExitUsage, Err: list}
}
