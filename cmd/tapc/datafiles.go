package main

import (
	"tensortapestry.org/tapc/backends/constants"
	"tensortapestry.org/tapc/ir"
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
