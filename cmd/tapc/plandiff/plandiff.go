// Package plandiff is the command `tapc explain plan`: what two plan files ask for, where they differ, in words, and what each difference costs and
// gives. It compiles and prices nothing itself. Read next: dialects/application/planfile.
package plandiff

import (
	"fmt"
	"slices"
	"strings"

	"tensortapestry.org/tapc/dialects/application/planfile"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/permission"
)

// Files reads the two plan files that are compared.
func Files(files []string) (a, b *planfile.Plan, err error) {
	if len(files) < 2 {
		return nil, nil, diag.Usage("explain plan compares two plan files: expected another behind %s", files[0])
	}
	if a, err = planfile.Read(files[0]); err != nil {
		return nil, nil, err
	}
	b, err = planfile.Read(files[1])
	return a, b, err
}

// Compare says in lines where two plans differ; names are what the plans are called.
func Compare(a, b *planfile.Plan, first, second string) string {
	list, same := differences(a, b)
	if len(list) == 0 {
		return fmt.Sprintf("%s and %s ask for the same\n", first, second)
	}
	var lines []string
	for _, d := range list {
		lines = append(lines, d.words)
	}
	return fmt.Sprintf("%s, compared with %s:\n  %s\n%d things are the same\n", second, first, strings.Join(lines, "\n  "), same)
}

// difference is one between two plans.
type difference struct {
	words string
	apply func(p *planfile.Plan) // makes it in a plan that is as the first
}

// section is a part of plans: a list of which each has a name and says something.
type section struct {
	what      string // that has the name
	otherwise string // what holds for one of which a plan does not say anything
	entries   func(p *planfile.Plan) []entry
	apply     func(p, from *planfile.Plan, name string) // makes p say of a name what another plan says
}

type entry struct{ name, says string }

// Said is one thing that a plan says.
type Said struct {
	Of        string // what it is about, as `tensor "h"`
	Says      string
	Otherwise string // what holds in a plan that says nothing of it
}

// All gives what a plan says, in order: its mesh and devices first.
func All(p *planfile.Plan) []Said {
	list := []Said{{Of: "mesh", Says: meshText(p.Mesh)}}
	if len(p.Devices) > 0 {
		list = append(list, Said{"devices", devicesText(p.Devices), devicesText(nil)})
	}
	for _, s := range sections {
		for _, e := range byName(s.entries(p)) {
			list = append(list, Said{fmt.Sprintf("%s %q", s.what, e.name), e.says, s.otherwise})
		}
	}
	return list
}

var sections = []section{
	{"cut of", "is not cut by name", cuts, func(p, from *planfile.Plan, name string) {
		p.Cuts = replaced(p.Cuts, from.Cuts, func(c planfile.Cut) bool { return c.Target == name })
	}},
	{"tensor", "lies as propagation finds", tensors, func(p, from *planfile.Plan, name string) {
		p.Tensors = replaced(p.Tensors, from.Tensors, func(t planfile.Annotation) bool { return t.Tensor == name })
	}},
	{"choice", "is left to the default", choices, func(p, from *planfile.Plan, name string) {
		p.Choices = replaced(p.Choices, from.Choices, func(c planfile.Choice) bool { return c.Choice == name })
	}},
	{"tensor that readers share,", "is kept", recomputed, func(p, from *planfile.Plan, name string) {
		p.Recompute = replaced(p.Recompute, from.Recompute, func(x planfile.Recompute) bool { return x.Tensor == name })
	}},
	{"permission", "is not given by the plan", permissions, func(p, from *planfile.Plan, name string) {
		one, _ := permission.Parse(name) // which a plan gives
		p.Permissions = p.Permissions&^one | from.Permissions&one
	}},
	{"place of", "is where propagation finds", places, func(p, from *planfile.Plan, name string) {
		p.Place = replaced(p.Place, from.Place, func(x planfile.Place) bool { return x.Target == name })
	}},
}

// replaced gives a list with other's elements of a kind in place of its own.
func replaced[T any](list, other []T, is func(T) bool) (out []T) {
	for _, x := range list {
		if !is(x) {
			out = append(out, x)
		}
	}
	for _, x := range other {
		if is(x) {
			out = append(out, x)
		}
	}
	return out
}

// differences gives what two plans say differently, and of how many things they say the same. Another mesh comes first, with all layouts of tensors,
// whose axes it has.
func differences(a, b *planfile.Plan) (list []difference, same int) {
	x, y := meshText(a.Mesh), meshText(b.Mesh)
	if x != y {
		list = append(list, difference{fmt.Sprintf("mesh: %s, instead of %s", y, x), func(p *planfile.Plan) { p.Mesh, p.Tensors = b.Mesh, b.Tensors }})
	}
	if m, n := devicesText(a.Devices), devicesText(b.Devices); m != n {
		list = append(list, difference{fmt.Sprintf("devices: %s, instead of %s", n, m), func(p *planfile.Plan) { p.Devices = b.Devices }})
	}
	for _, s := range sections {
		here, there := byName(s.entries(a)), byName(s.entries(b))
		say := func(name, format string, args ...any) {
			list = append(list, difference{fmt.Sprintf("%s %q: ", s.what, name) + fmt.Sprintf(format, args...), func(p *planfile.Plan) { s.apply(p, b, name) }})
		}
		for _, e := range here {
			i := slices.IndexFunc(there, func(o entry) bool { return o.name == e.name })
			switch {
			case i < 0:
				say(e.name, "%s, instead of %s", s.otherwise, e.says)
			case there[i].says != e.says:
				say(e.name, "%s, instead of %s", there[i].says, e.says)
			default:
				same++
			}
		}
		for _, e := range there {
			if !slices.ContainsFunc(here, func(o entry) bool { return o.name == e.name }) {
				say(e.name, "%s; it %s in the other", e.says, s.otherwise)
			}
		}
	}
	return list, same
}

// byName keeps the last entry of each name: of two sayings the later holds.
func byName(list []entry) (out []entry) {
	for _, e := range list {
		if i := slices.IndexFunc(out, func(o entry) bool { return o.name == e.name }); i >= 0 {
			out[i] = e
		} else {
			out = append(out, e)
		}
	}
	return out
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

// devicesText writes how many devices a plan has, with the memory of those whose memory it says.
func devicesText(list []planfile.Device) string {
	if len(list) == 0 {
		return "not said"
	}
	text := fmt.Sprint(len(list))
	for i, d := range list {
		if d.Memory > 0 {
			text += fmt.Sprintf(", %d with %d bytes", i, d.Memory)
		}
	}
	return text
}

func cuts(p *planfile.Plan) (list []entry) {
	for _, c := range p.Cuts {
		list = append(list, entry{c.Target, c.Cut.String()})
	}
	return list
}

func tensors(p *planfile.Plan) (list []entry) {
	for _, t := range p.Tensors {
		text := p.Mesh.Text(t.Layout.Dims)
		for d, open := range t.Layout.Open {
			if open {
				text += fmt.Sprintf(", dimension %d open", d)
			}
		}
		if len(t.Partial) > 0 {
			text += ", partial along " + p.Mesh.Names(t.Partial)
		}
		if t.Priority != 0 {
			text += fmt.Sprintf(", priority %d", t.Priority)
		}
		parts := int64(1)
		for _, axes := range t.Layout.Dims {
			parts *= p.Mesh.Parts(axes)
		}
		list = append(list, entry{t.Tensor, fmt.Sprintf("%s, %s on each device", text, share(parts))})
	}
	return list
}

// share is the part of a tensor that each device has.
func share(parts int64) string {
	if parts == 1 {
		return "a whole copy"
	}
	return fmt.Sprintf("1/%d", parts)
}

func choices(p *planfile.Plan) (list []entry) {
	for _, c := range p.Choices {
		list = append(list, entry{c.Choice, c.Branch})
	}
	return list
}

func recomputed(p *planfile.Plan) (list []entry) {
	for _, x := range p.Recompute {
		list = append(list, entry{x.Tensor, "is computed again for each reader"})
	}
	return list
}

func permissions(p *planfile.Plan) (list []entry) {
	for _, word := range p.Permissions.Words() {
		list = append(list, entry{word, "is given"})
	}
	return list
}

func places(p *planfile.Plan) (list []entry) {
	for _, x := range p.Place {
		list = append(list, entry{x.Target, fmt.Sprint(x.Shards)})
	}
	return list
}
