package winograd

import (
	"fmt"
	"slices"

	"tensortapestry.org/tapc/backends/codegen/builder"
	"tensortapestry.org/tapc/backends/cpu/isa"
	"tensortapestry.org/tapc/backends/cpu/macrotile"
	"tensortapestry.org/tapc/backends/tree"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/ir/scalar"
)

// driver makes the tree of a convolution on transformed tiles.
type driver struct {
	*Kernel
	*tree.Names
	m memories
}

// memories are what is read and written: operands, filters in panels, and what a thread has, of which rows may be nil.
type memories struct {
	operands                          []*tree.Memory
	filters, tiles, sums, patch, rows *tree.Memory
}

// piece is what a task computes: results of some images, rows and columns, in some channels.
type piece struct {
	d             *driver
	batch         []*tree.Index // the place in the batch
	images        tree.Span
	y, x, o       tree.Span
	wide, each, n *tree.Index // tiles of a row, of an image, and of all
}

// Tree makes the tree.
func (w *Kernel) Tree(name string) *tree.Func {
	d := &driver{Kernel: w, Names: tree.PlainNames()}
	for i := range w.kernel.Operands {
		d.m.operands = append(d.m.operands, d.operand(i))
	}
	groups := nest.Points(nest.Followed(w.batch, w.w.Views[w.w.Filter], true))
	d.m.filters = tree.Stored("filters", scalar.Float32, tree.Constant, groups, w.w.Points(), (w.w.Out.Extent+panel-1)/panel, w.w.In.Extent, panel)
	d.m.filters.Operand = w.w.Filter
	d.layOut()
	tasks := d.Loop(tree.Thread, "piece", tree.Const(0), tree.Const(w.pieces()), 1, d.task)
	return &tree.Func{Name: name, Operands: d.m.operands, Functions: w.functions(), Body: []tree.Stmt{&tree.Declare{Memory: d.m.filters}, tasks}}
}

// operand is an operand in the dimensions of the kernel's results; the image and the filters are in their own.
func (d *driver) operand(i int) *tree.Memory {
	o, v := d.kernel.Operands[i], d.w.Views[i]
	m := &tree.Memory{Name: fmt.Sprintf("p%d", i), Type: o.Type(), Operand: i, Written: o.Mode == schedule.Write, Base: builder.Base(d.kernel, v)}
	down, across, channels := d.w.Down.Dim, d.w.Across.Dim, d.w.Out
	switch i {
	case d.w.Image:
		down.Extent, across.Extent, channels = d.w.Down.Bound, d.w.Across.Bound, d.w.In
		m.Base -= d.w.Down.First*down.Step(v) + d.w.Across.First*across.Step(v)
	case d.w.Filter:
		down, across = nest.Dim{Loops: []int{d.w.Down.Tap}, Extent: 3}, nest.Dim{Loops: []int{d.w.Across.Tap}, Extent: 3}
	}
	for _, x := range slices.Concat(d.w.Batch, []nest.Dim{down, across, channels}) {
		m.Dims = append(m.Dims, tree.Dim{End: x.Extent, Stride: x.Step(v)})
	}
	if i == d.w.Filter {
		m.Dims = append(m.Dims, tree.Dim{End: d.w.In.Extent, Stride: d.w.In.Step(v)})
	}
	return m
}

// layOut lays out what a thread has. Points, and tiles if they are whole pages apart, have a line of the cache between them: what is written and read side by side
// would push each other out of the first cache. Vectors reach behind channels to the end of a line.
func (d *driver) layOut() {
	const line, page = schedule.PanelBytes / 4, 4096 / 4
	memory := func(name string, outer, inner, between, channels int64) *tree.Memory {
		long := isa.Align(channels, line)
		if long%page == 0 {
			long += line
		}
		return &tree.Memory{Name: name, Type: scalar.Float32, Scope: tree.Private, Operand: -1, Packed: true, Slack: isa.Align(channels, line) - channels,
			Dims: []tree.Dim{{End: outer, Stride: inner*long + between}, {End: inner, Stride: long}, {End: channels, Stride: 1}}}
	}
	points, size := d.w.Points(), d.w.Size
	d.m.tiles, d.m.sums = memory("tiles", points, d.block.tiles(), line, d.w.In.Extent), memory("sums", points, d.block.tiles(), line, d.block.out)
	high, wide := size+2, size+2
	if d.transposed {
		high, wide = d.block.down*size+2, d.block.across*size+2
	}
	d.m.patch = memory("patch", high, wide, 0, d.w.In.Extent)
	if d.inRows {
		d.m.rows = tree.Stored("rows", scalar.Float32, tree.Private, size, isa.Align(d.block.across*size, d.lanes), d.lanes)
		d.m.rows.Lanes = d.lanes
	}
}

// task makes the body of the loop over pieces. Those of one block follow each other, so that a thread transforms its elements once.
func (d *driver) task(number *tree.Index) (body []tree.Stmt) {
	p := &piece{d: d, batch: make([]*tree.Index, len(d.batch))}
	part := func(name string, number *tree.Index, size, extent int64) tree.Span {
		from := d.Let(&body, name+"0", number.Times(size))
		to := from.Plus(size)
		if extent%size != 0 {
			to = d.Let(&body, name+"1", to.Min(tree.Const(extent)))
		}
		return tree.Between(from, to)
	}
	block, size := number.Div(d.parts()), d.w.Size
	rest := block
	next := func(n int64) *tree.Index {
		digit := rest.Mod(n)
		rest = rest.Div(n)
		return digit
	}
	p.o = part("o", number.Mod(d.parts()), d.block.out, d.w.Out.Extent)
	p.x = part("x", next(d.blocksAcross()), d.block.across*size, d.w.Across.Extent)
	p.y = part("y", next(d.blocksDown()), d.block.down*size, d.w.Down.Extent)
	for i, a := range slices.Backward(d.batch) {
		if digit := next(d.blocksOf(i)); i == d.block.of {
			p.images = part("n", digit, d.block.images, a.Extent)
		} else {
			p.batch[i] = d.Let(&body, macrotile.BatchName(i), digit)
		}
	}
	tiles := func(s tree.Span) *tree.Index {
		return s.To.Minus(s.From).Plus(size - 1).Div(size)
	}
	p.wide = d.Let(&body, "wide", tiles(p.x))
	p.each = d.Let(&body, "each", tiles(p.y).By(p.wide))
	p.n = p.each
	if d.block.of >= 0 {
		p.n = d.Let(&body, "all", p.images.To.Minus(p.images.From).By(p.each))
	}
	for _, m := range []*tree.Memory{d.m.tiles, d.m.sums, d.m.patch, d.m.rows} {
		if m != nil {
			body = append(body, &tree.Declare{Memory: m})
		}
	}
	transform := p.eachImage(p.transform)
	if d.parts() > 1 {
		transform = []tree.Stmt{&tree.Once{Last: d.Variable("present"), Key: block, Body: transform}}
	}
	body = append(append(body, transform...), p.multiply())
	results := p.results
	if d.inRows {
		results = p.resultsInRows
	}
	return append(body, p.eachImage(results)...)
}

// eachImage makes something for each image of a piece, with the number of its first tile.
func (p *piece) eachImage(body func(first *tree.Index) []tree.Stmt) []tree.Stmt {
	if p.d.block.of < 0 {
		return body(tree.Const(0))
	}
	return []tree.Stmt{p.d.Loop(tree.Serial, macrotile.BatchName(p.d.block.of), p.images.From, p.images.To, 1, func(n *tree.Index) []tree.Stmt {
		p.batch[p.d.block.of] = n
		return body(n.Minus(p.images.From).By(p.each))
	})}
}

// eachTile makes loops over the tiles of an image: along rows, which begin at y, and in them.
func (p *piece) eachTile(first *tree.Index, row func(y *tree.Index, tiles func(tile func(x, number *tree.Index) []tree.Stmt) tree.Stmt) []tree.Stmt) tree.Stmt {
	size := p.d.w.Size
	return p.d.Loop(tree.Serial, "y", p.y.From, p.y.To, size, func(y *tree.Index) []tree.Stmt {
		line := first.Add(y.Minus(p.y.From).Div(size).By(p.wide))
		return row(y, func(tile func(x, number *tree.Index) []tree.Stmt) tree.Stmt {
			return p.d.Loop(tree.Serial, "x", p.x.From, p.x.To, size, func(x *tree.Index) []tree.Stmt {
				return tile(x, line.Add(x.Minus(p.x.From).Div(size)))
			})
		})
	})
}

// transform makes what transforms the elements of an image. If its channels are neighbours, it is read where it is, but at its edges.
func (p *piece) transform(first *tree.Index) (body []tree.Stmt) {
	around, edge := p.d.w.Size+2, tree.Const(0)
	row, column := func(y *tree.Index) *tree.Index { return y.Plus(p.d.w.Down.First) }, func(x *tree.Index) *tree.Index { return x.Plus(p.d.w.Across.First) }
	if p.d.transposed {
		rows := p.y.To.Minus(p.y.From).Plus(p.d.w.Size - 1).Div(p.d.w.Size).Times(p.d.w.Size).Plus(2)
		body = append(body, p.copied(row(p.y.From), rows, column(p.x.From), p.wide.Times(p.d.w.Size).Plus(2)))
	}
	return append(body, p.eachTile(first, func(y *tree.Index, tiles func(func(x, number *tree.Index) []tree.Stmt) tree.Stmt) []tree.Stmt {
		return []tree.Stmt{tiles(func(x, number *tree.Index) []tree.Stmt {
			from := func(m *tree.Memory, outer []*tree.Index, y, x *tree.Index) tree.Stmt {
				read := inside(m, outer, tree.Some(y, around), tree.Some(x, around), tree.All(p.d.w.In.Extent))
				to := tree.BoxOf(p.d.m.tiles, tree.All(p.d.w.Points()), tree.Only(number), tree.All(p.d.w.In.Extent))
				down, across := m.Dims[len(outer)].Stride, m.Dims[len(outer)+1].Stride
				return tree.Call(fmt.Sprintf("tapc_image_%d", p.d.w.Size), []tree.Box{to}, []tree.Box{read}, read.Address(), constant(down), constant(across), to.Address(),
					constant(p.d.m.tiles.Dims[0].Stride), constant(p.d.w.In.Extent))
			}
			if p.d.transposed {
				return []tree.Stmt{from(p.d.m.patch, nil, y.Minus(p.y.From), x.Minus(p.x.From))}
			}
			away := func(v *tree.Index, s nest.Slide) tree.Cond {
				return tree.Cond{Var: v.Var(), From: tree.Const(-s.First), Limit: tree.Const(s.Bound - around - s.First + 1)}
			}
			return []tree.Stmt{&tree.If{Conds: []tree.Cond{away(y, p.d.w.Down), away(x, p.d.w.Across)},
				Then: []tree.Stmt{from(p.d.m.operands[p.d.w.Image], p.batch, row(y), column(x))},
				Else: []tree.Stmt{p.copied(row(y), tree.Const(around), column(x), tree.Const(around)), from(p.d.m.patch, nil, edge, edge)}}}
		})}
	}))
}

// inside is a box of a memory at one place of its outer dimensions.
func inside(m *tree.Memory, outer []*tree.Index, inner ...tree.Span) tree.Box {
	spans := make([]tree.Span, len(outer), len(outer)+len(inner))
	for i, at := range outer {
		spans[i] = tree.Only(at)
	}
	return tree.BoxOf(m, append(spans, inner...)...)
}

func constant(n int64) tree.Argument { return tree.Number(tree.Const(n)) }

func constants(list ...int64) (out []tree.Argument) {
	for _, n := range list {
		out = append(out, constant(n))
	}
	return out
}

// copied copies a part of an image, with zeros around.
func (p *piece) copied(row, rows, column, columns *tree.Index) tree.Stmt {
	m, d, a := p.d.m.operands[p.d.w.Image], p.d.w.Down, p.d.w.Across
	v := p.d.w.Views[p.d.w.Image]
	there := func(from, n *tree.Index, bound int64) tree.Span {
		return tree.Between(from.Max(tree.Const(0)), from.Add(n).Min(tree.Const(bound)))
	}
	read := inside(m, p.batch, there(row, rows, d.Bound), there(column, columns, a.Bound), tree.All(p.d.w.In.Extent))
	plane := inside(m, p.batch, tree.All(1), tree.All(1), tree.All(1))
	to := tree.BoxOf(p.d.m.patch, tree.Between(tree.Const(0), rows), tree.Between(tree.Const(0), columns), tree.All(p.d.w.In.Extent))
	return tree.Call("tapc_patch", []tree.Box{to}, []tree.Box{read}, slices.Concat([]tree.Argument{plane.Address()}, tree.Numbers(row, rows, column, columns), []tree.Argument{to.Address()},
		constants(p.d.m.patch.Dims[0].Stride, p.d.m.patch.Dims[1].Stride, d.Bound, a.Bound, p.d.w.In.Extent, d.Step(v), a.Step(v), p.d.w.In.Step(v)))...)
}

// multiply makes the products of all points: register tiles of tiles by channels.
func (p *piece) multiply() tree.Stmt {
	group, c := tree.Const(0), p.d.cut
	for i, a := range p.d.batch {
		if a.Step(p.d.w.Views[p.d.w.Filter]) != 0 {
			group = group.Times(a.Extent).Add(p.batch[i])
		}
	}
	return p.d.Loop(tree.Serial, "point", tree.Const(0), tree.Const(p.d.w.Points()), 1, func(at *tree.Index) []tree.Stmt {
		return []tree.Stmt{p.d.Loop(tree.Serial, "j", p.o.From, p.o.To, c.TileCols, func(j *tree.Index) []tree.Stmt {
			return []tree.Stmt{p.d.Loop(tree.Serial, "i", tree.Const(0), p.n, c.TileRows, func(i *tree.Index) []tree.Stmt {
				return macrotile.AtEdge(j, c.TileCols, p.d.w.Out.Extent, func(cols int64) []tree.Stmt {
					channels := tree.All(panel)
					if c.TileCols < panel {
						channels = tree.Some(j.Mod(panel), c.TileCols)
					}
					right := tree.BoxOf(p.d.m.filters, tree.Only(group), tree.Only(at), tree.Some(j.Div(panel), (cols+panel-1)/panel), tree.All(p.d.w.In.Extent), channels)
					var choice []tree.Stmt
					for _, rows := range p.d.tileCounts() { // the least first
						left := tree.BoxOf(p.d.m.tiles, tree.Only(at), tree.Some(i, rows), tree.All(p.d.w.In.Extent))
						sums := tree.BoxOf(p.d.m.sums, tree.Only(at), tree.Some(i, rows), tree.Some(j.Minus(p.o.From), cols))
						leaf := tree.Call(fmt.Sprintf("%dx%d", rows, cols), []tree.Box{sums}, []tree.Box{left, right}, left.Address(), right.Address(), tree.Argument{},
							constant(0), constant(0), sums.Address())
						choice = []tree.Stmt{&tree.If{Conds: []tree.Cond{{Var: i.Var(), Limit: p.n.Plus(1 - rows)}}, Then: []tree.Stmt{leaf}, Else: choice}}
					}
					return choice
				})
			})}
		})}
	})
}

// back is the leaf that makes the results of a tile's sums in the channels of a vector.
func (p *piece) back(number, o, channels *tree.Index, to tree.Box, line int64) tree.Stmt {
	at := o.Minus(p.o.From)
	from := tree.BoxOf(p.d.m.sums, tree.All(p.d.w.Points()), tree.Only(number), tree.Between(at, at.Add(channels)))
	return tree.Call(fmt.Sprintf("tapc_results_%d", p.d.w.Size), []tree.Box{to}, []tree.Box{from}, from.Address(), constant(p.d.m.sums.Dims[0].Stride), to.Address(), constant(line))
}

// results makes the results of an image whose channels are neighbours, tile by tile.
func (p *piece) results(first *tree.Index) []tree.Stmt {
	size := p.d.w.Size
	return []tree.Stmt{p.eachTile(first, func(y *tree.Index, tiles func(func(x, number *tree.Index) []tree.Stmt) tree.Stmt) []tree.Stmt {
		return []tree.Stmt{tiles(func(x, number *tree.Index) []tree.Stmt {
			return []tree.Stmt{p.d.Loop(tree.Serial, "o", p.o.From, p.o.To, p.d.lanes, func(o *tree.Index) []tree.Stmt {
				square := tree.NewMemory(p.d.Fresh("square"), scalar.Float32, tree.Registers, 0, size, size, p.d.lanes)
				square.Lanes = p.d.lanes
				return append([]tree.Stmt{&tree.Declare{Memory: square}}, macrotile.AtEdge(o, p.d.lanes, p.d.w.Out.Extent, func(n int64) []tree.Stmt {
					from := tree.BoxOf(square, tree.All(size), tree.All(size), tree.All(p.d.lanes))
					high, wide := p.upTo(y, size, p.y, p.d.w.Down.Extent), p.upTo(x, size, p.x, p.d.w.Across.Extent)
					return []tree.Stmt{p.back(number, o, tree.Const(n), from, size),
						p.finish("square", from, y, x, o, high, wide, tree.Const(n), high, wide, tree.Const(n))}
				})...)
			})}
		})}
	})}
}

// resultsInRows makes the results of an image whose neighbours are in a row: some rows of channels, which are transposed.
func (p *piece) resultsInRows(first *tree.Index) []tree.Stmt {
	size, line := p.d.w.Size, p.d.m.rows.Dims[1].End
	return []tree.Stmt{p.d.Loop(tree.Serial, "o", p.o.From, p.o.To, p.d.lanes, func(o *tree.Index) []tree.Stmt {
		channels := p.upTo(o, p.d.lanes, p.o, p.d.w.Out.Extent)
		return []tree.Stmt{p.eachTile(first, func(y *tree.Index, tiles func(func(x, number *tree.Index) []tree.Stmt) tree.Stmt) []tree.Stmt {
			return []tree.Stmt{tiles(func(x, number *tree.Index) []tree.Stmt {
				to := tree.BoxOf(p.d.m.rows, tree.All(size), tree.Some(x.Minus(p.x.From), size), tree.All(p.d.lanes))
				return []tree.Stmt{p.back(number, o, channels, to, line)}
			}), p.d.Loop(tree.Serial, "row", y, y.Plus(size).Min(p.y.To), 1, func(row *tree.Index) []tree.Stmt {
				return []tree.Stmt{p.d.Loop(tree.Serial, "x", p.x.From, p.x.To, p.d.lanes, func(x *tree.Index) []tree.Stmt {
					finish := func(n *tree.Index) []tree.Stmt {
						at := x.Minus(p.x.From)
						from := tree.BoxOf(p.d.m.rows, tree.Only(row.Minus(y)), tree.Between(at, at.Add(n)), tree.All(p.d.lanes))
						return []tree.Stmt{p.finish("row", from, row, x, o, tree.Const(1), n, channels, channels, n)}
					}
					if p.d.blocksAcross() > 1 && p.d.block.across*size%p.d.lanes != 0 {
						return finish(x.Plus(p.d.lanes).Min(p.x.To).Minus(x))
					}
					return macrotile.AtEdge(x, p.d.lanes, p.d.w.Across.Extent, func(n int64) []tree.Stmt { return finish(tree.Const(n)) })
				})}
			})}
		})}
	})}
}

// upTo is how many of some indices from one on a span has, of an extent: the other spans of that are so many times some.
func (p *piece) upTo(x *tree.Index, n int64, s tree.Span, extent int64) *tree.Index {
	if extent%n == 0 {
		return tree.Const(n)
	}
	return x.Plus(n).Min(s.To).Minus(x)
}

// finish is the leaf of the kernel's statements on some rows, columns and channels of results; more are numbers that it is given.
func (p *piece) finish(template string, from tree.Box, y, x, o, high, wide, channels *tree.Index, more ...*tree.Index) tree.Stmt {
	reads, writes := []tree.Box{from}, []tree.Box(nil)
	for i, operand := range p.d.kernel.Operands {
		switch box := inside(p.d.m.operands[i], p.batch, tree.Between(y, y.Add(high)), tree.Between(x, x.Add(wide)), tree.Between(o, o.Add(channels))); {
		case operand.Mode == schedule.Write:
			writes = append(writes, box)
		case nest.ReadsBeside(p.d.kernel, i, p.d.w.Sum):
			reads = append(reads, box)
		}
	}
	args := slices.Concat([]tree.Argument{{}}, tree.Numbers(p.batch...), tree.Numbers(y, x, o), []tree.Argument{from.Address()}, tree.Numbers(more...))
	return tree.Call(template, writes, reads, args...)
}
