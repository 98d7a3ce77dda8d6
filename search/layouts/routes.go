package layouts

import (
	"fmt"
	"slices"

	"tensortapestry.org/tapc/cost/reshard"
	"tensortapestry.org/tapc/search/meshes"
	"tensortapestry.org/tapc/search/runs"
)

// router finds what edges want, and the routes by which tensors get there: neither depends on the sizes of a mesh.
type router struct {
	space   *Space
	demands map[string]*demand
	routes  runs.Numbers[conversion]
}

// conversion is between two layouts of tensors of a rank.
type conversion struct {
	rank int
	from need
	to   meshes.Assignment
}

// route fills in what edges want.
func (x *Space) route() {
	r := &router{x, map[string]*demand{}, runs.Numbers[conversion]{}}
	for _, e := range x.edges {
		x.ways.wants = append(x.ways.wants, r.want(e))
	}
}

func (r *router) want(e edge) want {
	o, y := r.space.ops[e.op], r.space.tensors[e.tensor]
	w, needs, numbers := want{}, []need(nil), runs.Numbers[need]{}
	for _, a := range o.cuts {
		n := o.operands[e.operand].needs(o, a)
		i, fresh := numbers.Of(n)
		if fresh {
			needs = append(needs, n)
		}
		w.of = append(w.of, uint16(i))
	}
	operand := &o.operands[e.operand]
	key := fmt.Sprint(operand.out, operand.halo, y.bytes, y.extents, needs)
	if w.demand = r.demands[key]; w.demand != nil {
		return w
	}
	w.demand = &demand{edge: e, needs: needs, number: len(r.space.ways.demands)}
	for _, n := range needs {
		for _, kept := range y.keeps {
			c := conversion{len(y.extents), n, kept}
			if !operand.out {
				c.from, c.to = need{layout: kept}, n.layout
			}
			w.routes = append(w.routes, r.number(c))
		}
	}
	r.demands[key] = w.demand
	r.space.ways.demands = append(r.space.ways.demands, w.demand)
	return w
}

// number gives the number of the routes of a conversion.
func (r *router) number(c conversion) int {
	n, fresh := r.routes.Of(c)
	if fresh {
		r.space.ways.routes = append(r.space.ways.routes, reshard.Routes(c.from.lies(c.rank), need{layout: c.to}.lies(c.rank)))
	}
	return n
}

// lies is a need as package reshard has it.
func (n need) lies(rank int) (l reshard.Layout) {
	for k := range rank {
		l.Dims = append(l.Dims, n.layout.Along(k))
	}
	for axis := range meshes.MaxAxes {
		if n.partial>>axis&1 != 0 {
			l.Partial, l.Wide = append(l.Partial, axis), n.wide
		}
	}
	return l
}

// needs gives what an operand needs, as its operation is cut.
func (x *operand) needs(o *operation, a meshes.Assignment) need {
	n := need{layout: meshes.Assignment{-1, -1, -1}}
	for axis, j := range a {
		if j < 0 {
			continue
		}
		n.layout[axis] = int8(slices.Index(x.dims, int(j)))
		if x.out && o.dims[j].reduced {
			n.partial, n.wide = n.partial|1<<axis, o.wide
		}
	}
	return n
}
