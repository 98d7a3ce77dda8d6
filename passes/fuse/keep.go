package fuse

import (
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/ir"
)

// keep cuts a kernel that moves parts into an output over an input: of the parts that stay where they are, each becomes a kernel that changes
// nothing, and what computes the others can store them in place.
func (f *fuser) keep(id ir.NodeID, k *schedule.Kernel, may func(kernel ir.NodeID) bool) bool {
	parts, ok := partsOf(k)
	if !ok || len(parts) < 2 {
		return false
	}
	to := k.Operands[k.Statements[len(k.Statements)-1].Store].Buffer
	b, ok := body[*schedule.Buffer](f.g, to)
	if !ok || b.Over == ir.NoNode {
		return false
	}
	kept := false
	for _, p := range parts {
		kept = kept || k.Operands[p.load].Buffer == b.Over
	}
	app, single := f.application(k)
	if !kept || !single || !may(id) {
		return false
	}
	f.scatter(id, k, parts, app)
	return true
}

// changes says whether a kernel reads an input whose cells change while the program runs, as an output lies over it: what is moved from there
// may have to be read at once.
func (f *fuser) changes(k *schedule.Kernel) bool {
	for _, o := range k.Operands {
		output, shared := f.over[o.Buffer]
		if !shared || o.Mode != schedule.Read {
			continue
		}
		for n := range f.g.Nodes() {
			if w, ok := n.Body.(*schedule.Kernel); ok && w.Writes(output) && !w.Keeps(output, o.Buffer) {
				return true
			}
		}
	}
	return false
}

// storesOver says whether a kernel stores to an output over an input that another reads: they can not be one, which would read what it stores over.
func (f *fuser) storesOver(writer, reader *schedule.Kernel) bool {
	for _, o := range reader.Operands {
		if output, shared := f.over[o.Buffer]; shared && o.Mode == schedule.Read && writer.Writes(output) {
			return true
		}
	}
	return false
}
