// Package datanames gives the data files that constants name other names: where a graph is written elsewhere, it must find them from there.
//
// Names in graphs are relative to a folder, and lead into it or below. Read next: backends/constants, which finds files by them.
package datanames

import (
	"fmt"
	"os"
	"path/filepath"

	"tensortapestry.org/tapc/backends/constants"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/frontends/amanda"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
)

// Rename gives the data file that a constant names another name.
type Rename func(file string) (string, error)

// Graph renames the data files that the constants of a graph name.
func Graph(g *ir.Graph, to Rename) error {
	for n := range g.Nodes() {
		op, ok := n.Body.(*tensorops.Operation)
		if !ok || !op.IsSource() {
			continue
		}
		params, err := renamedIn(op.Params, to)
		if err != nil {
			return fmt.Errorf("%s: %w", g.Name(n.ID), err)
		}
		op.Params = params
	}
	return nil
}

// Amanda does the same for the constants of an Amanda graph.
func Amanda(ops []*amanda.Op, to Rename) error {
	for _, o := range ops {
		attrs, err := renamedIn(o.Attrs, to)
		if err == nil {
			err = Amanda(o.Ops, to)
		}
		if err != nil {
			return err
		}
		o.Attrs = attrs
	}
	return nil
}

func renamedIn(attrs ir.Attrs, to Rename) (ir.Attrs, error) {
	file, ok := attrs.Get("file")
	if !ok || file.Kind != ir.AttrString {
		return attrs, nil
	}
	name, err := to(file.Str)
	if err != nil || name == file.Str {
		return attrs, err
	}
	return attrs.With("file", ir.StringAttr(name)), nil
}

// SeenFrom gives the names that data files have in a graph that is written to a file: relative to that file's folder, in which
// or below which they must be. What goes to standard output or to a device keeps names relative to the folder of the data.
func SeenFrom(out string, from *constants.Loader) Rename {
	dir, fixed := filepath.Dir(out), false
	if info, err := os.Stat(out); out == "-" || err == nil && !info.Mode().IsRegular() {
		dir, fixed = from.Dir, true
	}
	return func(file string) (string, error) {
		path, err := from.Path(file)
		if err != nil {
			return file, nil // no name that could be read where the graph was
		}
		name, err := filepath.Rel(realDir(dir), filepath.Join(realDir(filepath.Dir(path)), filepath.Base(path)))
		switch {
		case err == nil && filepath.IsLocal(name):
			return filepath.ToSlash(name), nil
		case fixed:
			return file, nil
		}
		return "", diag.Usage("-o %s: a constant is in the file %s, and a graph can only name files in its own folder or below: write it to %s, "+
			"or to standard output, which keeps names as they are for --data-dir=%s", out, path, filepath.Dir(path), from.Dir)
	}
}

// realDir gives a folder's absolute name without symbolic links, as far as it is there.
func realDir(dir string) string {
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	return dir
}

// LinkedIn gives the names that data files have in a graph that is written to a folder of tapc's own: symbolic links, which it
// makes, lead from there to the files. Names that a graph may have stay as they are.
func LinkedIn(dir string, from *constants.Loader) Rename {
	made := map[string]string{}
	return func(file string) (string, error) {
		if name, ok := made[file]; ok {
			return name, nil
		}
		path, err := from.Path(file)
		if err != nil {
			return file, nil
		}
		name := file
		if !filepath.IsLocal(file) {
			name = fmt.Sprintf("data%d%s", len(made), filepath.Ext(file))
		}
		made[file] = name
		link := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(link), 0o777); err != nil {
			return "", diag.Fault("%w", err)
		}
		if err := os.Symlink(filepath.Join(realDir(filepath.Dir(path)), filepath.Base(path)), link); err != nil {
			return "", diag.Fault("%w", err)
		}
		return name, nil
	}
}
