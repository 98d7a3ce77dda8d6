// Package devices says how the steps of a program for several devices run beside each other: which device carries out each, in what order, and for which
// steps of others it waits; and writes that in C around them.
//
// Every device carries its steps out in the order of the program, and counts them. What a step waits for on its own device has been done then; of another device
// it waits for a count. A transfer is carried out by the device that it brings something to, but for what it brings to the caller: that the device
// copies which has it, so that all devices do their part.
//
// It knows no kernel; it must not import backends/cpu. Read next: devices.go, and runtime/csrc/devices.c, which carries
// it out.
package devices

import (
	"cmp"
	"fmt"
	"slices"

	"tensortapestry.org/tapc/backends/cexpr"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/ir"
)

// Plan is who carries out which step.
type Plan struct {
	Devices     []Device // by ascending number
	Steps       []Step   // as the program's
	Collectives []Collective
	host        int // the device that has what is looked at when the program ends
}

// Device is a device with what it holds, and what is copied between it and others in a run, in bytes; and how many kernels and copies it carries out.
type Device struct {
	Name      string `json:"name"`
	Arena     int64  `json:"arena_bytes"`
	Constants int64  `json:"constants_bytes"`
	Received  int64  `json:"received_bytes"`
	Sent      int64  `json:"sent_bytes"`
	Kernels   int    `json:"kernels"`
	Copies    int    `json:"copies"`
	Aliased   int    `json:"aliased"` // transfers that need no copy
	id        ir.NodeID
}

// Step is a step of the program: Device is an index of Plan.Devices.
type Step struct {
	Device int
	Number int    // among the steps of the device, from 1
	Waits  []Wait // for others, by ascending device
	Known  bool   // some step of another device waits for it
	Copies bool   // it is a transfer
	Part   string // the name of the collective that it is a part of
}

// Wait is for a device to have done so many of its steps.
type Wait struct{ Device, Steps int }

// Of makes the plan of a program whose steps are in an order that respects what they wait for; nil for one device. Checks are the tensors whose values the
// program looks at when it ends.
func Of(g *ir.Graph, steps []ir.NodeID, checks []ir.NodeID) *Plan {
	p := &Plan{}
	for n := range g.Nodes() {
		if d, ok := n.Body.(*schedule.Device); ok {
			p.Devices = append(p.Devices, Device{Name: fmt.Sprintf("%v%d", d.Type, d.Number), id: n.ID})
		}
	}
	if len(p.Devices) < 2 {
		return nil
	}
	number := func(d Device) int64 { return g.Node(d.id).Body.(*schedule.Device).Number }
	slices.SortStableFunc(p.Devices, func(a, b Device) int { return cmp.Compare(number(a), number(b)) })
	index := map[ir.NodeID]int{}
	for i, d := range p.Devices {
		index[d.id] = i
	}
	p.hold(g, index, checks)
	done, at := make([]int, len(p.Devices)), map[ir.NodeID]int{}
	for i, id := range steps {
		d := index[carrier(g, g.Node(id), checks)]
		done[d]++
		at[id] = i
		t, copies := g.Node(id).Body.(*schedule.Transfer)
		p.Steps = append(p.Steps, Step{Device: d, Number: done[d], Copies: copies})
		if !copies {
			p.Devices[d].Kernels++
			continue
		}
		if t.Aliased(g) {
			p.Devices[d].Aliased++
			continue
		}
		p.Devices[d].Copies++
		from, to := g.Node(t.From).Body.(*schedule.Buffer), g.Node(t.To).Body.(*schedule.Buffer)
		if from.Device != to.Device {
			cells, _ := t.Box(from).Size()
			bytes := cells * int64(from.Type().Size())
			p.Devices[index[from.Device]].Sent += bytes
			p.Devices[index[to.Device]].Received += bytes
		}
	}
	p.wait(g, steps, at)
	p.collectives(g, steps)
	return p
}

// hold finds what devices hold.
func (p *Plan) hold(g *ir.Graph, index map[ir.NodeID]int, checks []ir.NodeID) {
	for n := range g.Nodes() {
		b, ok := n.Body.(*schedule.Buffer)
		if !ok {
			continue
		}
		switch d := &p.Devices[index[b.Device]]; {
		case b.InArena():
			d.Arena = max(d.Arena, b.Offset+b.Bytes)
		case b.Space == schedule.Constant:
			d.Constants += b.Bytes
		case b.Space == schedule.Output:
			if slices.Contains(checks, b.Tensor) {
				p.host = index[b.Device]
			}
		}
	}
}

// carrier gives the device that carries out a step.
func carrier(g *ir.Graph, step *ir.Node, checks []ir.NodeID) ir.NodeID {
	t, ok := step.Body.(*schedule.Transfer)
	if !ok {
		return step.Body.(*schedule.Kernel).Device
	}
	from, to := g.Node(t.From).Body.(*schedule.Buffer), g.Node(t.To).Body.(*schedule.Buffer)
	if to.Space == schedule.Output && !slices.Contains(checks, to.Tensor) {
		return from.Device
	}
	return to.Device
}

// wait finds what steps wait for: of each other device the last step among those that must be done before, unless a step of the same device waited for that already.
func (p *Plan) wait(g *ir.Graph, steps []ir.NodeID, at map[ir.NodeID]int) {
	waited := make([]map[int]int, len(p.Devices))
	for i, id := range steps {
		s := &p.Steps[i]
		last := map[int]int{}
		after, _ := schedule.After(g.Node(id))
		for _, dep := range after {
			if j, ok := at[dep]; ok && p.Steps[j].Device != s.Device {
				x := p.Steps[j]
				last[x.Device] = max(last[x.Device], x.Number)
			}
		}
		if waited[s.Device] == nil {
			waited[s.Device] = map[int]int{}
		}
		for d, n := range last {
			if waited[s.Device][d] < n {
				waited[s.Device][d] = n
				s.Waits = append(s.Waits, Wait{d, n})
			}
		}
		slices.SortFunc(s.Waits, func(a, b Wait) int { return cmp.Compare(a.Device, b.Device) })
	}
	p.mark()
}

// mark finds the steps that others wait for.
func (p *Plan) mark() {
	known := map[Wait]bool{}
	for _, s := range p.Steps {
		for _, w := range s.Waits {
			known[w] = true
		}
	}
	for i, s := range p.Steps {
		p.Steps[i].Known = known[Wait{s.Device, s.Number}]
	}
}

// Tables writes the table of devices, and that of who carries out which step, in C.
func (p *Plan) Tables(prefix string) string {
	if p == nil {
		return ""
	}
	text := fmt.Sprintf("static const tapc_device %sdevices[] = {\n", prefix)
	for _, d := range p.Devices {
		text += fmt.Sprintf("  {%s, %d, %d, %d, %d},\n", cexpr.String(d.Name), d.Arena, d.Constants, d.Received, d.Sent)
	}
	text += fmt.Sprintf("};\n\nstatic const tapc_owner %sowners[] = {", prefix)
	for i, s := range p.Steps {
		if i%16 == 0 {
			text += "\n "
		}
		text += fmt.Sprintf(" {%d, %d},", s.Device, map[bool]int{true: 1}[s.Copies])
	}
	return text + "\n};\n\n"
}

// Fields gives the fields of a program that name these tables.
func (p *Plan) Fields(prefix string) string {
	if p == nil {
		return ""
	}
	return fmt.Sprintf("  .devices = %sdevices,\n  .owners = %sowners,\n", prefix, prefix)
}

// Open gives the C before a step: who carries it out, and what it waits for.
func (p *Plan) Open(step int) string {
	if p == nil {
		return ""
	}
	s := p.Steps[step]
	text := fmt.Sprintf("  if (tapc_runs(pool, %d)) {\n", s.Device)
	for _, w := range s.Waits {
		text += fmt.Sprintf("    tapc_await(pool, %d, %d);\n", w.Device, w.Steps)
	}
	if len(s.Waits) > 0 {
		text += fmt.Sprintf("    tapc_done(%d);\n", len(p.Steps)+s.Device)
	}
	return text + "  "
}

// Close gives the C behind a step.
func (p *Plan) Close(step int) string {
	text := fmt.Sprintf(" tapc_done(%d);\n", step)
	if p == nil {
		return text
	}
	if s := p.Steps[step]; s.Known {
		text += fmt.Sprintf("    tapc_reach(pool, %d, %d);\n", s.Device, s.Number)
	}
	return text + "  }\n"
}

// End gives the C behind all steps: who does not carry out those of the device that has what is looked at when the program ends is done.
func (p *Plan) End() string {
	if p == nil {
		return ""
	}
	return fmt.Sprintf("  if (!tapc_runs(pool, %d))\n    return 0;\n", p.host)
}

// On gives the name of the device that carries out a step; "" for one device.
func (p *Plan) On(step int) string {
	if p == nil {
		return ""
	}
	return p.Devices[p.Steps[step].Device].Name
}
