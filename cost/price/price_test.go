package price_test

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tensortapestry.org/tapc/backends/cpu"
	"tensortapestry.org/tapc/cost/machine"
	"tensortapestry.org/tapc/cost/price"
	"tensortapestry.org/tapc/cost/sample"
	"tensortapestry.org/tapc/dialects"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/text"
	"tensortapestry.org/tapc/passes/lower"
	"tensortapestry.org/tapc/passes/standard"
	"tensortapestry.org/tapc/passes/tile"
)

type fataler interface {
	Helper()
	Fatal(args ...any)
}

func scheduled(t fataler, s *sample.Graph) *ir.Graph {
	t.Helper()
	g, err := text.Read([]byte(s.Text()), s.Name, dialects.Registry())
	if err == nil {
		err = standard.Run(g, kernels.Builtin(), lower.Options{}, cpu.Choosers()...)
	}
	if err != nil {
		t.Fatal(err, s.Text())
	}
	return g
}

// targets are the names of the configs for CPUs.
var targets = map[schedule.DeviceType][]string{schedule.CPU: {target(cpu.Choosers()[0])}}

func target(c tile.Chooser) string {
	_, name := c.Target()
	return name
}

func laptop(t fataler) *machine.Machine {
	m, err := machine.Preset("laptop")
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func priced(t fataler, s *sample.Graph, units int64) []price.Kernel {
	t.Helper()
	list, err := price.Program(scheduled(t, s), laptop(t), price.Settings{Units: units, Targets: targets})
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
// terms of the same words.
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
		a, b := total(priced(t, of(what, size[0], size[1], size[2]), 1)), total(priced(t, of(what, more[0], more[1], more[2]), 1))
		if b.time < a.time && a.forms == b.forms || b.operations < a.operations || b.bytes < a.bytes {
			t.Fatalf("%v takes %+v, %v %+v", size, a, more, b)
		}
	})
}

type sums struct {
	time, operations, bytes float64
	forms                   string
}

func total(list []price.Kernel) (s sums) {
	for _, k := range list {
		s.forms += k.Form + "; "
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

// TestUnknown: a rate that the file does not have is an error with its code, not 0.
func TestUnknown(t *testing.T) {
	g := sample.New("doubles")
	g.Each("softmax", g.Tensor("float64", 8, 8))
	_, err := price.Program(scheduled(t, g), laptop(t), price.Settings{Targets: targets})
	if err == nil || !strings.Contains(err.Error(), "no rate of float64") || !strings.Contains(err.Error(), machine.CodeUnknown) {
		t.Error(err)
	}
}
