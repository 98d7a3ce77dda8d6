package irtest

import "tensortapestry.org/tapc/dialects/tensorops/definition"

// definition draws a definition whose names, ranges and steps need not agree.
func (r *random) definition() *definition.Definition {
	d := &definition.Definition{Name: r.word(), Inputs: []definition.Formal{}, Outputs: []definition.Given{}, Steps: []definition.Step{}}
	for range r.upTo(2) {
		d.Inputs = append(d.Inputs, definition.Formal{Port: r.ident(), DType: r.dtype(), Range: r.box()})
	}
	for range r.upTo(2) {
		d.Outputs = append(d.Outputs, definition.Given{Port: r.ident(), Value: r.word()})
	}
	for range r.upTo(2) {
		s := definition.Step{Kernel: r.word(), Params: r.attrs(2), Inputs: []definition.Use{}, Makes: []definition.Made{}, Label: r.label()}
		for range r.upTo(2) {
			s.Inputs = append(s.Inputs, definition.Use{Port: r.ident(), Value: r.word(), Range: r.box()})
		}
		for range r.upTo(2) {
			s.Makes = append(s.Makes, definition.Made{Port: r.ident(), Value: r.word(), DType: r.dtype(), Range: r.box()})
		}
		d.Steps = append(d.Steps, s)
	}
	return d
}
