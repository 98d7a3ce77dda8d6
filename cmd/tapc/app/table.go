package app

import (
	"tensortapestry.org/tapc/backends"
	"tensortapestry.org/tapc/backends/cpu"
	"tensortapestry.org/tapc/backends/cuda"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/passes/pipeline"
	"tensortapestry.org/tapc/passes/standard"
)

// Passes is the pass table. Plugins have rows of their own, see pluginSet.table.
func Passes() *pipeline.Table { return standard.Table(kernels.Builtin(), OwnBackends().Choosers()...) }

// OwnBackends lists tapc's back ends. Plugins have rows of their own, see pluginSet.list.
func OwnBackends() backends.List { return backends.List{cpu.Backend(), cuda.Backend()} }
