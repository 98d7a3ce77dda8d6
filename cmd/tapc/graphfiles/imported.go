package graphfiles

import (
	"bytes"
	"cmp"
	"context"

	"tensortapestry.org/tapc/cmd/tapc/app"
	"tensortapestry.org/tapc/cmd/tapc/codec"
	"tensortapestry.org/tapc/frontends/foreign"
	"tensortapestry.org/tapc/frontends/mapping"
	"tensortapestry.org/tapc/frontends/onnx"
	"tensortapestry.org/tapc/frontends/survey"
	"tensortapestry.org/tapc/ir"
)

// isONNX says whether data begins as a model does: with the version of its IR, and not as tapc's own protobuf form.
func isONNX(data []byte) bool {
	return len(data) > 2 && data[0] == 0x08 && data[1] > 1 && data[1] < 0x40 && !codec.IsWire(data) && bytes.IndexByte([]byte{0x12, 0x1a, 0x22, 0x28, 0x32, 0x3a, 0x42}, data[2]) >= 0
}

// Imported is a graph in a foreign vocabulary that is not mapped yet or, if it is of tapc's own kernels, done.
type Imported struct {
	Own      *ir.Graph
	Foreign  *foreign.Graph
	Options  mapping.Options
	Fault    error  // what a dictionary has against it
	Producer string // "" if the file does not say
}

// graph maps what was read. With --analyze it prints the report and ends.
func (x *Imported) graph(ctx context.Context, a *app.App) (*ir.Graph, error) {
	switch {
	case x.Own != nil:
		return x.Own, a.Imports.NoModel(x.Own.File)
	case a.Imports.Analyze:
		s, err := survey.Look(ctx, x.Foreign, x.Options)
		if err != nil {
			return nil, err
		}
		if err := s.Write(a.Stdout); err != nil {
			return nil, err
		}
		return nil, app.ReportedOr(s.Err)
	}
	if err := cmp.Or(x.Fault, survey.CheckNames(x.Foreign, x.Options.Dims)); err != nil {
		return nil, err
	}
	g, _, err := mapping.Map(ctx, x.Foreign, x.Options)
	return g, err
}

// importONNX reads a model.
func importONNX(a *app.App, data []byte, file string) (*Imported, error) {
	o, err := a.Imports.Options(a.Plugins.Library())
	if err != nil {
		return nil, err
	}
	m, err := onnx.Read(data, file)
	if err != nil {
		return nil, err
	}
	if err := a.Imports.Settle(m.Graph, &o); err != nil {
		return nil, err
	}
	return &Imported{Foreign: m.Graph, Options: m.Mapping(o), Producer: m.Producer}, nil
}
