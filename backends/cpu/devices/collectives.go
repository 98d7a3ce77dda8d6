package devices

import (
	"slices"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/collective"
	"tensortapestry.org/tapc/ir"
)

// Collective is transfers that are a collective: the devices, what is copied in a run, in bytes, in how many copies, and how many of the transfers need none. Each member copies what
// it receives.
type Collective struct {
	Name    string   `json:"name"`
	Does    string   `json:"does"`
	Devices []string `json:"devices"`
	Bytes   int64    `json:"copied_bytes"`
	Copies  int      `json:"copies"`
	Aliased int      `json:"aliased"`
}

// collectives finds the collectives of a program, and those of steps.
func (p *Plan) collectives(g *ir.Graph, steps []ir.NodeID) {
	of := collective.Of(g)
	at := map[ir.NodeID]int{}
	for i, id := range steps {
		n := of[id]
		if n == nil {
			continue
		}
		j, ok := at[n.ID]
		if !ok {
			j = len(p.Collectives)
			at[n.ID] = j
			p.Collectives = append(p.Collectives, p.collective(n))
		}
		p.Steps[i].Part = p.Collectives[j].Name
		c, t := &p.Collectives[j], g.Node(id).Body.(*schedule.Transfer)
		if t.Aliased(g) {
			c.Aliased++
			continue
		}
		from := g.Node(t.From).Body.(*schedule.Buffer)
		cells, _ := t.Box(from).Size()
		c.Copies, c.Bytes = c.Copies+1, c.Bytes+cells*int64(from.Type().Size())
	}
}

func (p *Plan) collective(n *ir.Node) Collective {
	x := n.Body.(*collective.Collective)
	c := Collective{Name: n.Label, Does: x.Does.String()}
	if c.Name == "" {
		c.Name = c.Does
	}
	for _, id := range x.Devices {
		i := slices.IndexFunc(p.Devices, func(d Device) bool { return d.id == id })
		c.Devices = append(c.Devices, p.Devices[i].Name)
	}
	return c
}

// Transfer says what a step does that is a transfer, and what it is a part of: nothing is copied where one side reads or writes at the other's.
func (p *Plan) Transfer(g *ir.Graph, step int, t *schedule.Transfer) string {
	name := "copy"
	if t.Aliased(g) {
		name = "aliased transfer"
	}
	if p != nil && p.Steps[step].Part != "" {
		name += " of " + p.Steps[step].Part
	}
	return name
}
