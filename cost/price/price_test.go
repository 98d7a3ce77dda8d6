package price_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tensortapestry.org/tapc/backends/cpu"
	"tensortapestry.org/tapc/cost/machine"
	"tensortapestry.org/tapc/cost/price"
	"tensortapestry.org/tapc/cost/sample"
	"tensortapestry.org/tapc/dialects"
	"tensortapestry.org/tapc/dialects/application/planfile"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/internal/testkit"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/text"
	"tensortapestry.org/tapc/passes/lower"
	"tensortapestry.org/tapc/passes/shard"
	"tensortapestry.org/tapc/passes/standard"
)

type fataler interface {
	Helper()
	Fatal(args ...any)
}

func scheduled(t fataler, s *sample.Graph) *ir.Graph {
	t.Helper()
	g := read(t, s.Text())
	if err := standard.Run(g, kernels.Builtin(), lower.Options{}, cpu.Choosers()...); err != nil {
		t.Fatal(err, s.Text())
	}
	return g
}

func read(t fataler, graph string) *ir.Graph {
	t.Helper()
	g, err := text.Read([]byte(graph), "graph", dialects.Registry())
	if err != nil {
		t.Fatal(err, graph)
	}
	return g
}

// targets are those of the configs for CPUs.
var targets = standard.Priced(cpu.Choosers()[:1])

func laptop(t fataler) *machine.Machine {
	m, err := machine.Preset("laptop")
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func priced(t fataler, s *sample.Graph, units int64) []price.Kernel {
	t.Helper()
	return program(t, scheduled(t, s), units)
}

func program(t fataler, g *ir.Graph, units int64) []price.Kernel {
	t.Helper()
	list, err := price.Program(g, laptop(t), price.Settings{Units: units, Targets: targets})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestCounts: operations and bytes as counted by hand.
func TestCounts(t *testing.T) {
	g := sample.New("linear")
	g.Each("relu", g.Linear(g.Float(64, 48), 32))
	k := priced(t, g, 1)
	if len(k) != 1 {
		t.Fatalf("%d kernels", len(k))
	}
	w := k[0].Work
	if w.Products != 64*48*32 || w.Vector != 2*64*32 || w.Function != 0 || w.Bytes() != 4*(64*48+48*32+32+64*32) {
		t.Errorf("%+v, %v bytes", w, w.Bytes())
	}
	g = sample.New("softmax")
	g.Each("softmax", g.Float(8, 100))
	if w := priced(t, g, 1)[0].Work; w.Function < 16*800 || w.Products != 0 || w.Bytes() != 2*4*800 {
		t.Errorf("%+v, %v bytes", w, w.Bytes())
	}
	g = sample.New("padded")
	g.Conv(g.Float(1, 4, 10, 10), 8, 3, 1, 1)
	if w := priced(t, g, 1)[0].Work; w.Products != 100*8*4*9 || w.Vector != 0 || w.Bytes() != 4*(400+8*4*9+800) {
		t.Errorf("%+v, %v bytes", w, w.Bytes())
	}
}

// TestTermsAddUp: the terms of every kernel are its time, within 1 %, none is negative, and it is in its interval and not below its roof.
func TestTermsAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		for _, k := range priced(t, random(t), rapid.Int64Range(0, 8).Draw(t, "units")) {
			sum := 0.0
			for _, x := range k.Terms {
				if sum += x.Time.Value; x.Time.Value < 0 || x.What == "" {
					t.Fatalf("%+v", x)
				}
			}
			if math.Abs(sum/k.Time.Value-1) > 0.01 || k.Time.Low > k.Time.Value || k.Time.High < k.Time.Value || k.Roof > k.Time.Value*1.0001 || k.Bound == "" {
				t.Fatalf("the terms are %v of %+v", sum, k)
			}
		}
	})
}

// random is a graph of one operation, with sizes that are drawn.
func random(t *rapid.T) *sample.Graph {
	size := func(name string) int64 { return rapid.Int64Range(1, 300).Draw(t, name) }
	return of(rapid.IntRange(0, 3).Draw(t, "what"), size("m"), size("k"), size("n"))
}

func of(what int, m, k, n int64) *sample.Graph {
	g := sample.New("random")
	switch what {
	case 0:
		g.Product(g.Float(m, k), g.Float(k, n))
	case 1:
		g.Each("softmax", g.Float(m, n))
	case 2:
		g.Each("gelu", g.Float(m*k))
	case 3:
		g.Reduce("sum", g.Float(m, n), k%2)
	}
	return g
}

// TestMonotone: twice as much of a dimension never takes fewer operations or bytes, nor less time where kernels are carried out in the same forms, by
// terms of the same words, with the same operands packed: of a product of one column that is another one.
func TestMonotone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		what := rapid.IntRange(0, 3).Draw(t, "what")
		size := [3]int64{}
		for i := range size {
			size[i] = rapid.Int64Range(1, 200).Draw(t, "size")
		}
		more := size
		more[rapid.IntRange(0, 2).Draw(t, "dimension")] *= 2
		if what == 3 {
			more[1] = size[1] // which says what is summed
		}
		a, b := total(t, of(what, size[0], size[1], size[2])), total(t, of(what, more[0], more[1], more[2]))
		if b.time < a.time && a.forms == b.forms || b.operations < a.operations || b.bytes < a.bytes {
			t.Fatalf("%v takes %+v, %v %+v", size, a, more, b)
		}
	})
}

// TestMonotoneAcrossForms: more of a dimension takes no less time either where a kernel is carried out in another form for it, another algorithm, other operands packed or terms of
// other words. Six kinds of kernels take less. Sums and softmaxes of matrices with fewer columns than half a vector has lanes, whose elements come one by one or whose lanes are joined: sums of 145 rows
// of 4 took 247 ns, of 8 56 ns. Softmaxes of so few columns are priced as if rows came one by one, as the ends of sums do; their programs have a row in each lane. Products of one column, which are read along the reduction, beside those of more, whose columns are lanes. By a quarter at most, products
// of fewer columns than a panel has, which are packed, beside those of one panel or more, which are read in place: 585 x 137 x 15 took 10.8 us, x 16 10.7, and 139 x 358 6.7 and 6.5. By a fifth at
// most, products whose reduction a config cuts, as passes/tile chooses configs by prices of its own; and by a twentieth, those with other register tiles. By a fifth at
// most, rows that begin at more places within a line of a cache, so that more of their vectors lie in two: sums of 6 rows of 1203 took 300 ns beside them, of 1204 240, and along 6 rows of 999 210, of 1000 160.
func TestMonotoneAcrossForms(t *testing.T) {
	pairs := 300
	if testkit.Full() {
		pairs = 5000
	}
	r := rand.New(rand.NewPCG(18, 6))
	forms, less := 0, 0
	for range pairs {
		what, size := r.IntN(4), [3]int64{}
		for i := range size {
			size[i] = 1 + r.Int64N([]int64{20, 200, 600}[r.IntN(3)])
		}
		more, d := size, r.IntN(3)
		more[d] += []int64{1, size[d], 1 + r.Int64N(size[d])}[r.IntN(3)]
		if what == 3 {
			more[1] = size[1] // which says what is summed
		}
		a, b := total(t, of(what, size[0], size[1], size[2])), total(t, of(what, more[0], more[1], more[2]))
		if a.forms != b.forms {
			forms++
		}
		if b.time >= a.time*0.999 { // the end of a vector that is joined otherwise
			continue
		}
		column, parts := what == 0 && size[2] == 1, what == 0 && strings.Contains(a.forms, "sums in parts") && b.time > a.time*0.8
		panel := what == 0 && size[2] < schedule.PanelBytes/4 && more[2] >= schedule.PanelBytes/4 && strings.Contains(a.forms, "packing") && b.time > a.time*0.75
		other := what == 0 && a.tiles != b.tiles && b.time > a.time*0.95
		within := what%2 == 1 && size[2]&-size[2] < 16 && b.time > a.time*0.8
		if few := what == 3 && size[2] < 8; !few && !within && (!column && !parts && !panel && !other || b.time < a.time/2) {
			t.Errorf("kernel %d: %v takes %.4g s by %s, %v %.4g s by %s", what, size, a.time, a.forms, more, b.time, b.forms)
		}
		less++
	}
	t.Logf("%d of %d pairs in two forms; %d take less", forms, pairs, less)
	if forms < pairs/20 || less > pairs/50 {
		t.Errorf("%d of %d pairs are in two forms, and %d take less", forms, pairs, less)
	}
}

type sums struct {
	time, operations, bytes float64
	forms, tiles            string // tiles are those of registers
}

func total(t fataler, graph *sample.Graph) (s sums) {
	t.Helper()
	g := scheduled(t, graph)
	for _, k := range program(t, g, 1) {
		s.forms += k.Form + "; "
		for _, stage := range g.Node(k.Node).Body.(*schedule.Kernel).Configs[0].Stages {
			for _, role := range []schedule.Role{schedule.RoleM, schedule.RoleN} {
				if sizes := stage.Tile(role); len(sizes) > 1 {
					s.tiles += fmt.Sprint(sizes[1], " ")
				}
			}
			for _, p := range stage.Placements {
				s.forms += p.Operand + ", "
			}
		}
		for _, t := range k.Terms {
			s.forms += strings.TrimSuffix(t.What, ", not hidden") + ", "
		}
		s.time, s.operations, s.bytes = s.time+k.Time.Value, s.operations+k.Work.Operations(), s.bytes+k.Work.Bytes()
	}
	return s
}

// TestNearOperands: what was just written is nearer than what was not touched since the last run.
func TestNearOperands(t *testing.T) {
	g := sample.New("far")
	x := g.Each("softmax", g.Float(1000, 1000))
	g.Each("softmax", g.Apply("permute", "result", g.Float(1000, 1000), "{perm: [1, 0]}", "tensor: %s", x))
	one := sample.New("near")
	one.Each("softmax", one.Float(100, 100))
	level := func(s *sample.Graph, name string) (sum float64) {
		for _, k := range priced(t, s, 1) {
			for _, x := range k.Terms {
				if strings.HasPrefix(x.What, name) {
					sum += x.Time.Value
				}
			}
		}
		return sum
	}
	if level(g, "L3") == 0 || level(one, "L3") != 0 || level(one, "L2") == 0 {
		t.Errorf("L3: %v and %v; L2: %v", level(g, "L3"), level(one, "L3"), level(one, "L2"))
	}
}

// termsOf gives the terms of a graph's kernels by their words, and the time of all.
func termsOf(t *testing.T, s *sample.Graph) (terms map[string]float64, time float64) {
	t.Helper()
	terms = map[string]float64{}
	for _, k := range priced(t, s, 1) {
		time += k.Time.Value
		for _, x := range k.Terms {
			terms[x.What] += x.Time.Value
		}
	}
	return terms, time
}

// TestShortRows: a vector that is not full takes as long as one that is, so rows of 17 elements take twice those of 16 in all that is computed; as many
// elements in one row do not, nor do rows of another multiple of 16.
func TestShortRows(t *testing.T) {
	of := func(rows, cells int64) float64 {
		g := sample.New("rows")
		g.Each("softmax", g.Float(rows, cells))
		terms, _ := termsOf(t, g)
		return terms["functions of float32"]
	}
	if got := of(40, 17) / of(40, 16); math.Abs(got-2) > 0.001 {
		t.Errorf("17 elements take %v of what 16 do", got)
	}
	if got := of(40, 96) / of(40, 32); math.Abs(got-3) > 0.001 {
		t.Errorf("96 elements take %v of what 32 do", got)
	}
}

// TestParts: a part of a tensor is as far as the whole is, whatever was touched of the others since the last run: three parts of a tensor take as long to arrive
// as all of it.
func TestParts(t *testing.T) {
	whole := sample.New("whole")
	whole.Each("softmax", whole.Float(1500, 1000))
	level := func(requests ...string) (sum float64) {
		for _, k := range pricedParts(t, whole, requests) {
			for _, x := range k.Terms {
				if strings.HasPrefix(x.What, "L3") {
					sum += x.Time.Value
				}
			}
		}
		return sum
	}
	if one, three := level(), level("op:softmax=3"); one == 0 || math.Abs(three/one-1) > 0.01 {
		t.Errorf("L3: %v of the whole, %v of three parts", one, three)
	}
}

// pricedParts prices a graph that is cut before it is scheduled.
func pricedParts(t *testing.T, s *sample.Graph, requests []string) []price.Kernel {
	t.Helper()
	g, err := text.Read([]byte(s.Text()), s.Name, dialects.Registry())
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range requests {
		request, err := planfile.ParseCut(r)
		if err == nil {
			_, err = shard.Run(g, kernels.Builtin(), []shard.Request{request})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := standard.Run(g, kernels.Builtin(), lower.Options{}, cpu.Choosers()...); err != nil {
		t.Fatal(err)
	}
	list, err := price.Program(g, laptop(t), price.Settings{Units: 1, Targets: targets})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestProductsWait: what a product reads in place is not hidden behind its arithmetic, and is where it is copied into panels: there are rows enough for that.
func TestProductsWait(t *testing.T) {
	of := func(rows int64) (hidden bool) {
		g := sample.New("rows")
		g.Product(g.Float(rows, 1000), g.Float(1000, 3072))
		terms, time := termsOf(t, g)
		return time < terms["products of float32"]+terms["L3"]+terms["L3, not hidden"]*0.99 || terms["L3"] == 0
	}
	if of(8) || !of(400) {
		t.Errorf("8 rows hide it: %v, 400: %v", of(8), of(400))
	}
}

// TestTransposesWait: what a transpose reads across the lines of a cache that cores share is not hidden behind its elements; what a core's own caches have is, and so is what others read along lines.
func TestTransposesWait(t *testing.T) {
	of := func(rows, columns int64) (map[string]float64, float64) {
		g := sample.New("turned")
		g.Apply("permute", "result", g.Float(columns, rows), "{perm: [1, 0]}", "tensor: %s", g.Float(rows, columns))
		return termsOf(t, g)
	}
	const gathered = "elements one by one of float32"
	if terms, time := of(900, 1100); terms["L3"] == 0 || time < terms[gathered]+terms["L3"] {
		t.Errorf("%v s: %v", time, terms)
	}
	if terms, time := of(150, 140); terms[gathered] == 0 || time > 1.1*terms[gathered] {
		t.Errorf("in the second cache %v s: %v", time, terms)
	}
	g := sample.New("along")
	g.Each("relu", g.Float(900, 1100))
	if terms, time := termsOf(t, g); terms["L3"] == 0 || time > 1.1*terms["L3"] {
		t.Errorf("along lines %v s: %v", time, terms)
	}
}

// TestExtremes: the greater of two floats takes three operations, for it is not a number if one of them is none; of integers it takes one, as a sum does.
func TestExtremes(t *testing.T) {
	of := func(kernel, dtype string) float64 {
		g := sample.New("windows")
		g.Apply(kernel, "Y", g.Tensor(dtype, 1, 4, 16, 32), "{kernel: [2, 2], strides: [2, 2]}", "X: %s", g.Tensor(dtype, 1, 4, 32, 64))
		terms, _ := termsOf(t, g)
		return terms["arithmetic of "+dtype] + terms["arithmetic of "+dtype+", not hidden"]
	}
	if most, sum := of("max_pool", "float32"), of("average_pool", "float32"); most < 2.5*sum {
		t.Errorf("%v s of floats, a sum %v", most, sum)
	}
}

// TestRatesOfTheirOwn: elements two apart and arithmetic beside functions take what the machine file says of them, and what other arithmetic takes where it says nothing; a division beside a function takes 2.5
// operations there.
func TestRatesOfTheirOwn(t *testing.T) {
	sigmoid, pool := sample.New("sigmoid"), sample.New("pool")
	sigmoid.Each("sigmoid", sigmoid.Float(2000))
	pool.Pool("average_pool", pool.Float(1, 1, 64, 64), 2)
	of := func(s *sample.Graph, rates ...machine.Rate) price.Kernel {
		m := laptop(t)
		m.Devices[0].Rates = append(m.Devices[0].Rates, rates...)
		list, err := price.Program(scheduled(t, s), m, price.Settings{Units: 1, Targets: targets})
		if err != nil || len(list) != 1 {
			t.Fatal(list, err)
		}
		return list[0]
	}
	rate := func(row string) machine.Rate {
		return machine.Rate{Type: "float32", Row: row, Rate: machine.Exactly(1e9), Unit: machine.Exactly(1e9)}
	}
	if k := of(sigmoid); termOf(k, "arithmetic beside functions of float32") != 0 || termOf(k, "arithmetic of float32") == 0 {
		t.Errorf("%v", k.Terms)
	}
	k := of(sigmoid, rate("following"))
	if got, want := termOf(k, "arithmetic beside functions of float32"), (k.Work.Vector+2.5*2000)/1e9; math.Abs(got/want-1) > 1e-9 || termOf(k, "arithmetic of float32") != 0 {
		t.Errorf("%v, expected %v", k.Terms, want)
	}
	vector, err := laptop(t).Devices[0].Rate("float32", "vector", 1)
	if got, want := termOf(of(pool), "shuffles of float32"), 64*64/vector.Value; err != nil || math.Abs(got/want-1) > 1e-9 {
		t.Errorf("%v, expected %v (%v)", got, want, err)
	}
	if got, want := termOf(of(pool, rate("shuffle")), "shuffles of float32"), 64*64/1e9; math.Abs(got/want-1) > 1e-9 {
		t.Errorf("%v, expected %v", got, want)
	}
}

// TestRowsInFewSets: rows of a right factor that is read in place, a power of two of lines apart, are in few sets of the second cache. Where it does not hold those of a part of the reduction,
// columns come from the next for each register tile of rows, and where it does, as where rows are a line more apart, once.
func TestRowsInFewSets(t *testing.T) {
	of := func(rows, inner, columns int64) float64 {
		g := sample.New("sets")
		g.Product(g.Float(rows, inner), g.Float(inner, columns))
		terms, _ := termsOf(t, g)
		return terms["L3"] + terms["L3, not hidden"] + terms["memory"] + terms["memory, not hidden"]
	}
	if few, all := of(128, 1024, 4096), of(128, 1024, 4112); few < 3*all {
		t.Errorf("columns of rows 16 KB apart take %v, 16 KB and a line %v", few, all)
	}
	if few, all := of(64, 64, 1024), of(64, 64, 1040); few > all {
		t.Errorf("64 rows 4 KB apart take %v, 4 KB and a line %v", few, all)
	}
}

// TestWholeTasks: macro-tiles are handed out whole, so that of 256 columns in six of them two threads have three each, as of 288, and one has as much to do as there is.
func TestWholeTasks(t *testing.T) {
	of := func(columns, units int64) (time float64) {
		g := sample.New("columns")
		g.Product(g.Float(32, 1024), g.Float(1024, columns))
		for _, k := range priced(t, g, units) {
			time += k.Time.Value
		}
		return time
	}
	if some, more := of(256, 2), of(288, 2); math.Abs(some/more-1) > 0.02 {
		t.Errorf("256 columns take %v on two threads, 288 %v", some, more)
	}
	if some, more := of(256, 1), of(288, 1); math.Abs(more/some-288.0/256) > 0.02 {
		t.Errorf("256 columns take %v on one thread, 288 %v", some, more)
	}
}

// convolutions is a chain of two convolutions 3x3 of so many channels, of so many filters and of so many last ones, whose filters are packed in panels of 16.
func convolutions(channels, filters, last int64) *sample.Graph {
	g := sample.New("convolutions")
	x := g.Each("relu", g.Conv(g.Float(1, channels, 6, 24), filters, 3, 1, 1))
	g.Each("relu", g.Conv(x, last, 3, 1, 1))
	return g
}

// TestRegions: a kernel that threads share takes the start of each of its regions. A convolution copies its image, packs its filters and multiplies, one of more filters than pixels packs its image and
// multiplies; a product that reads its factors in place has one region, as softmax has. What is copied or packed sooner by one unit than others begin is no region.
func TestRegions(t *testing.T) {
	product, softmax := sample.New("product"), sample.New("softmax")
	product.Product(product.Float(512, 512), product.Float(512, 512))
	softmax.Each("softmax", softmax.Float(600, 900))
	region := laptop(t).Devices[0].Region.Value
	for _, c := range []struct {
		graph *sample.Graph
		want  []float64
	}{{convolutions(400, 40, 40), []float64{3, 1}}, {convolutions(400, 200, 200), []float64{3, 2}}, {convolutions(40, 40, 40), []float64{1, 1}}, {product, []float64{1}}, {softmax, []float64{1}}} {
		for units := range int64(2) {
			list := priced(t, c.graph, units+1)
			if len(list) != len(c.want) {
				t.Fatalf("%s has %d kernels, expected %d", c.graph.Name, len(list), len(c.want))
			}
			for i, k := range list {
				if got, want := termOf(k, "start of the threads")/region, c.want[i]*float64(units); math.Abs(got-want) > 1e-9 {
					t.Errorf("kernel %d of %s, %d units: %v regions, expected %v", i, c.graph.Name, units+1, got, want)
				}
			}
		}
	}
}

// TestPanelsAreHandedOut: panels are packed whole, so that of 40 filters in three of them one of two threads packs 16, and the other one 24.
func TestPanelsAreHandedOut(t *testing.T) {
	of := func(filters, units int64) float64 {
		time := termOf(priced(t, convolutions(400, filters, 40), units)[0], "packing one by one of float32")
		if time == 0 {
			t.Fatalf("%d filters are not packed", filters)
		}
		return time / float64(filters)
	}
	for filters, want := range map[int64]float64{32: 1, 40: 24.0 / 20} {
		if got := of(filters, 2) / of(64, 2); math.Abs(got-want) > 1e-9 {
			t.Errorf("a filter of %d takes %v of one of 64, expected %v", filters, got, want)
		}
		if got := of(filters, 1) / of(64, 1); math.Abs(got-1) > 1e-9 {
			t.Errorf("a filter of %d takes %v of one of 64 on one thread", filters, got)
		}
	}
}

// termOf is the time of a term of a kernel, 0 if it has none, of resources that are hidden and of those that are not.
func termOf(k price.Kernel, what string) (time float64) {
	for _, x := range k.Terms {
		if strings.TrimSuffix(x.What, ", not hidden") == what {
			time += x.Time.Value
		}
	}
	return time
}

// TestFewElements: rows of few elements have a row in each lane, so that no lanes are joined at their ends, and what they have is read and written one by one; rows of 8 have not.
func TestFewElements(t *testing.T) {
	of := func(cells int64) (terms map[string]float64, time float64) {
		g := sample.New("rows")
		g.Each("softmax", g.Float(2000, cells))
		return termsOf(t, g)
	}
	few, time := of(7)
	more, longer := of(8)
	if few["joining lanes of float32"] != 0 || few["elements one by one of float32"] == 0 || more["joining lanes of float32"] == 0 || time >= longer {
		t.Errorf("7 elements take %v of %v, 8 %v of %v", time, few, longer, more)
	}
}

// TestTasks: threads share a product as far as it has macro-tiles: of one row 128 columns are one, so two threads gain nothing; of 2048 columns they have two each.
func TestTasks(t *testing.T) {
	of := func(columns, units int64) float64 {
		g := sample.New("rows")
		g.Product(g.Float(1, 1000), g.Float(1000, columns))
		return priced(t, g, units)[0].Time.Value
	}
	if got := of(128, 2) / of(128, 1); got < 0.8 {
		t.Errorf("128 columns: %v of one thread", got)
	}
	if got := of(2048, 2) / of(2048, 1); got > 0.7 {
		t.Errorf("2048 columns: %v of one thread", got)
	}
}

// TestStages: the stages of an attention are priced as kernels of their own: keys are put into panels, and vectors of ten scores are not full.
func TestStages(t *testing.T) {
	of := func(rows int64) map[string]float64 {
		g := sample.New("attention")
		g.Attention(4, rows, 32)
		terms, _ := termsOf(t, g)
		return terms
	}
	ten, sixteen := of(10), of(16)
	if ten["packing one by one of float32"] == 0 || math.Abs(ten["functions of float32"]/sixteen["functions of float32"]-10.0/16) > 0.05 {
		t.Errorf("10: %v, 16: %v", ten, sixteen)
	}
}

// TestTypes: every machine that tapc knows has a price for sums, quotients and products of every type, and for products of narrow numbers by their micro-kernels, whose factors are converted once and
// not for each product.
func TestTypes(t *testing.T) {
	for _, name := range machine.Presets() {
		m, err := machine.Preset(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, dtype := range []string{"float32", "float64", "float16", "bfloat16", "float8_e4m3", "complex64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"} {
			sum, quotient, product := sample.New("sum"), sample.New("quotient"), sample.New("product")
			sum.Both("add", sum.Tensor(dtype, 64, 64), sum.Tensor(dtype, 64, 64))
			quotient.Apply("div", "result", quotient.Tensor(dtype, 64, 64), "", "a: %s, b: %s", quotient.Tensor(dtype, 64, 64), quotient.Tensor(dtype, 64, 64))
			product.Product(product.Tensor(dtype, 64, 64), product.Tensor(dtype, 64, 64))
			for _, g := range []*sample.Graph{sum, quotient, product} {
				if p, err := price.Program(scheduled(t, g), m, price.Settings{Targets: targets}); err != nil || len(p) == 0 || p[0].Time.Value <= 0 {
					t.Errorf("%s, %s of %s: %v", name, g.Name, dtype, err)
				}
			}
		}
		bytes, halves := sample.New("bytes"), sample.New("halves")
		bytes.Apply("matmul_integer", "Y", bytes.Tensor("int32", 256, 256), "", "A: %s, B: %s", bytes.Tensor("uint8", 256, 256), bytes.Tensor("int8", 256, 256))
		halves.Product(halves.Tensor("bfloat16", 256, 256), halves.Tensor("bfloat16", 256, 256))
		for _, g := range []*sample.Graph{bytes, halves} {
			p, err := price.Program(scheduled(t, g), m, price.Settings{Targets: targets})
			if err != nil {
				t.Fatalf("%s, %s: %v", name, g.Name, err)
			}
			for _, x := range p[0].Terms {
				if strings.HasPrefix(x.What, "arithmetic") && x.Time.Value > 0.2*p[0].Time.Value {
					t.Errorf("%s, %s: %s takes %v of %v", name, g.Name, x.What, x.Time.Value, p[0].Time.Value)
				}
			}
		}
	}
}

// TestUnknown: a rate that the file does not have is an error with its code, not 0.
func TestUnknown(t *testing.T) {
	g := sample.New("doubles")
	g.Each("softmax", g.Tensor("float64", 8, 8))
	m := laptop(t)
	m.Devices[0].Rates = slices.DeleteFunc(m.Devices[0].Rates, func(r machine.Rate) bool { return r.Type == "float64" })
	_, err := price.Program(scheduled(t, g), m, price.Settings{Targets: targets})
	if err == nil || !strings.Contains(err.Error(), "no rate of float64") || !strings.Contains(err.Error(), machine.CodeUnknown) {
		t.Error(err)
	}
}

// TestExchange: of two products in a row on two threads, of which each has half of the rows, the second has all that it reads in caches of its own where the first's result is its left factor, and as
// much as the result from the other's where that is its right one: half of it each. On one thread, and where machines have no figure for it, nothing comes from others.
func TestExchange(t *testing.T) {
	const n, rate = 256, 10e9
	of := func(left bool, units int64, known bool) float64 {
		g := sample.New("products")
		y := g.Product(g.Float(n, n), g.Float(n, n))
		if w := g.Float(n, n); left {
			g.Product(y, w)
		} else {
			g.Product(w, y)
		}
		m := laptop(t)
		if known {
			m.Devices[0].Caches[1].Exchange = machine.Exactly(rate)
		}
		list, err := price.Program(scheduled(t, g), m, price.Settings{Units: units, Targets: targets})
		if err != nil {
			t.Fatal(err)
		}
		if len(list) != 2 || termOf(list[0], "caches of other cores") != 0 {
			t.Errorf("the first of %d kernels has something from others", len(list))
		}
		for _, x := range list[1].Terms {
			if strings.HasPrefix(x.What, "caches of other cores") {
				return x.Time.Value
			}
		}
		return 0
	}
	hidden := of(false, 2, true)
	if most := 4 * n * n / (2 * rate); hidden <= 0 || hidden > most*1.0001 {
		t.Errorf("a right factor takes %v, expected more than nothing and at most %v", hidden, most)
	}
	for name, got := range map[string]float64{"a left factor": of(true, 2, true), "one thread": of(false, 1, true), "no figure": of(false, 2, false)} {
		if got != 0 {
			t.Errorf("%s takes %v of others", name, got)
		}
	}
}

// What else a kernel could be carried out as: never a config of the same price, and the terms of both, and the differences of these, add up. A config that nobody has is dearer or cheaper by what
// is counted: on one unit, a product that units share takes longer.
func TestOthers(t *testing.T) {
	m, choosers := laptop(t), cpu.Choosers()[:1]
	found, longer := 0, false
	product, wide, chain := sample.New("product"), sample.New("wide"), sample.New("chain")
	product.Product(product.Float(256, 256), product.Float(256, 256))
	wide.Product(wide.Float(16, 4096), wide.Float(4096, 2560))
	chain.Each("exp", chain.Each("relu", chain.Float(1<<16)))
	for _, s := range []*sample.Graph{product, wide, chain} {
		list, err := price.Program(scheduled(t, s), m, price.Settings{Targets: targets, Others: standard.Others(choosers)})
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range list {
			if k.Other == nil {
				continue
			}
			found++
			longer = longer || k.Units > 1 && k.Other.Units == 1 && k.Other.Time.Value > k.Time.Value
			sum := func(terms []price.Term) (all float64) {
				for _, x := range terms {
					all += x.Time.Value
				}
				return all
			}
			difference := k.Other.Time.Value - k.Time.Value
			if difference == 0 || k.Other.Form == "" {
				t.Errorf("%s: %s has the same price", k.Name, k.Other.Form)
			}
			for what, both := range map[string][2]float64{"it": {sum(k.Terms), k.Time.Value}, "the other": {sum(k.Other.Terms), k.Other.Time.Value}, "the difference": {sum(k.Beside()), difference}} {
				if math.Abs(both[0]-both[1]) > 0.01*math.Abs(difference) {
					t.Errorf("%s: terms of %s are %v, and it is %v", k.Name, what, both[0], both[1])
				}
			}
		}
	}
	if found < 3 || !longer {
		t.Errorf("%d kernels have another config, and one unit is slower: %v", found, longer)
	}
	if k := program(t, scheduled(t, product), 0); k[0].Other != nil || k[0].Beside() != nil {
		t.Error("what is not asked for")
	}
}

// TestUnevenRows: rows are tasks, of which one of two threads has two of three; of a vector that is cut, each has as many parts.
func TestUnevenRows(t *testing.T) {
	of := func(rows, units int64) (time float64) {
		g := sample.New("rows")
		g.Each("softmax", g.Float(rows, 100_000))
		return termOf(priced(t, g, units)[0], "functions of float32")
	}
	if three, four := of(3, 2), of(4, 2); math.Abs(three/four-1) > 1e-9 || three == 0 {
		t.Errorf("3 rows take %v on two threads, 4 %v", three, four)
	}
	if three, four := of(3, 1), of(4, 1); math.Abs(four/three-4.0/3) > 1e-9 {
		t.Errorf("3 rows take %v on one thread, 4 %v", three, four)
	}
	cut := func(units int64) float64 {
		g := sample.New("cut")
		g.Each("exp", g.Float(9*4096))
		return termOf(priced(t, g, units)[0], "functions of float32")
	}
	if one, two := cut(1), cut(2); math.Abs(one/two-2) > 1e-9 || one == 0 {
		t.Errorf("a vector takes %v on one thread, %v on two", one, two)
	}
}
