package planfile

import (
	"encoding/json"
	"io"
	"slices"
)

// Write writes a plan as Read reads it.
func Write(w io.Writer, p *Plan) error {
	version := int64(Version)
	f := file{Version: &version, Allow: p.Permissions.Words()}
	for _, c := range p.Cuts {
		f.Cuts = append(f.Cuts, fileCut{c.Target, c.Cut.String()})
	}
	for _, a := range p.Mesh {
		f.Mesh = append(f.Mesh, fileAxis{a.Name, a.Size})
	}
	for _, t := range p.Tensors {
		x := fileTensor{Tensor: t.Tensor, Priority: t.Priority, Dims: []string{}}
		for d, axes := range t.Layout.Dims {
			text := p.Mesh.Names(axes)
			if t.Layout.Open[d] {
				text += "?"
			}
			x.Dims = append(x.Dims, text)
		}
		for _, a := range t.Partial {
			x.Partial = append(x.Partial, p.Mesh[a].Name)
		}
		f.Tensors = append(f.Tensors, x)
	}
	for _, c := range p.Choices {
		f.Choices = append(f.Choices, fileChoice{c.Choice, c.Branch})
	}
	for _, x := range p.Recompute {
		f.Again = append(f.Again, fileAgain{x.Tensor})
	}
	if err := writeDevices(&f, p); err != nil {
		return err
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(&f)
}

// writeDevices writes devices as a number if nothing is said of them, and where shards are.
func writeDevices(f *file, p *Plan) (err error) {
	if n := len(p.Devices); n > 0 {
		var v any = n
		if slices.ContainsFunc(p.Devices, func(d Device) bool { return d != Device{} }) {
			v = p.Devices
		}
		if f.Devices, err = json.Marshal(v); err != nil {
			return err
		}
	}
	for _, x := range p.Place {
		out := filePlace{Target: x.Target}
		for _, devices := range x.Shards {
			text, err := json.Marshal(devices)
			if err != nil {
				return err
			}
			out.Devices = append(out.Devices, text)
		}
		f.Place = append(f.Place, out)
	}
	return nil
}
