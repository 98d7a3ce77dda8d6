package dot

import (
	"fmt"
	"strings"

	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/zspace"
)

// maxStraight is how many nodes have edges with right angles: Graphviz 2.43 takes minutes for those of a few hundred, and draws curves in seconds.
const maxStraight = 200

// draw writes the whole drawing: the nodes in the order of their ids, shards inside their operations, then what joins them.
func (p *picture) draw() {
	p.line("digraph G {")
	p.indent++
	splines := "ortho"
	if p.options.Curves || len(p.nodes) > maxStraight {
		splines = "spline"
	}
	p.line(`graph [bgcolor="#E2E2E2", concentrate="true", fontname="Helvetica", newrank="true", nodesep="0.5", ranksep="0.6", scale="2.5", splines="%s"];`, splines)
	p.line(`node [fontname="Helvetica"];`)
	p.line(`edge [fontname="Helvetica"];`)
	for _, it := range p.nodes {
		switch it.role {
		case tensor:
			p.tensor(it)
		case operation:
			p.operation(it)
		case plain:
			p.plain(it)
		}
	}
	p.fusions()
	p.indent--
	p.line("}")
}

func key(it *item) string { return it.uuid.String() }

// tensor draws a tensor as a box of its colour.
func (p *picture) tensor(it *item) {
	t := p.titled(it)
	for _, r := range it.facts.rows {
		t.row(r.name, r.value)
	}
	p.vertex(key(it), attributes{}.set("shape", "box3d").set("style", "filled").set("fillcolor", colourOf(it.color)).
		set("margin", "0.15").html("label", t.String()))
	p.tags(it)
}

// plain draws any other node as a table, with an edge for each reference.
func (p *picture) plain(it *item) {
	t := p.titled(it)
	for _, r := range it.facts.rows {
		t.row(r.name, r.value)
	}
	shape, fill := "note", lighter(colourOf(it.color), 60)
	if strings.HasSuffix(it.node.Body.Kind().URI, "/SequencePoint") {
		shape, fill = "octagon", sequenceFill
	}
	p.vertex(key(it), attributes{}.set("shape", shape).set("style", "filled").set("fillcolor", fill).html("label", t.String()))
	p.tags(it)
	for _, r := range it.facts.refs {
		from, to := p.end(r.to), key(it)
		if from == "" {
			continue
		}
		if r.out {
			from, to = to, from
		}
		p.edge(from, to, attributes{}.set("xlabel", r.name).set("fontsize", "9"))
	}
}

// sequenceFill is the colour of sequence points, as the paper draws them.
const sequenceFill = "#B4F8C8"

// end is the vertex of a node that something refers to; "" if it is not drawn.
func (p *picture) end(id ir.NodeID) string {
	to := p.item(id)
	switch {
	case to == nil || to.role == shard && p.options.HideShards:
		return ""
	case to.role == operation && p.hidden(to):
		return ""
	}
	return key(to)
}

// shardsOf gives the shards of an operation that are drawn.
func (p *picture) shardsOf(it *item) []*item {
	if p.options.HideShards {
		return nil
	}
	return p.shards[it.node.ID]
}

// hidden says whether an operation is drawn only by its shards.
func (p *picture) hidden(it *item) bool { return p.options.HideOperations && len(p.shardsOf(it)) > 0 }

// operation draws an operation in its cluster: its own selections if it has no shards, else those of each shard.
func (p *picture) operation(it *item) {
	colour := colourOf(it.color)
	around := attributes{}.set("label", p.operationTitle(it)).set("fontname", "Helvetica").set("style", "filled").
		set("color", colour).set("fillcolor", lighter(colour, 70))
	if p.sequencePoint(it) != "" {
		around = attributes{}.set("label", p.operationTitle(it)).set("fontname", "Helvetica").set("style", "striped").
			set("color", colour).set("fillcolor", strings.Repeat(lighter(colour, 40)+":"+lighter(stripeOf(it.color), 40)+":", 4)+lighter(colour, 40))
	}
	p.cluster("operation_"+key(it), around, func() {
		inner := attributes{}.set("label", "").set("style", "filled,rounded").set("color", colour).set("fillcolor", lighter(colour, 80))
		p.cluster("body_"+key(it), inner, func() {
			if !p.hidden(it) {
				p.ported(it, colour)
			}
			shards := p.shardsOf(it)
			if len(shards) == 0 {
				p.selections(it)
			}
			if len(shards) > 1 {
				p.ribbons(it, shards)
			}
			for i, s := range shards {
				p.shard(s, i)
			}
		})
	})
	p.flow(it)
}

// flow draws the edges between tensors and what an operation or its shards select. They are drawn outside every cluster, as a
// vertex belongs to the cluster in which it is first named.
func (p *picture) flow(it *item) {
	shards := p.shardsOf(it)
	if len(shards) == 0 {
		p.flowOf(it, it, false)
	}
	for _, s := range shards {
		p.flowOf(s, it, len(shards) > 1)
	}
	for _, r := range p.ribbonsOf(shards) {
		id, line := ribbon(it, r.tensor, r.in), attributes{}.set("penwidth", "8").set("color", colourOf(r.tensor.color))
		if r.in {
			p.edge(key(r.tensor), id, line)
		} else {
			p.edge(id, key(r.tensor), line)
		}
	}
}

// flowOf draws the edges of the selections of one node, to the tensors or to the ribbons of the operation.
func (p *picture) flowOf(it, op *item, ribbons bool) {
	for _, side := range sidesOf(it) {
		side.ports.All(func(port, entry int, s *ir.Selection) {
			t := p.item(s.Tensor)
			if t == nil {
				return
			}
			id, end := selectionID(it, side, port, entry), key(t)
			if ribbons {
				end = ribbon(op, t, side.in)
			}
			line := attributes{}.set("penwidth", "4").set("color", selectionColour(t))
			if _, former := it.node.Body.(interface{ Former() }); former {
				line = line.set("style", "dashed")
			}
			if side.in {
				p.edge(end, id, line)
			} else {
				p.edge(id, end, line)
			}
		})
	}
}

func selectionID(it *item, s side, port, entry int) string {
	return key(it) + "/" + s.name + "/" + entryName(s.ports, port, entry)
}

func (p *picture) operationTitle(it *item) string {
	kernel := ""
	for _, r := range it.facts.rows {
		if r.name == "kernel" {
			kernel = " [" + r.value.text + "]"
		}
	}
	title := nameOr(p.sequencePoint(it), kindName(it)) + kernel
	if it.node.Label != "" {
		title += fmt.Sprintf(" : %q", it.node.Label)
	}
	return title
}

// sequencePoint names what an operation with an effect outside the graph is; "" for others.
func (p *picture) sequencePoint(it *item) string {
	for _, t := range it.node.Tags() {
		if !strings.HasSuffix(t.Kind().URI, "/IOSequencePoint") {
			continue
		}
		switch {
		case it.in.Len() == 0:
			return "Source"
		case it.out.Len() == 0:
			return "Sink"
		}
		return "Sequence point"
	}
	return ""
}

// ported draws the vertex of an operation or a shard: its facts and what it selects.
func (p *picture) ported(it *item, colour string) {
	t := p.titled(it)
	for _, r := range it.facts.rows {
		t.row(r.name, r.value)
	}
	for _, side := range sidesOf(it) {
		if side.ports.Len() > 0 {
			t.row(side.name, p.portTable(side.ports))
		}
	}
	p.vertex(key(it), attributes{}.set("shape", "tab").set("style", "filled").set("fillcolor", colour).html("label", t.String()))
	p.tags(it)
}

// side is the inputs or the outputs of a node.
type side struct {
	name  string
	ports ir.Ports
	in    bool
}

func sidesOf(it *item) []side {
	return []side{{"inputs", it.in, true}, {"outputs", it.out, false}}
}

func (p *picture) portTable(ports ir.Ports) tree {
	var t tree
	ports.All(func(port, entry int, s *ir.Selection) {
		t.members = append(t.members, member{entryName(ports, port, entry), leaf(p.alias(s.Tensor) + " " + s.Range().Text())})
	})
	return t
}

func entryName(ports ir.Ports, port, entry int) string {
	return fmt.Sprintf("%s[%d]", ports.At(port).Name, entry)
}

// alias is the short name of a node, or the id of one that is not there.
func (p *picture) alias(id ir.NodeID) string {
	if a, ok := p.aliases[id]; ok {
		return a
	}
	return p.graph.Name(id)
}

// shard draws one shard in a cluster of a lighter shade.
func (p *picture) shard(it *item, number int) {
	colour := colourOf(it.color)
	title := fmt.Sprintf("%s %d", kindName(it), number)
	if it.node.Label != "" {
		title += fmt.Sprintf(" : %q", it.node.Label)
	}
	around := attributes{}.set("label", title).set("style", "filled,rounded").set("color", colour).set("fillcolor", lighter(colour, 90))
	p.cluster("shard_"+key(it), around, func() {
		p.ported(it, lighter(colour, 50))
		p.selections(it)
	})
}

// selections draws the boxes that a node selects and joins them to it.
func (p *picture) selections(it *item) {
	for _, side := range sidesOf(it) {
		var ids []string
		side.ports.All(func(port, entry int, s *ir.Selection) {
			id, of := selectionID(it, side, port, entry), p.item(s.Tensor)
			p.selection(id, entryName(side.ports, port, entry), of, s)
			line := attributes{}.set("penwidth", "4").set("color", selectionColour(of))
			if side.in {
				p.edge(id, key(it), line)
			} else {
				p.edge(key(it), id, line)
			}
			ids = append(ids, id)
		})
		p.inOrder(ids)
	}
}

// inOrder keeps vertices side by side in their order, by edges that are not seen.
func (p *picture) inOrder(ids []string) {
	if len(ids) < 2 {
		return
	}
	p.line("{")
	p.indent++
	p.line(`rank="same";`)
	for i, id := range ids[1:] {
		p.edge(ids[i], id, attributes{}.set("style", "invis"))
	}
	p.indent--
	p.line("}")
}

func selectionColour(of *item) string {
	if of == nil {
		return "#000000"
	}
	return colourOf(of.color)
}

// selection draws one selection: its port and, unless it is the whole tensor, its range and shape.
func (p *picture) selection(id, name string, of *item, s *ir.Selection) {
	t := newTable()
	t.wide("<b>" + html(name) + "</b>")
	t.wide(html(p.alias(s.Tensor)))
	whole := false
	if of != nil {
		body, ok := of.node.Body.(interface{ FullRange() zspace.Range })
		whole = ok && body.FullRange().Equal(s.Range())
	}
	if !whole {
		t.row("range", leaf(s.Range().Text()))
		t.row("shape", leaf(s.Range().ShapeString()))
	}
	p.vertex(id, attributes{}.set("shape", "box").set("style", "filled").set("fillcolor", selectionColour(of)).
		set("margin", "0.05").html("label", t.String()))
}

func ribbon(op, t *item, in bool) string {
	if in {
		return key(op) + "/from/" + key(t)
	}
	return key(op) + "/to/" + key(t)
}

// band is a ribbon: a tensor that several shards of an operation read or write.
type band struct {
	tensor *item
	in     bool
}

// ribbonsOf lists the ribbons of an operation of several shards, in the order of the shards' ports.
func (p *picture) ribbonsOf(shards []*item) []band {
	if len(shards) < 2 {
		return nil
	}
	var bands []band
	seen := map[band]bool{}
	for _, s := range shards {
		for _, side := range sidesOf(s) {
			side.ports.All(func(_, _ int, sel *ir.Selection) {
				if b := (band{p.item(sel.Tensor), side.in}); b.tensor != nil && !seen[b] {
					seen[b] = true
					bands = append(bands, b)
				}
			})
		}
	}
	return bands
}

// ribbons draws a vertex for each ribbon, through which the edges of all shards run.
func (p *picture) ribbons(op *item, shards []*item) {
	for _, b := range p.ribbonsOf(shards) {
		colour := colourOf(b.tensor.color)
		p.vertex(ribbon(op, b.tensor, b.in), attributes{}.set("shape", "box").set("style", "filled").set("height", "0.1").
			set("width", "2").set("label", "").set("fillcolor", colour).set("color", colour))
	}
}

// fusions joins, by a dotted edge, an output of a shard to an input of another of the same box of the same tensor, where there
// is one of each: the two could be fused.
func (p *picture) fusions() {
	type box struct{ from, to []string }
	boxes, order := map[string]*box{}, []string{}
	for _, op := range p.nodes {
		for _, s := range p.shardsOf(op) {
			for _, side := range sidesOf(s) {
				side.ports.All(func(port, entry int, sel *ir.Selection) {
					what := fmt.Sprint(sel.Tensor, sel.Range())
					b := boxes[what]
					if b == nil {
						b = &box{}
						boxes[what], order = b, append(order, what)
					}
					id := selectionID(s, side, port, entry)
					if side.in {
						b.to = append(b.to, id)
					} else {
						b.from = append(b.from, id)
					}
				})
			}
		}
	}
	for _, what := range order {
		if b := boxes[what]; len(b.from) == 1 && len(b.to) == 1 {
			p.edge(b.from[0], b.to[0], attributes{}.set("style", "dotted").set("constraint", "false").set("penwidth", "2"))
		}
	}
}

// tags draws each tag as a component with its value, joined to its node.
func (p *picture) tags(it *item) {
	if p.options.NoTags {
		return
	}
	for _, tag := range it.node.Tags() {
		uri := tag.Kind().URI
		t := newTable()
		t.wide("<b>" + html(uri[strings.LastIndexAny(uri, "/#")+1:]) + "</b>")
		for _, r := range factsOf(p.graph, tag).rows {
			t.row(r.name, r.value)
		}
		id := key(it) + "/tags/" + tag.Kind().Keyword
		p.vertex(id, attributes{}.set("shape", "component").set("style", "filled").set("fillcolor", lighter(colourOf(it.color), 60)).
			html("label", t.String()))
		p.edge(id, key(it), attributes{}.set("arrowhead", "none").set("style", "dashed"))
	}
}
