package onnx

import (
	"context"
	"maps"

	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/frontends/foreign"
	"tensortapestry.org/tapc/frontends/mapping"
	"tensortapestry.org/tapc/frontends/mapping/rules"
	"tensortapestry.org/tapc/frontends/onnx/classic"
	"tensortapestry.org/tapc/ir"
)

// Options are what an import is given besides the model.
type Options struct {
	Dims    map[string]int64         // sizes of symbolic dimensions
	Bind    map[string]*foreign.Data // inputs that become constants
	Tables  []*rules.Table           // rules of the user, tried first
	Library *kernels.Library         // nil for the built-in kernels
	// Unchecked leaves out the checks of indices that the standard asks for.
	Unchecked bool
	// Functions makes definitions of the model's functions, and not their operations of calls.
	Functions bool
}

// Import maps a model to an Operation Expression. Inputs and outputs keep their names. The report is there also with an error, unless the
// graph itself is not sound.
func Import(ctx context.Context, m *Model, o Options) (*ir.Graph, *mapping.Report, error) {
	return mapping.Map(ctx, m.Graph, m.Mapping(o))
}

// Mapping gives what mapping the model's graph is given.
func (m *Model) Mapping(o Options) mapping.Options {
	return mapping.Options{Tables: rules.For("onnx", o.Tables), Dims: o.Dims, Bind: o.Bind,
		Library: o.Library, Natives: Natives(), Bodies: m.Function, Functions: o.Functions, Unchecked: o.Unchecked}
}

// Natives are the operators that rules can not say, by domain and type: control flow, sequences, decision trees and support vector machines.
func Natives() map[string]mapping.Native {
	all := maps.Clone(control)
	maps.Copy(all, sequences)
	maps.Copy(all, classic.Natives())
	return all
}
