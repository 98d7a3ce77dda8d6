package standard_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"tensortapestry.org/tapc/backends/cpu"
	"tensortapestry.org/tapc/backends/cuda"
	"tensortapestry.org/tapc/cost/machine"
	"tensortapestry.org/tapc/cost/price"
	"tensortapestry.org/tapc/cost/sample"
	"tensortapestry.org/tapc/dialects"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/cost"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/dialects/schedule/whole"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/text"
	"tensortapestry.org/tapc/passes/fuse"
	"tensortapestry.org/tapc/passes/layout"
	"tensortapestry.org/tapc/passes/lower"
	"tensortapestry.org/tapc/passes/standard"
	"tensortapestry.org/tapc/passes/tile"
)

// model is one that a test makes up.
type model func(a *nest.Analysis) float64

func (m model) Estimate(_ schedule.DeviceType, a *nest.Analysis) (cost.Estimate, error) {
	seconds := m(a)
	if seconds < 0 {
		return cost.Estimate{}, errors.New("nobody knows what it takes")
	}
	return cost.Estimate{Seconds: seconds, Low: seconds, High: seconds}, nil
}

// before takes a graph to where a pass begins.
func before(t *testing.T, pass, graph string) *ir.Graph {
	t.Helper()
	g, err := text.Read([]byte(graph), "graph", dialects.Registry())
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range standard.Steps(kernels.Builtin(), lower.Options{}, cpu.Choosers()...) {
		if x.Name == pass {
			return g
		}
		if err := x.Run(g); err != nil {
			t.Fatal(err)
		}
	}
	t.Fatalf("no pass %s", pass)
	return nil
}

func kernelsOf(g *ir.Graph) (list []*schedule.Kernel) {
	for n := range g.Nodes() {
		if k, ok := n.Body.(*schedule.Kernel); ok {
			list = append(list, k)
		}
	}
	return list
}

// TestFuseByModel: two readers of one input become one kernel where a model says that this takes less than both, and stay two where it says that it takes more. What the model
// does not know is an error.
func TestFuseByModel(t *testing.T) {
	graph := sample.New("readers")
	x := graph.Float(64, 64)
	graph.Each("exp", x)
	graph.Each("relu", x)
	for _, c := range []struct {
		name    string
		by      cost.Model
		kernels int
		fails   bool
	}{
		{"loads", nil, 1, false},
		{"one is less", model(func(*nest.Analysis) float64 { return 1 }), 1, false},
		{"one is more", model(func(a *nest.Analysis) float64 { return float64(len(a.Kernel.Operands) * len(a.Kernel.Operands)) }), 2, false},
		{"not known", model(func(*nest.Analysis) float64 { return -1 }), 0, true},
	} {
		g := before(t, "fuse", graph.Text())
		_, err := fuse.Run(g, fuse.Options{May: func(ir.NodeID) bool { return true }, Model: c.by})
		if (err != nil) != c.fails {
			t.Errorf("%s: %v", c.name, err)
		}
		if n := len(kernelsOf(g)); err == nil && n != c.kernels {
			t.Errorf("%s: %d kernels, expected %d", c.name, n, c.kernels)
		}
	}
}

// depthwise is an image that a product with constants leaves with its channels innermost, and that constant filters then meet channel by channel.
const depthwise = `tapc 1
%x = tensor float32 [0:1, 0:2, 0:6, 0:6]
%w = tensor float32 [0:16, 0:2, 0:1, 0:1]
%v = tensor float32 [0:16, 0:1, 0:3, 0:3]
%y = tensor float32 [0:1, 0:16, 0:6, 0:6]
%z = tensor float32 [0:1, 0:16, 0:6, 0:6]
%u = tensor float32 [0:4, 0:16, 0:3, 0:3]
%s = tensor float32 [0:1, 0:4, 0:6, 0:6]
operation op:constant {value: [VALUES]} -> (result: %v)
operation op:conv (X: %x, W: %w) -> (Y: %y)
operation op:conv {groups: 16, pads: [1, 1]} (X: %y, W: %v) -> (Y: %z)
operation op:conv {pads: [1, 1]} (X: %z, W: %u) -> (Y: %s)
`

// TestLayoutByModel: a constant whose order no sum follows has the order by which a model says that its readers take least, and others have theirs by rules and not by the model.
func TestLayoutByModel(t *testing.T) {
	filters := strings.TrimSuffix(strings.Repeat("[[[1, 8, 5], [2, 9, 6], [3, 0, 7]]], ", 16), ", ")
	innermost := func(b *schedule.Buffer) bool { return b.Strides[0] == 1 }
	filter := func(list map[ir.NodeID]*schedule.Buffer) *schedule.Buffer {
		for _, b := range list {
			if b.Space == schedule.Constant {
				return b
			}
		}
		t.Fatal("no constant")
		return nil
	}
	by := func(less bool) model {
		return func(a *nest.Analysis) float64 {
			for _, o := range a.Kernel.Operands {
				if b := a.Buffers[o.Buffer]; b.Space == schedule.Constant && innermost(b) == less {
					return 1
				}
			}
			return 2
		}
	}
	var orders []string
	for _, c := range []struct {
		name   string
		by     cost.Model
		inside bool
	}{{"rules", nil, true}, {"filters innermost", by(true), true}, {"row-major", by(false), false}} {
		g := before(t, "layout", strings.Replace(depthwise, "VALUES", filters, 1))
		if _, err := layout.Run(g, c.by); err != nil {
			t.Fatal(err)
		}
		order := ""
		for n := range g.Nodes() {
			if b, ok := n.Body.(*schedule.Buffer); ok && b.Space == schedule.Arena {
				order += " " + g.Name(n.ID) + map[bool]string{true: "-row-major", false: "-not"}[b.RowMajor()]
			}
		}
		orders = append(orders, order)
		if got := innermost(filter(whole.Buffers(g))); got != c.inside {
			t.Errorf("%s: filters are innermost: %v, expected %v", c.name, got, c.inside)
		}
	}
	if orders[0] != orders[1] || orders[0] != orders[2] || !strings.Contains(orders[0], "-not") {
		t.Errorf("orders that sums follow depend on the model: %q", orders)
	}
	g := before(t, "layout", "tapc 1\n")
	if _, err := layout.Run(g, model(func(*nest.Analysis) float64 { return -1 })); err != nil {
		t.Errorf("what has no constants asks the model: %v", err)
	}
}

// TestTileByModel: of the candidates that are not refused the one is chosen by which a model says that a kernel takes least, and of those that are within 2 % of it the one that the
// back end thinks takes least.
func TestTileByModel(t *testing.T) {
	graph := sample.New("product")
	graph.Product(graph.Float(96, 64), graph.Float(64, 96))
	rows := func(c *schedule.Config) int64 {
		m := c.Stages[0].Tile(schedule.RoleM)
		if len(m) < 2 {
			return 0
		}
		return m[1]
	}
	chosen := func(by cost.Model) int64 {
		t.Helper()
		g := before(t, "tile", graph.Text())
		if err := tile.Run(g, tile.Options{Choosers: cpu.Choosers(), Model: by}); err != nil {
			t.Fatal(err)
		}
		return rows(&kernelsOf(g)[0].Configs[0])
	}
	own := chosen(nil)
	prefer := func(r int64, others float64) cost.Model {
		return model(func(a *nest.Analysis) float64 {
			if rows(&a.Kernel.Configs[0]) == r {
				return 1
			}
			return others
		})
	}
	if own == 3 || own == 0 {
		t.Fatalf("register tiles of %d rows say nothing", own)
	}
	for _, c := range []struct {
		others float64
		want   int64
	}{{1.5, 3}, {1.03, 3}, {1.01, own}, {0.5, own}} {
		if got := chosen(prefer(3, c.others)); got != c.want {
			t.Errorf("where others take %v as long, register tiles have %d rows, expected %d", c.others, got, c.want)
		}
	}
	g := before(t, "tile", graph.Text())
	if err := tile.Run(g, tile.Options{Choosers: cpu.Choosers(), Model: model(func(*nest.Analysis) float64 { return -1 })}); err == nil || !strings.Contains(err.Error(), "nobody knows") {
		t.Errorf("what the model does not know: %v", err)
	}
}

// TestModelOfAMachine: a model of a machine says of the kernel of a program of one what the program is priced.
func TestModelOfAMachine(t *testing.T) {
	m, err := machine.Preset("laptop")
	if err != nil {
		t.Fatal(err)
	}
	by, err := standard.Model("laptop", cpu.Choosers())
	if err != nil {
		t.Fatal(err)
	}
	for _, graph := range []func(g *sample.Graph){
		func(g *sample.Graph) { g.Product(g.Float(96, 64), g.Float(64, 96)) },
		func(g *sample.Graph) { g.Each("softmax", g.Float(128, 512)) },
		func(g *sample.Graph) { g.Conv(g.Float(1, 16, 14, 14), 16, 3, 1, 1) },
		func(g *sample.Graph) { g.Reduce("sum", g.Float(300, 40), 0) },
	} {
		s := sample.New("one")
		graph(s)
		g := before(t, "memory", s.Text())
		list, err := price.Program(g, m, price.Settings{Targets: standard.Priced(cpu.Choosers())})
		if err != nil {
			t.Fatal(err)
		}
		e, err := by.Estimate(schedule.CPU, nest.Analyze(kernelsOf(g)[0], whole.Buffers(g)))
		if k := list[0]; len(list) != 1 || err != nil || e.Seconds != k.Time.Value || e.Low != k.Time.Low || e.High != k.Time.High || e.Bytes != k.Work.Bytes() {
			t.Errorf("%d kernels, the program %+v, the model %+v, %v", len(list), list[0].Time, e, err)
		}
	}
	if none, err := standard.Model("", cpu.Choosers()); none != nil || err != nil {
		t.Errorf("no machine: %v, %v", none, err)
	}
	if _, err := standard.Model("toaster", nil); err == nil {
		t.Error("a machine that nobody knows is one")
	}
	if _, err := by.Estimate(schedule.CUDA, &nest.Analysis{Kernel: &schedule.Kernel{}}); err == nil {
		t.Error("a laptop has a CUDA device")
	}
}

// TestOn: a machine says what kernels are decided for, for each kind of device or for none, and only what kernels of the kind have configs for.
func TestOn(t *testing.T) {
	choosers := append(cpu.Choosers(), cuda.Chooser{})
	_, usual := cpu.Choosers()[0].Target()
	device := func(kind, target string) machine.Device {
		return machine.Device{Name: kind, Kind: kind, Target: target}
	}
	for _, c := range []struct {
		devices []machine.Device
		want    string // "" is an error
	}{
		{[]machine.Device{device("cpu", "")}, "[]"},
		{[]machine.Device{device("cpu", "cpu_v32_r16_l512k")}, "[cpu_v32_r16_l512k sm_80]"},
		{[]machine.Device{device("cuda", "sm_80"), device("cpu", "")}, "[" + usual + " sm_80]"},
		{[]machine.Device{device("cuda", ""), device("cpu", "cpu_v16_r32_l512k")}, "[cpu_v16_r32_l512k sm_80]"},
		{[]machine.Device{device("cpu", "sm_80")}, ""},
		{[]machine.Device{device("cuda", "cpu_v32_r16_l512k")}, ""},
		{[]machine.Device{device("cpu", ""), device("cuda", "sm_1")}, ""},
		{[]machine.Device{device("rocm", "cpu_v32_r16_l512k")}, ""},
	} {
		got, err := standard.On(&machine.Machine{Name: "m", Devices: c.devices}, choosers)
		if err == nil && fmt.Sprint(got) != c.want || err != nil && c.want != "" {
			t.Errorf("%v: found %v, %v", c.devices, got, err)
		}
	}
	for _, name := range machine.Presets() {
		m, err := machine.Preset(name)
		if err == nil {
			_, err = standard.On(m, choosers)
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
