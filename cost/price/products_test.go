package price_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"tensortapestry.org/tapc/backends/cpu"
	"tensortapestry.org/tapc/cost/machine"
	"tensortapestry.org/tapc/cost/price"
	"tensortapestry.org/tapc/cost/sample"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/permission"
	"tensortapestry.org/tapc/passes/lower"
	"tensortapestry.org/tapc/passes/standard"
)

// term is what the terms of the kernels of a schedule take together whose words begin so.
func term(list []price.Kernel, words string) (sum float64) {
	for _, k := range list {
		for _, x := range k.Terms {
			if strings.HasPrefix(x.What, words) {
				sum += x.Time.Value
			}
		}
	}
	return sum
}

// TestRegisterTiles: a register tile of few sums waits for each, and one of one vector loads as many numbers as it multiplies. A step of 8 rows of 3 vectors takes 113 eighths of a cycle for 24 vectors of
// sums (4 x 24 + 8 + 9), of 12 of 2 114 for 24, of 8 of one 47 for 8 (9 loads), of 4 of one 39 for 4 (8, as results come after four cycles).
func TestRegisterTiles(t *testing.T) {
	s := sample.New("product")
	s.Product(s.Float(96, 48), s.Float(48, 96))
	products := func(rows, width int64) float64 {
		g := scheduled(t, s)
		for n := range g.Nodes() {
			if k, ok := n.Body.(*schedule.Kernel); ok {
				for i, x := range k.Configs[0].Stages[0].Tiles {
					switch x.Role {
					case schedule.RoleM:
						k.Configs[0].Stages[0].Tiles[i].Sizes = []int64{96, rows}
					case schedule.RoleN:
						k.Configs[0].Stages[0].Tiles[i].Sizes = []int64{96, width, 16}
					}
				}
			}
		}
		return term(program(t, g, 1), "products")
	}
	full := products(8, 48)
	for _, c := range []struct {
		rows, width int64
		times       float64
	}{{8, 48, 1}, {4, 16, (39.0 / 4) / (113.0 / 24)}, {8, 16, (47.0 / 8) / (113.0 / 24)}, {12, 32, (114.0 / 24) / (113.0 / 24)}} {
		if got := products(c.rows, c.width) / full; math.Abs(got/c.times-1) > 1e-9 {
			t.Errorf("tiles of %d x %d take %.4f of the time of 8 x 48, expected %.4f", c.rows, c.width, got, c.times)
		}
	}
}

// TestColumnsFromFar: where a machine says that its last cache gives columns that are read in place half as fast as rows in order, those of a right factor that comes from there or from memory take twice as long, and what is packed or
// read by rows takes no longer. Tiles of several rows that read a line of each row of it wait for memory; those that read two lines do not.
func TestColumnsFromFar(t *testing.T) {
	m := laptop(t)
	halved := *m
	halved.Devices = slices.Clone(m.Devices)
	d := &halved.Devices[0]
	d.Caches = slices.Clone(d.Caches)
	last := &d.Caches[len(d.Caches)-1]
	last.Columns = last.Bandwidth.Times(machine.Exactly(0.5))
	memory := func(m *machine.Machine, g *ir.Graph) (waits, hidden float64) {
		list, err := price.Program(g, m, price.Settings{Units: 1, Targets: targets})
		if err != nil {
			t.Fatal(err)
		}
		hidden = term(list, "memory, not hidden")
		return term(list, "memory") - hidden, hidden
	}
	all := func(m *machine.Machine, s *sample.Graph) float64 {
		list, err := price.Program(scheduled(t, s), m, price.Settings{Units: 1, Targets: targets})
		if err != nil {
			t.Fatal(err)
		}
		return term(list, "memory") + term(list, last.Name)
	}
	row, near, sum, packed := sample.New("row"), sample.New("near"), sample.New("sum"), sample.New("packed")
	near.Product(near.Float(1, 1000), near.Float(1000, 1500))
	row.Product(row.Float(1, 4000), row.Float(4000, 8000))
	sum.Reduce("sum", sum.Float(4000, 8000), 1)
	packed.Product(packed.Float(512, 4096), packed.Float(4096, 4096))
	for _, x := range []struct {
		graph *sample.Graph
		times float64
	}{{row, 2}, {near, 2}, {sum, 1}, {packed, 1}} {
		if got := all(&halved, x.graph) / all(m, x.graph); math.Abs(got-x.times) > 0.01 {
			t.Errorf("%s: memory takes %.3f of the time, expected %v", x.graph.Name, got, x.times)
		}
	}
	tiles := sample.New("tiles")
	tiles.Product(tiles.Float(16, 4000), tiles.Float(4000, 8000))
	for columns, want := range map[int64]bool{16: true, 32: false} {
		g := scheduled(t, tiles)
		for n := range g.Nodes() {
			if k, ok := n.Body.(*schedule.Kernel); ok {
				k.Configs[0].Stages[0] = schedule.Stage{Algorithm: schedule.Contraction, Tiles: []schedule.Tiling{
					{Role: schedule.RoleM, Sizes: []int64{16, 8}}, {Role: schedule.RoleN, Sizes: []int64{columns, columns, 16}}, {Role: schedule.RoleK, Sizes: []int64{4000}}}}
			}
		}
		if waits, hidden := memory(m, g); waits > 10*hidden != want {
			t.Errorf("tiles of %d columns wait %v s for memory, %v s come meanwhile", columns, waits, hidden)
		}
	}
}

// TestColumnsNearBy: tiles that read a line of a row wait for columns in place from behind the nearer part of a cache that cores share, and not for those that the second cache of their core has.
func TestColumnsNearBy(t *testing.T) {
	m := *laptop(t)
	m.Devices = slices.Clone(m.Devices)
	d := &m.Devices[0]
	second, third := d.Caches[1], d.Caches[2]
	nearer := func(c machine.Cache) machine.Cache {
		c.Name, c.Bytes = c.Name+machine.Nearby, c.Bytes/4
		return c
	}
	d.Caches = []machine.Cache{d.Caches[0], nearer(second), second, nearer(third), third}
	waits := func(columns int64, cache string) (waits, hidden float64) {
		s := sample.New("columns near by")
		y := s.Float(1000, columns)
		s.Product(s.Float(4, 1000), y)
		s.Product(s.Float(4, 1000), y)
		g := scheduled(t, s)
		for n := range g.Nodes() {
			if k, ok := n.Body.(*schedule.Kernel); ok {
				k.Configs[0].Stages[0] = schedule.Stage{Algorithm: schedule.Contraction, Tiles: []schedule.Tiling{
					{Role: schedule.RoleM, Sizes: []int64{4, 4}}, {Role: schedule.RoleN, Sizes: []int64{16, 16, 8}}, {Role: schedule.RoleK, Sizes: []int64{1000}}}}
			}
		}
		list, err := price.Program(g, &m, price.Settings{Units: 1, Targets: targets})
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range list[1].Terms {
			switch x.What {
			case cache:
				waits += x.Time.Value
			case cache + ", not hidden":
				hidden += x.Time.Value
			}
		}
		return waits, hidden
	}
	if w, h := waits(second.Bytes/4000&^15, second.Name); w > 0 || h <= 0 {
		t.Errorf("for columns in the second cache tiles wait %v s, %v s come meanwhile", w, h)
	}
	if w, h := waits(third.Bytes/4000&^15, third.Name); w <= 10*h {
		t.Errorf("for columns behind the nearer part of the third cache tiles wait %v s, %v s come meanwhile", w, h)
	}
}

// TestPrefetchedColumns: tiles that read and write a line of a row wait for the columns that they pack, if these are in no cache near by, and not for those that they prefetch; nor do tiles of two lines wait.
func TestPrefetchedColumns(t *testing.T) {
	m, s := laptop(t), sample.New("packed")
	s.Product(s.Float(512, 1000), s.Float(1000, 8000))
	waits := func(columns int64, p schedule.Prefetch) float64 {
		g := scheduled(t, s)
		for n := range g.Nodes() {
			if k, ok := n.Body.(*schedule.Kernel); ok {
				k.Configs[0].Stages[0] = schedule.Stage{Algorithm: schedule.Contraction, Prefetch: p, Tiles: []schedule.Tiling{
					{Role: schedule.RoleM, Sizes: []int64{512, 8}}, {Role: schedule.RoleN, Sizes: []int64{columns, columns, 16}}, {Role: schedule.RoleK, Sizes: []int64{500}}},
					Placements: []schedule.Placement{{Operand: "Y", Scope: schedule.DeviceScope, Panels: 1}}}
			}
		}
		list, err := price.Program(g, m, price.Settings{Units: 1, Targets: targets})
		if err != nil {
			t.Fatal(err)
		}
		return term(list, "memory") - term(list, "memory, not hidden") - term(list, "memory, meanwhile")
	}
	least := waits(16, schedule.PrefetchColumns) // for rows and results
	for _, c := range []struct {
		columns   int64
		prefetch  schedule.Prefetch
		low, high float64
	}{{16, schedule.PrefetchNothing, 2.5, 3}, {16, schedule.PrefetchRows, 2.5, 2.7}, {16, schedule.PrefetchMacroTile, 1, 1}, {32, schedule.PrefetchNothing, 0, 0}} {
		if got := waits(c.columns, c.prefetch); got < c.low*least || got > c.high*least || least == 0 {
			t.Errorf("tiles of %d columns, prefetch %s, wait for memory %v s, for results and rows %v s", c.columns, c.prefetch, got, least)
		}
	}
}

// TestLeaving: where others use the last cache, what a program reads again after a while comes from memory in part: the more, the longer the program takes meanwhile. What it reads again at once does not, nor what a core's own
// caches have.
func TestLeaving(t *testing.T) {
	from := func(lasts float64, whiles int, rows int64) float64 {
		m, s := laptop(t), sample.New("while")
		last := &m.Devices[0].Caches[len(m.Devices[0].Caches)-1]
		if lasts > 0 {
			last.Lasts = machine.Exactly(lasts)
		}
		s.Reduce("sum", s.Float(rows, 16384), 1)
		x := s.Float(4000)
		for range whiles {
			x = s.Each("erfc", x)
		}
		list, err := price.Program(scheduled(t, s), m, price.Settings{Units: 1, Targets: targets})
		if err != nil {
			t.Fatal(err)
		}
		return term(list, "memory")
	}
	if none, soon, late := from(0, 20, 64), from(1e-3, 1, 64), from(1e-3, 20, 64); none > 0 || soon > late/10 || late <= from(2e-3, 20, 64) {
		t.Errorf("from memory: %v s if it stays, %v s soon, %v s late", none, soon, late)
	}
	if near := from(1e-3, 20, 1); near > from(1e-3, 20, 64)/100 {
		t.Errorf("of what a core has in its own caches %v s come from memory", near)
	}
}

// TestResults: where a machine says what results of products take, each takes as long, however long its sum is; without it none does.
func TestResults(t *testing.T) {
	with := laptop(t)
	with.Devices[0].Rates = append(slices.Clone(with.Devices[0].Rates), machine.Rate{Type: "float32", Row: "result", Rate: machine.Exactly(8e9), Unit: machine.Exactly(1e9)})
	of := func(m *machine.Machine, length int64) float64 {
		s := sample.New("results")
		s.Product(s.Float(96, length), s.Float(length, 64))
		list, err := price.Program(scheduled(t, s), m, price.Settings{Units: 1, Targets: targets})
		if err != nil {
			t.Fatal(err)
		}
		return term(list, "results of products")
	}
	for _, length := range []int64{8, 200} {
		if got, none := of(with, length), of(laptop(t), length); none != 0 || math.Abs(got/(96*64/1e9)-1) > 1e-9 {
			t.Errorf("sums of %d: %v, and %v where nothing is known", length, got, none)
		}
	}
}

// TestRowsAgain: rows that a macro-tile reads again for each register tile of columns come from behind the second cache if that does not keep them, and take as long for each such tile but the first.
func TestRowsAgain(t *testing.T) {
	again := func(rows, cols int64) float64 {
		s := sample.New("rows again")
		s.Product(s.Float(4096, 512), s.Float(512, cols))
		g := scheduled(t, s)
		for n := range g.Nodes() {
			if k, ok := n.Body.(*schedule.Kernel); ok {
				for i, x := range k.Configs[0].Stages[0].Tiles {
					if sizes := map[schedule.Role][]int64{schedule.RoleM: {rows, 8}, schedule.RoleN: {32, 32, 16}}[x.Role]; sizes != nil {
						k.Configs[0].Stages[0].Tiles[i].Sizes = sizes
					}
				}
			}
		}
		return term(program(t, g, 1), "rows again")
	}
	near, far, wide := again(64, 256), again(2048, 256), again(2048, 512)
	if near > 0 || far <= 0 || math.Abs(wide/far-15.0/7) > 1e-9 {
		t.Errorf("64 rows %v s, 2048 %v, and %v for twice the columns", near, far, wide)
	}
}

// TestColumnsAgain: each register tile of rows but the first waits for some of the columns in place that a core's caches do not keep, which are rows whole pages apart; for columns that a core keeps none does.
func TestColumnsAgain(t *testing.T) {
	again := func(rows, cols int64) float64 {
		s := sample.New("columns again")
		s.Product(s.Float(rows, 1024), s.Float(1024, cols))
		g := scheduled(t, s)
		for n := range g.Nodes() {
			if k, ok := n.Body.(*schedule.Kernel); ok {
				k.Configs[0].Stages[0] = schedule.Stage{Algorithm: schedule.Contraction, Tiles: []schedule.Tiling{
					{Role: schedule.RoleM, Sizes: []int64{rows, 8}}, {Role: schedule.RoleN, Sizes: []int64{32, 32, 16}}, {Role: schedule.RoleK, Sizes: []int64{1024}}}}
			}
		}
		return term(program(t, g, 1), "columns again")
	}
	one, two, four := again(8, 1024), again(16, 1024), again(32, 1024)
	if near := again(32, 1000); one != 0 || two <= 0 || math.Abs(four/two-3) > 1e-9 || near != 0 {
		t.Errorf("one tile of rows waits %v s, two %v, four %v; where rows of columns are no pages apart four wait %v", one, two, four, near)
	}
}

// TestTransformedTiles: a convolution on transformed tiles of 4 x 4 results has 36 products for 16 results where the direct one has 144.
func TestTransformedTiles(t *testing.T) {
	const graph = `tapc 1
%x = tensor float32 [0:1, 0:64, 0:28, 0:28]
%w = tensor float32 [0:64, 0:64, 0:3, 0:3]
%y = tensor float32 [0:1, 0:64, 0:28, 0:28]
operation op:constant {value: 0.5} -> (result: %w)
operation op:conv {pads: [1, 1], pads_end: [1, 1]} (X: %x, W: %w) -> (Y: %y)
`
	of := func(allow permission.Set) []price.Kernel {
		g := read(t, graph)
		if err := standard.Run(g, kernels.Builtin(), lower.Options{Allow: allow}, cpu.Choosers()...); err != nil {
			t.Fatal(err)
		}
		return program(t, g, 1)
	}
	direct, transformed := of(0), of(permission.TransformedTiles)
	if direct[0].Form != "contraction" || transformed[0].Form != "transformed" {
		t.Fatalf("%s and %s", direct[0].Form, transformed[0].Form)
	}
	if got := term(transformed, "products") / term(direct, "products"); got < 0.2 || got > 0.25 { // direct ones have tiles at the edges, too
		t.Errorf("transformed products take %.3f of direct ones, expected nearly 0.25", got)
	}
	if term(transformed, "transformed tiles") == 0 || term(transformed, "weights") == 0 || transformed[0].Time.Value >= direct[0].Time.Value {
		t.Errorf("%+v", transformed[0].Terms)
	}
}

// TestSlidingWindows: lines whose windows slide over each other, and that are computed together, load what they share once. Windows that are apart share nothing.
func TestSlidingWindows(t *testing.T) {
	times := func(stride, lines int64) float64 {
		out := (64-3)/stride + 1
		g := read(t, fmt.Sprintf(`tapc 1
%%x = tensor float32 [0:1, 0:32, 0:64, 0:64]
%%w = tensor float32 [0:32, 0:1, 0:3, 0:3]
%%y = tensor float32 [0:1, 0:32, 0:%d, 0:%[1]d]
operation op:conv {groups: 32, pads: [0, 0], pads_end: [0, 0], strides: [%d, %[2]d]} (X: %%x, W: %%w) -> (Y: %%y)
`, out, stride))
		if err := standard.Run(g, kernels.Builtin(), lower.Options{}, cpu.Choosers()...); err != nil {
			t.Fatal(err)
		}
		for n := range g.Nodes() {
			if k, ok := n.Body.(*schedule.Kernel); ok {
				s := &k.Configs[0].Stages[0]
				s.Tiles = slices.DeleteFunc(s.Tiles, func(x schedule.Tiling) bool { return x.Role == schedule.RoleLine })
				if lines > 1 {
					s.Tiles = append(s.Tiles, schedule.Tiling{Role: schedule.RoleLine, Sizes: []int64{lines}})
				}
			}
		}
		return program(t, g, 1)[0].Time.Value
	}
	if part := times(1, 4) / times(1, 1); part < 0.5 || part > 0.95 { // arithmetic is as much
		t.Errorf("four lines take %.3f of the time of one line", part)
	}
	if one, four := times(3, 1), times(3, 4); one != four {
		t.Errorf("windows that are apart: four lines take %v, one takes %v", four, one)
	}
}

// TestWindowsAtLineEnds: packing windows two apart takes longer, for each element, where vectors go on in the next line of results: in lines of 33, and not in lines of 32. What has one
// result has no lines.
func TestWindowsAtLineEnds(t *testing.T) {
	packing := func(side int64) float64 {
		s := sample.New("conv")
		s.Conv(s.Float(1, 16, 2*side, 2*side), 32, 3, 2, 1)
		return term(priced(t, s, 1), "packing of") / float64(side*side)
	}
	even := packing(32)
	for side, times := range map[int64]float64{16: 1, 64: 1, 33: 1 + (16.0/33)*(1-1.0/16)*(54-16)/16, 24: 1 + (16.0/24)*(1-1.0/2)*(54-16)/16} {
		if got := packing(side) / even; math.Abs(got/times-1) > 1e-9 {
			t.Errorf("lines of %d take %.4f of the time of lines of 32 for each element, expected %.4f", side, got, times)
		}
	}
	for _, pads := range []string{"[0, 0]", "[1, 1]"} {
		g := read(t, fmt.Sprintf(`tapc 1
%%x = tensor float32 [0:1, 0:16, 0:3, 0:3]
%%w = tensor float32 [0:32, 0:16, 0:3, 0:3]
%%y = tensor float32 [0:1, 0:32, 0:%d, 0:%[1]d]
operation op:conv {pads: %s, pads_end: %[2]s, strides: [3, 3]} (X: %%x, W: %%w) -> (Y: %%y)
`, 1, pads))
		if err := standard.Run(g, kernels.Builtin(), lower.Options{}, cpu.Choosers()...); err != nil {
			t.Fatal(err)
		}
		if k := program(t, g, 1); k[0].Time.Value <= 0 {
			t.Errorf("%+v", k)
		}
	}
}

// TestCopies: what a convolution copies of its image takes a copy and a read in the cache that has both; one whose channels are no neighbours is transposed, one of few such channels is copied element by element. Products copy nothing.
func TestCopies(t *testing.T) {
	convolution := func(channels, height int64) float64 {
		g := sample.New("convolutions")
		x := g.Each("relu", g.Conv(g.Float(1, channels, height, 24), 40, 3, 1, 1))
		g.Each("relu", g.Conv(x, 40, 3, 1, 1))
		list := priced(t, g, 1)
		if len(list) != 2 {
			t.Fatalf("%d kernels", len(list))
		}
		for word, of := range map[string]int64{"copying the left factor, transposed": 40, "copying the left factor, one by one": 3} {
			if got := term(list[:1], word) > 0; got != (of == channels) || term(list[1:], word) > 0 {
				t.Errorf("%d channels: %q is %v", channels, word, got)
			}
		}
		return term(list[1:], "copying the left factor in L2")
	}
	six, twelve, eighteen := convolution(40, 6), convolution(3, 12), convolution(40, 18)
	if math.Abs((eighteen-twelve)/(twelve-six)-1) > 1e-9 {
		t.Errorf("6 lines take %v, 12 %v, 18 %v", six, twelve, eighteen)
	}
	// A copy reads and writes 8 × 26 × 40 elements at least.
	if least := 2 * 4 * 8 * 26 * 40 / laptop(t).Devices[0].Caches[1].Bandwidth.Value; six < least || six > 2*least {
		t.Errorf("6 lines take %v, a copy %v", six, least)
	}
	product := sample.New("product")
	product.Product(product.Float(512, 512), product.Float(512, 512))
	if k := priced(t, product, 1); term(k, "copying") != 0 {
		t.Errorf("a product: %+v", k)
	}
}
