package tune

import (
	"context"
	"encoding/binary"
	"errors"
	"io/fs"
	"math"
	"testing"

	"tensortapestry.org/tapc/backends"
	"tensortapestry.org/tapc/backends/cpu"
	"tensortapestry.org/tapc/backends/cpu/toolchain"
	"tensortapestry.org/tapc/dialects"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/internal/filecache"
	"tensortapestry.org/tapc/internal/testkit"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/permission"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/tensorfile"
	"tensortapestry.org/tapc/ir/text"
	"tensortapestry.org/tapc/passes/lower"
	"tensortapestry.org/tapc/passes/standard"
)

// twice is a product that is there twice under other names, and something else.
const twice = `%x = tensor float32 [0:40, 0:64]
%w = tensor float32 [0:64, 0:48]
%y = tensor float32 [0:40, 0:48]
operation op:matmul (X: %x, W: %w) -> (Z: %y)
%a = tensor float32 [0:40, 0:64]
%b = tensor float32 [0:64, 0:48]
%c = tensor float32 [0:40, 0:48]
operation op:matmul (X: %a, W: %b) -> (Z: %c)
%s = tensor float32 [0:40, 0:48]
operation op:softmax (tensor: %c) -> (result: %s)
`

// scheduled takes a graph to a schedule.
func scheduled(t *testing.T, graph string, allow permission.Set) *ir.Graph {
	t.Helper()
	g, err := text.Read([]byte("tapc 1\n"+graph), "test.tap", dialects.Registry())
	if err == nil {
		err = standard.Run(g, kernels.Builtin(), lower.Options{Allow: allow}, cpu.Choosers()...)
	}
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// realLab is one for the processors that kernels are scheduled for.
func realLab(t *testing.T) *cpu.Lab {
	t.Helper()
	cc, err := toolchain.FindCompiler(t.Context())
	testkit.Need(t, testkit.Compilers, err)
	targets, err := cc.Targets(t.Context(), "x86-64-v4")
	if err != nil {
		t.Skipf("the compiler is for other machines: %v", err) // another processor
	}
	return &cpu.Lab{Compiler: cc, CPU: "x86-64-v4", Target: targets[0], Threads: 2}
}

// fake measures by a table: how long configs take, 1 if nothing is said, and which compute other values. Everything else it leaves to a lab.
type fake struct {
	backends.Lab
	times   map[string]float64
	differ  map[string]bool
	built   int
	races   map[string]int // times that each was timed
	fail    int            // the number of a program that cannot be built, from 1
	full    int            // from which number on none can be built, 0 for never
	stop    func()         // is called when that many programs were built
	atBuild int
}

type fakeProgram struct {
	f    *fake
	text string
}

// configIn gives the config of the kernel of a graph as text.
func configIn(g *ir.Graph) string {
	for n := range g.Nodes() {
		if k, ok := n.Body.(*schedule.Kernel); ok {
			return textOf(&k.Configs[0])
		}
	}
	panic("there is no kernel")
}

func (f *fake) Code(g *ir.Graph) (string, error) { return configIn(g), nil }

func (f *fake) Build(ctx context.Context, g *ir.Graph) (backends.KernelProgram, error) {
	f.built++
	if f.stop != nil && f.built == f.atBuild {
		f.stop()
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if f.built == f.fail || f.full > 0 && f.built >= f.full {
		return nil, errors.New("it cannot be built")
	}
	return &fakeProgram{f, configIn(g)}, nil
}

func (p *fakeProgram) Time(context.Context) (float64, error) {
	if p.f.races == nil {
		p.f.races = map[string]int{}
	}
	p.f.races[p.text]++
	if t, ok := p.f.times[p.text]; ok {
		return t, nil
	}
	return 1, nil
}

// Values are a one, or what is next to it where they differ.
func (p *fakeProgram) Values(context.Context) (map[string]tensorfile.Tensor, error) {
	x := float32(1)
	if p.f.differ[p.text] {
		x = math.Nextafter32(x, 2)
	}
	data := binary.LittleEndian.AppendUint32(nil, math.Float32bits(x))
	return map[string]tensorfile.Tensor{"b2": {DType: scalar.Float32, Shape: []int64{1}, Data: data}}, nil
}

func (*fakeProgram) Remove() {}

// shelf is a store in memory.
type shelf map[filecache.Key][]byte

func (s shelf) Look(key filecache.Key) ([]byte, error) {
	if x, ok := s[key]; ok {
		return x, nil
	}
	return nil, fs.ErrNotExist
}

func (s shelf) Put(key filecache.Key, content []byte) error { s[key] = content; return nil }

// settings are those of a test with a lab, or without one of its own.
func settings(t *testing.T, s Store, f *fake) Settings {
	if f == nil {
		f = &fake{}
	}
	f.Lab = realLab(t)
	return Settings{Store: s, Lab: f, Done: func(*Result) {}, Trial: func(*Result, Trial) {},
		Warn: func(d diag.Diagnostic) { t.Errorf("%v", d) }}
}

// tuned tunes a graph with a store and a lab.
func tuned(t *testing.T, g *ir.Graph, s Settings) []*Result {
	t.Helper()
	list, err := Kernels(g, s)
	if err == nil {
		err = Run(t.Context(), list, s)
	}
	if err != nil {
		t.Fatal(err)
	}
	return list
}
