package dot

import (
	"fmt"
	"strconv"

	"tensortapestry.org/tapc/ir"
)

// palette has a colour for each class of nodes; classes beyond its end begin anew.
var palette = [...]string{"#f43143", "#01be5e", "#088ce4", "#7a50f0", "#a938bc", "#e6518f", "#455d75"}

// colourOf is the colour of a class.
func colourOf(class int) string { return palette[class%len(palette)] }

// stripeOf is the second colour of a class: never its first, and another one each time the palette begins anew.
func stripeOf(class int) string {
	n := len(palette)
	return palette[(class%n+1+class/n%(n-1))%n]
}

// lighter mixes a colour with white; share is the white's part in percent.
func lighter(colour string, share int) string {
	var out [3]int
	for i := range out {
		c, _ := strconv.ParseInt(colour[1+2*i:3+2*i], 16, 32)
		out[i] = (int(c)*(100-share) + 255*share) / 100
	}
	return fmt.Sprintf("#%02x%02x%02x", out[0], out[1], out[2])
}

// colour gives each node a class, greedily in the order of the ids, so that an operation differs from its tensors and from its
// neighbours along them, and the tensors of one operation from each other. Shards have the class of their operation; all other
// nodes have the first that is free.
func (p *picture) colour() {
	near := p.neighbours()
	for _, it := range p.nodes {
		it.color = -1
	}
	for _, it := range p.nodes {
		if it.role == shard {
			continue
		}
		taken := map[int]bool{}
		for _, other := range near[it.node.ID] {
			taken[p.items[other].color] = true
		}
		for it.color = 0; taken[it.color]; it.color++ {
		}
	}
	for _, it := range p.nodes {
		if it.role == shard {
			it.color = p.items[it.of].color
		}
	}
}

// neighbours lists, for each node, those that must have another colour.
func (p *picture) neighbours() map[ir.NodeID][]ir.NodeID {
	near := map[ir.NodeID][]ir.NodeID{}
	join := func(a, b ir.NodeID) {
		if a != b {
			near[a], near[b] = append(near[a], b), append(near[b], a)
		}
	}
	writers := map[ir.NodeID][]ir.NodeID{}
	for _, it := range p.nodes {
		if it.role == operation {
			it.out.All(func(_, _ int, s *ir.Selection) { writers[s.Tensor] = append(writers[s.Tensor], it.node.ID) })
		}
	}
	for _, it := range p.nodes {
		if it.role != operation {
			continue
		}
		var tensors []ir.NodeID
		for _, side := range sidesOf(it) {
			side.ports.All(func(_, _ int, s *ir.Selection) {
				if p.item(s.Tensor) == nil {
					return
				}
				for _, t := range tensors {
					join(t, s.Tensor)
				}
				if side.in {
					for _, w := range writers[s.Tensor] {
						join(w, it.node.ID)
					}
				}
				join(it.node.ID, s.Tensor)
				tensors = append(tensors, s.Tensor)
			})
		}
	}
	return near
}
