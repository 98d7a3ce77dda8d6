// Package plandiff is the command `tapc explain plan`: what two plan files ask for, where they differ, in words. It compiles nothing: what a
// difference costs, `tapc cost --plan` says of each. Read next: dialects/application/planfile.
package plandiff

import (
	"fmt"
	"strings"

	"tensortapestry.org/tapc/dialects/application/planfile"
	"tensortapestry.org/tapc/ir/diag"
)

// Files compares two plan files.
func Files(files []string) (string, error) {
	if len(files) != 2 {
		return "", diag.Usage("explain plan compares two plan files: expected another behind %s", files[0])
	}
	first, second := files[0], files[1]
	a, err := planfile.Read(first)
	if err != nil {
		return "", err
	}
	b, err := planfile.Read(second)
	if err != nil {
		return "", err
	}
	return Compare(a, b, first, second), nil
}

// Compare says in lines where two plans differ; names are what the plans are called.
func Compare(a, b *planfile.Plan, first, second string) string {
	w := &words{}
	if x, y := meshText(a.Mesh), meshText(b.Mesh); x != y {
		w.line("mesh: %s, instead of %s", y, x)
	}
	w.differ("cut of", cutsOf(a), cutsOf(b), "is not cut by name")
	w.differ("tensor", tensorsOf(a), tensorsOf(b), "lies as propagation finds")
	w.differ("choice", choicesOf(a), choicesOf(b), "is left to the default")
	if len(w.lines) == 0 {
		return fmt.Sprintf("%s and %s ask for the same\n", first, second)
	}
	return fmt.Sprintf("%s, compared with %s:\n  %s\n%d things are the same\n", second, first, strings.Join(w.lines, "\n  "), w.same)
}

// words collects differences.
type words struct {
	lines []string
	same  int
}

func (w *words) line(format string, args ...any) {
	w.lines = append(w.lines, fmt.Sprintf(format, args...))
}

// said is what a plan says of something, by its name, in the order of the file. Of two sayings the later holds.
type said struct {
	names []string
	value map[string]string
}

func (s *said) add(name, value string) {
	if s.value == nil {
		s.value = map[string]string{}
	}
	if _, known := s.value[name]; !known {
		s.names = append(s.names, name)
	}
	s.value[name] = value
}

// differ says what two plans say differently of the same, and what only one of them speaks of.
func (w *words) differ(what string, a, b said, otherwise string) {
	for _, name := range a.names {
		x := a.value[name]
		switch y, ok := b.value[name]; {
		case !ok:
			w.line("%s %q: %s, instead of %s", what, name, otherwise, x)
		case x != y:
			w.line("%s %q: %s, instead of %s", what, name, y, x)
		default:
			w.same++
		}
	}
	for _, name := range b.names {
		if _, ok := a.value[name]; !ok {
			w.line("%s %q: %s; it %s in the other", what, name, b.value[name], otherwise)
		}
	}
}

// meshText writes a mesh: its axes with their sizes, and the devices together.
func meshText(m planfile.Mesh) string {
	if len(m) == 0 {
		return "one device"
	}
	var axes []string
	for _, a := range m {
		axes = append(axes, fmt.Sprintf("%s=%d", a.Name, a.Size))
	}
	return fmt.Sprintf("%s (%d devices)", strings.Join(axes, ", "), m.Devices())
}

func cutsOf(p *planfile.Plan) (s said) {
	for _, c := range p.Cuts {
		s.add(c.Target, c.Cut.String())
	}
	return s
}

func tensorsOf(p *planfile.Plan) (s said) {
	for _, t := range p.Tensors {
		text := p.Mesh.Text(t.Layout.Dims)
		for d, open := range t.Layout.Open {
			if open {
				text += fmt.Sprintf(", dimension %d open", d)
			}
		}
		if t.Priority != 0 {
			text += fmt.Sprintf(", priority %d", t.Priority)
		}
		parts := int64(1)
		for _, axes := range t.Layout.Dims {
			parts *= p.Mesh.Parts(axes)
		}
		s.add(t.Tensor, fmt.Sprintf("%s, a %s on each device", text, share(parts)))
	}
	return s
}

// share is the part of a tensor that each device has.
func share(parts int64) string {
	if parts == 1 {
		return "whole copy"
	}
	return fmt.Sprintf("1/%d", parts)
}

func choicesOf(p *planfile.Plan) (s said) {
	for _, c := range p.Choices {
		s.add(c.Choice, c.Branch)
	}
	return s
}
