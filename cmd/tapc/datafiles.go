package main

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

// loader gives what finds and loads the data files that a graph names, which was read from a file: in the folder of that file or
// in the one that the flags name. A pipeline may name further files.
func (f *pipelineFlags) loader(g *ir.Graph, paths []string) *constants.Loader {
	l := f.app.loaderOf(g)
	l.Allowed = paths
	if f.dataDir != "" {
		l.Dir = f.dataDir
	}
	return l
}

// loaderOf does the same where no flags say where data files are.
func (a *app) loaderOf(g *ir.Graph) *constants.Loader { return &constants.Loader{Dir: a.dirOf(g)} }

// rename gives the data file that a constant names another name.
type rename func(file string) (string, error)

// renameData renames the data files that the constants of a graph name.
func renameData(g *ir.Graph, to rename) error {
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

// renameAmandaData does the same for the constants of an Amanda graph.
func renameAmandaData(ops []*amanda.Op, to rename) error {
	for _, o := range ops {
		attrs, err := renamedIn(o.Attrs, to)
		if err == nil {
			err = renameAmandaData(o.Ops, to)
		}
		if err != nil {
			return err
		}
		o.Attrs = attrs
	}
	return nil
}

func renamedIn(attrs ir.Attrs, to rename) (ir.Attrs, error) {
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

// seenFrom gives the names that data files have in a graph that is written to a file: relative to that file's folder, in which
// or below which they must be. What goes to standard output or to a device keeps names relative to the folder of the data.
func seenFrom(out string, from *constants.Loader) rename {
	dir, fixed := filepath.Dir(out), false
	if info, err := os.Stat(out); out == stdName || err == nil && !info.Mode().IsRegular() {
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

// linkedIn gives the names that data files have in a graph that is written to a folder of tapc's own: symbolic links, which it
// makes, lead from there to the files. Names that a graph may have stay as they are.
func linkedIn(dir string, from *constants.Loader) rename {
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
