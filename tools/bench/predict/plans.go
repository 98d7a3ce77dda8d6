package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"tensortapestry.org/tapc/cost/sample"
)

// planned is a graph with several plans.
type planned struct {
	name  string
	make  func(g *sample.Graph)
	plans []plan
}

// plan is a plan of a graph: the JSON of a plan file without its version, "" for none, and other flags.
type plan struct {
	name, file string
	flags      []string
}

// mesh is the plan of two devices on an axis t along which the tensors of these names lie.
func mesh(name string, tensors ...string) plan {
	var list []string
	for _, t := range tensors {
		tensor, dims, _ := strings.Cut(t, "=")
		list = append(list, fmt.Sprintf(`{"tensor": %q, "dims": ["%s"]}`, tensor, strings.Join(strings.Split(dims, ","), `", "`)))
	}
	return plan{name, fmt.Sprintf(`"mesh": [{"axis": "t", "size": 2}], "tensors": [%s]`, strings.Join(list, ", ")), []string{"--devices=2", "--allow=reassociate"}}
}

// spread is a plan of two devices over which operations that are cut are spread.
func spread(name string, cuts ...string) plan {
	p := plan{name: name, flags: []string{"--devices=2"}}
	for _, c := range cuts {
		p.flags = append(p.flags, "--shard="+c)
	}
	return p
}

// cut is a plan of one device.
func cut(name string, cuts ...string) plan {
	p := spread(name, cuts...)
	p.flags = p.flags[1:]
	return p
}

// graphs are what plans are compared of.
func graphs() []planned {
	return []planned{
		{"gemm-512", func(g *sample.Graph) { g.Product(g.Float(512, 512), g.Float(512, 512)) }, []plan{
			cut("whole"), cut("4-rows", "op:matmul=4x1"), cut("32-rows", "op:matmul=32x1"), cut("8-columns", "op:matmul=1x8"), cut("16x16", "op:matmul=16x16"),
			mesh("rows-on-two", "v1=t,-"), mesh("columns-on-two", "v2=-,t"), mesh("sum-on-two", "v1=-,t"), spread("uneven-on-two", "op:matmul=384+128x1")}},
		{"gemm-64x1024x256", func(g *sample.Graph) { g.Product(g.Float(64, 1024), g.Float(1024, 256)) }, []plan{
			cut("whole"), cut("2-rows", "op:matmul=2x1"), cut("16-rows", "op:matmul=16x1"), cut("4-columns", "op:matmul=1x4"),
			mesh("rows-on-two", "v1=t,-"), mesh("columns-on-two", "v2=-,t"), mesh("sum-on-two", "v1=-,t"), spread("uneven-on-two", "op:matmul=1x192+64")}},
		{"mlp-128", func(g *sample.Graph) {
			h := g.Each("gelu", g.Product(g.Float(128, 512), g.Float(512, 1024)))
			g.Product(h, g.Float(1024, 512))
		}, []plan{
			cut("whole"), cut("4-rows", "op:matmul=4x1"), cut("16-rows", "op:matmul=16x1", "op:gelu=16x1"), cut("64-rows", "op:matmul=64x1", "op:gelu=64x1"),
			mesh("rows-on-two", "v1=t,-"), mesh("columns-on-two", "v2=-,t", "v5=t,-"), mesh("gathered-on-two", "v2=-,t", "v5=-,t"),
			{"stages-on-two", `"devices": 2, "place": [{"target": "op:gelu", "devices": [1]}, {"target": "op:matmul", "devices": [0]}]`, nil}}},
		{"softmax-600x900", func(g *sample.Graph) { g.Each("softmax", g.Float(600, 900)) }, []plan{
			cut("whole"), cut("3-rows", "op:softmax=3"), cut("60-rows", "op:softmax=60"), cut("600-rows", "op:softmax=600"),
			mesh("rows-on-two", "v1=t,-"), mesh("columns-on-two", "v1=-,t"), spread("uneven-on-two", "op:softmax=500+100")}},
		{"chain-300k", func(g *sample.Graph) {
			a, b, c := g.Float(300_000), g.Float(300_000), g.Float(300_000)
			g.Both("mul", g.Each("gelu", g.Both("add", a, b)), c)
		}, []plan{
			cut("whole"), cut("2-add", "op:add=2"), cut("30-all", "op:add=30", "op:gelu=30", "op:mul=30"), cut("7-gelu", "op:gelu=7"),
			mesh("all-on-two", "v1=t"), spread("gelu-on-two", "op:gelu=2"), spread("uneven-on-two", "op:add=200000+100000", "op:gelu=200000+100000", "op:mul=200000+100000")}},
		{"images", images, []plan{
			cut("whole"), cut("4-channels", "op:conv=1x1x4x1x1"), cut("2-lines", "op:conv=1x1x1x2x1"), cut("8-lines", "op:conv=1x1x1x8x1"),
			mesh("lines-on-two", "v1=-,-,t,-"), mesh("columns-on-two", "v1=-,-,-,t"), spread("spread-on-two", "op:conv=1x1x2x1x1")}},
		{"encoder-64x256", func(g *sample.Graph) { encoder(g, 64, 256, 1024, 4) }, []plan{
			cut("whole"), cut("2-rows", "op:linear=2x1"), cut("16-rows", "op:linear=16x1"), cut("4-heads", "op:attention=1x4x1x1"), cut("8-columns", "op:linear=1x8"),
			mesh("rows-on-two", "v1=t,-"), spread("columns-on-two", "op:linear=1x2"), spread("heads-on-two", "op:attention=1x2x1x1")}},
		{"norms", func(g *sample.Graph) {
			x := g.Norm(g.Float(400, 640))
			g.Norm(g.Both("add", g.Each("tanh", x), x))
		}, []plan{
			cut("whole"), cut("2-rows", "op:layer_norm=2"), cut("50-rows", "op:layer_norm=50", "op:tanh=50x1", "op:add=50x1"), cut("200-tanh", "op:tanh=200x1"),
			mesh("rows-on-two", "v1=t,-"), spread("tanh-on-two", "op:tanh=2x1"), spread("norms-on-two", "op:layer_norm=2")}},
	}
}

// onTwo are programs of two devices beside those of graphs.
var onTwo = []planned{
	{"linear-relu-256x784x512", func(g *sample.Graph) { g.Each("relu", g.Linear(g.Float(256, 784), 512)) }, []plan{mesh("rows", "v1=t,-"), mesh("columns", "v2=-,t")}},
	{"mlp-64", func(g *sample.Graph) { mlp(g, 64) }, []plan{mesh("rows", "v1=t,-"), spread("columns", "op:linear=1x2")}},
	{"mlp-1", func(g *sample.Graph) { mlp(g, 1) }, []plan{spread("columns", "op:linear=1x2")}},
	{"mlp-128x1024x4096", func(g *sample.Graph) {
		h := g.Each("gelu", g.Product(g.Float(128, 1024), g.Float(1024, 4096)))
		g.Product(h, g.Float(4096, 1024))
	}, []plan{mesh("columns", "v2=-,t", "v5=t,-"), mesh("rows", "v1=t,-")}},
	{"add-1m", func(g *sample.Graph) { g.Both("add", g.Float(1_000_000), g.Float(1_000_000)) }, []plan{mesh("halves", "v1=t")}},
	{"add-6m", func(g *sample.Graph) { g.Both("add", g.Float(6_000_000), g.Float(6_000_000)) }, []plan{mesh("halves", "v1=t"), spread("uneven", "op:add=4000000+2000000")}},
	{"attention-8x128x64", func(g *sample.Graph) { g.Attention(8, 128, 64) }, []plan{mesh("heads", "v1=-,t,-,-"), mesh("queries", "v1=-,-,t,-")}},
	{"conv-3x3-64-56", func(g *sample.Graph) { g.Conv(g.Float(1, 64, 56, 56), 64, 3, 1, 1) }, []plan{mesh("lines", "v1=-,-,t,-"), mesh("filters", "v2=t,-,-,-")}},
	{"conv-depthwise-96-56", func(g *sample.Graph) { g.Conv(g.Float(1, 96, 56, 56), 96, 3, 1, 96) }, []plan{mesh("channels", "v1=-,t,-,-"), mesh("lines", "v1=-,-,t,-")}},
	{"sum-rows-1000x1000", func(g *sample.Graph) { g.Reduce("sum", g.Float(1000, 1000), 1) }, []plan{mesh("rows", "v1=t,-"), mesh("columns", "v1=-,t")}},
	{"transpose-1000", func(g *sample.Graph) {
		g.Apply("permute", "result", g.Float(1000, 900), "{perm: [1, 0]}", "tensor: %s", g.Float(900, 1000))
	}, []plan{mesh("rows", "v1=t,-")}},
}

// planned lists programs with their plans, and writes the files that these need: with -plans all plans of graphs, with -devices those on two devices and others. Networks are cut along the
// rows of their images.
func (s *settings) planned() (list []result, err error) {
	all := graphs()
	if s.devices {
		all = append(all, onTwo...)
		for seed := range uint64(seeds) { // cut along rows, or the lines of images
			p := []plan{mesh("rows", "v1=t,-"), mesh("lines", "v1=-,-,t,-")}[seed%2]
			all = append(all, planned{randomName(seed), random(seed), []plan{p}})
		}
	}
	for _, g := range all {
		x := sample.New(g.name)
		g.make(x)
		graph := filepath.Join(s.dir, "planned-"+g.name+".tap")
		if err := os.WriteFile(graph, []byte(x.Text()), 0o666); err != nil {
			return nil, err
		}
		for _, p := range g.plans {
			r, err := s.byPlan(g.name, graph, p)
			if err != nil {
				return nil, err
			}
			if r.devices > 0 || s.plans {
				list = append(list, r)
			}
		}
	}
	if !s.devices || s.models == "" {
		return list, nil
	}
	models, err := filepath.Glob(filepath.Join(s.models, "*.onnx"))
	for _, file := range models {
		p := mesh("rows", inputOf(file)+"=-,-,t,-")
		p.flags = []string{"--devices=2", "-O1"}
		r, e := s.byPlan(strings.TrimSuffix(filepath.Base(file), ".onnx"), file, p)
		if e != nil {
			return nil, e
		}
		r.group = "network"
		list = append(list, r)
	}
	return list, err
}

// inputOf is what the image of a network is called.
func inputOf(file string) string {
	for part, name := range map[string]string{"resnet50": "gpu_0/data_0", "shufflenet": "gpu_0/data_0", "zfnet": "gpu_0/data_0"} {
		if strings.Contains(file, part) {
			return name
		}
	}
	return "data_0"
}

// byPlan is a program by a plan, whose file it writes.
func (s *settings) byPlan(name, graph string, p plan) (result, error) {
	r := result{name: name + "-" + p.name, group: "cut", graph: graph, flags: p.flags}
	if p.file != "" {
		r.group = "mesh"
		file := filepath.Join(s.dir, r.name+".json")
		if err := os.WriteFile(file, []byte(`{"version": 1, `+p.file+`}`), 0o666); err != nil {
			return r, err
		}
		r.flags = append(r.flags, "--plan="+file)
	}
	if strings.Contains(p.file, `"devices"`) || strings.Contains(strings.Join(p.flags, " "), "--devices") {
		r.devices = 2
		if p.file == "" {
			r.group = "spread"
		}
	}
	return r, nil
}
