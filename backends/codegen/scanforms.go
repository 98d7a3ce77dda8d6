package codegen

import (
	"slices"

	"tensortapestry.org/tapc/backends/codegen/builder"
	"tensortapestry.org/tapc/backends/tree"
	"tensortapestry.org/tapc/dialects/schedule/nest/scan"
	"tensortapestry.org/tapc/ir/scalar"
)

// running is how the values of a form are reduced one after the other, and where.
type running struct {
	*scan.Running
	to, lost builder.Access
	order    *tree.Memory // of a rank
}

// begin makes accumulators of nothing so far.
func (r *running) begin() []tree.Stmt {
	out := []tree.Stmt{builder.Constant(r.to(), r.Start)}
	if r.Lossy {
		out = append(out, builder.Constant(r.lost(), scalar.Zero(r.Type)))
	}
	return out
}

// step reduces the value at the present point.
func (x *scans) step(r running) []tree.Stmt {
	var out []tree.Stmt
	x.in.reduce(&out, r.Value)
	if !r.Lossy {
		return append(out, x.in.each(func() []tree.Stmt { return []tree.Stmt{x.in.Map(r.to(), r.Value, r.Monoid)} })...)
	}
	return append(out, x.in.apart(func() []tree.Stmt {
		var body []tree.Stmt
		value, sum := x.in.register(&body, "x", r.Type, false), x.in.register(&body, "sum", r.Type, false)
		next, lost := r.Next()
		args := []tree.Access{r.to(), value(), sum(), r.lost()}
		return append(body, x.in.Map(value(), r.Value, tree.NoMonoid), &tree.Map{Dst: sum(), Computed: tree.Computed{Value: next, Args: args}},
			&tree.Map{Dst: r.lost(), Computed: tree.Computed{Value: lost, Args: args}}, builder.Stored(r.to(), sum(), tree.NoMonoid))
	})...)
}

// give makes the value that an accumulator stands for, in the type of the reduction.
func (x *scans) give(list *[]tree.Stmt, f *scan.Form, r running) {
	if !r.Lossy && (!r.Wide || f.Reduce.Type.Wide() == f.Reduce.Type) { // what rounds otherwise where it is used
		x.in.Sums[f.Reduce] = r.to
		return
	}
	to := x.in.register(list, "value", f.Reduce.Type, true)
	*list = append(*list, x.in.each(func() []tree.Stmt {
		c := tree.Computed{Args: []tree.Access{r.to()}, Value: f.Result(r.Running)}
		if r.Lossy {
			c.Args = append(c.Args, r.lost())
		}
		return []tree.Stmt{&tree.Map{Dst: to(), Computed: c}}
	})...)
	x.in.Sums[f.Reduce] = to
}

// prefix makes the loop along which a value runs, and in it what uses the value. What comes before the first point is reduced before; then each point
// takes one value, but for points at an end that have none.
func (x *scans) prefix(f *scan.Form, write func() []tree.Stmt) []tree.Stmt {
	var out []tree.Stmt
	r := running{Running: f.Running()}
	r.to = x.in.register(&out, "sum", r.Type, !r.Wide)
	if r.Lossy {
		r.lost = x.in.register(&out, "lost", r.Type, false)
	}
	out = append(out, x.in.each(r.begin)...)
	own, other := f.Loop, f.Reduce.Over[0]
	k, j := x.in.K.Loops[own], x.in.K.Loops[other]
	apart := k.Start - j.Start - 1 // point p of k takes value p + apart of j, both counted from where the form begins
	if f.Backward {
		apart = j.End - k.End - 1
	}
	if f.Closed {
		apart++
	}
	from := func(extent int64, i *tree.Index) *tree.Index { // the end that the form begins at
		if f.Backward {
			return i.Times(-1).Plus(extent - 1)
		}
		return i
	}
	before, at := x.in.At[own], x.in.At[other]
	defer func() { x.in.At[own], x.in.At[other] = before, at }()
	if n := min(max(apart, 0), j.Extent()); n > 0 {
		v := x.in.Variable("j")
		x.in.At[other] = from(j.Extent(), tree.Use(v))
		out = append(out, &tree.For{Var: v, From: tree.Const(0), To: tree.Const(n), Step: 1, Body: inside(x.in, func() []tree.Stmt { return x.step(r) })})
	}
	first := min(max(-apart, 0), k.Extent())
	last := min(max(j.Extent()-apart, first), k.Extent())
	for _, part := range [][2]int64{{0, first}, {first, last}, {last, k.Extent()}} {
		if part[0] == part[1] {
			continue
		}
		v := x.in.Variable("k")
		x.in.At[own] = from(k.Extent(), tree.Use(v))
		body := inside(x.in, func() []tree.Stmt {
			var body []tree.Stmt
			if part[0] == first && part[1] == last {
				x.in.At[other] = from(j.Extent(), tree.Use(v).Plus(apart))
				body = inside(x.in, func() []tree.Stmt { return x.step(r) })
				x.in.At[other] = at
			}
			x.give(&body, f, r)
			return append(body, write()...)
		})
		out = append(out, &tree.For{Var: v, From: tree.Const(part[0]), To: tree.Const(part[1]), Step: 1, Body: body})
	}
	return out
}

// buckets makes the loops that reduce values to the points that they name.
func (x *scans) buckets(f *scan.Form, over []int) []tree.Stmt {
	r := x.sums[f]
	out := x.in.along(over, r.begin)
	into := func() []tree.Stmt { return targets(x.in, f, func() []tree.Stmt { return x.step(r) }) }
	if f.Selection != nil {
		return append(out, x.chosen(f, into)...)
	}
	around := slices.DeleteFunc(slices.Clone(over), func(l int) bool { return slices.Contains(f.Ends(), l) })
	return append(out, x.in.along(append(around, f.Reduce.Over...), into)...)
}

// targets makes something where the present value is for some point, at which it is then.
func targets(in *points, f *scan.Form, body func() []tree.Stmt) []tree.Stmt {
	if f.Selection == nil {
		for _, t := range slices.Backward(f.Targets) {
			inner := body
			body = func() []tree.Stmt {
				var out []tree.Stmt
				in.reduce(&out, t.Place)
				return append(out, in.place(t.Loop, in.Builder.Computed(t.Place), inner))
			}
		}
	}
	for _, c := range slices.Backward(f.Conditions) {
		inner := body
		body = func() []tree.Stmt {
			var out []tree.Stmt
			in.reduce(&out, c)
			return append(out, &tree.Branch{Computed: in.Builder.Computed(c), Then: inside(in, inner)})
		}
	}
	return body()
}

// chosen makes the loop over the cells of a selection, behind what selects them.
func (x *scans) chosen(f *scan.Form, into func() []tree.Stmt) []tree.Stmt {
	var out []tree.Stmt
	s, t := f.Selection, f.Targets[0].Loop
	order := x.orders[s]
	if !x.made[s] {
		x.made[s] = true
		out = append(out, x.sort(s.Rank, order, s.First))
	}
	return append(out, x.in.along([]int{t}, func() []tree.Stmt {
		place := tree.Access{Memory: order, At: []*tree.Index{x.task, x.in.At[t].Plus(x.in.K.Loops[t].Start)}}
		return []tree.Stmt{x.in.place(f.Reduce.Over[0], tree.Loaded(place), into)}
	})...)
}

// ranks sorts places, and stores where each of them comes to stand.
func (x *scans) ranks(f *scan.Form, over []int) []tree.Stmt {
	around := slices.DeleteFunc(slices.Clone(over), func(l int) bool { return l == f.Loop })
	r, count := x.sums[f], x.in.Dims[f.Reduce.Over[0]].Extent
	return x.in.along(around, func() []tree.Stmt {
		z := x.in.Variable("z")
		place := tree.Access{Memory: r.order, At: []*tree.Index{x.task, tree.Use(z)}}
		rank := scalar.NewLoop(0)
		if r.Type != scalar.Int64 {
			rank = scalar.NewCast(r.Type, rank)
		}
		store := func() []tree.Stmt {
			return []tree.Stmt{&tree.Map{Dst: r.to(), Computed: tree.Computed{Value: rank, Loops: []*tree.Index{tree.Use(z)}}}}
		}
		return []tree.Stmt{x.sort(f, r.order, 0), &tree.For{Var: z, From: tree.Const(0), To: tree.Const(count), Step: 1, Body: []tree.Stmt{x.in.place(f.Loop, tree.Loaded(place), store)}}}
	})
}

// sort makes the sort of the places of a rank, of which the first so many are needed; 0 for all.
func (x *scans) sort(f *scan.Form, order *tree.Memory, first int64) tree.Stmt {
	i, j := f.Loop, f.Reduce.Over[0]
	li, lj := x.in.K.Loops[i], x.in.K.Loops[j]
	s := &tree.Sort{Order: tree.Access{Memory: order, At: []*tree.Index{x.task, tree.Const(0)}}, From: lj.Start, To: lj.End, First: first,
		Left: x.in.Variable("left"), Right: x.in.Variable("right")}
	bi, bj := x.in.At[i], x.in.At[j]
	x.in.At[i], x.in.At[j] = tree.Use(s.Left).Plus(-li.Start), tree.Use(s.Right).Plus(-lj.Start)
	s.Before = x.in.Builder.Computed(f.Value)
	x.in.At[i], x.in.At[j] = bi, bj
	return s
}
