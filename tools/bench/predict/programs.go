package main

import (
	"fmt"

	"tensortapestry.org/tapc/cost/sample"
)

// programs are what times are predicted of. None has a shape that machines are measured by.
func programs() []*sample.Graph {
	var all []*sample.Graph
	add := func(name string, make func(g *sample.Graph)) {
		g := sample.New(name)
		make(g)
		all = append(all, g)
	}
	product := func(name string, m, k, n int64) {
		add(name, func(g *sample.Graph) { g.Product(g.Float(m, k), g.Float(k, n)) })
	}
	product("gemm-64", 64, 64, 64)
	product("gemm-128", 128, 128, 128)
	product("gemm-200x100x300", 200, 100, 300)
	product("gemm-512", 512, 512, 512)
	product("gemm-768x512x640", 768, 512, 640)
	product("gemm-1024x256x1024", 1024, 256, 1024)
	product("gemm-33x777x65", 33, 777, 65)
	product("gemv-2048", 1, 2048, 2048)
	product("rows8-2048x1024", 8, 2048, 1024)
	add("batch-12x64x96x64", func(g *sample.Graph) { g.Product(g.Float(12, 64, 96), g.Float(12, 96, 64)) })
	add("gemm-double-256", func(g *sample.Graph) { g.Product(g.Tensor("float64", 256, 256), g.Tensor("float64", 256, 256)) })
	add("linear-relu-256x784x512", func(g *sample.Graph) { g.Each("relu", g.Linear(g.Float(256, 784), 512)) })
	add("mlp-64", func(g *sample.Graph) { mlp(g, 64) })
	add("mlp-1", func(g *sample.Graph) { mlp(g, 1) })
	for _, n := range []int64{1_000, 30_000, 500_000, 10_000_000} {
		name := map[int64]string{1_000: "1k", 30_000: "30k", 500_000: "500k", 10_000_000: "10m"}[n]
		add("add-"+name, func(g *sample.Graph) { g.Both("add", g.Float(n), g.Float(n)) })
	}
	add("chain-200k", func(g *sample.Graph) {
		a, b, c, d := g.Float(200_000), g.Float(200_000), g.Float(200_000), g.Float(200_000)
		g.Both("mul", g.Each("relu", g.Both("add", g.Both("mul", a, b), c)), d)
	})
	for _, f := range []string{"exp", "tanh", "gelu", "sigmoid", "sqrt", "erf"} {
		add(f+"-100k", func(g *sample.Graph) { g.Each(f, g.Float(100_000)) })
	}
	add("gelu-4m", func(g *sample.Graph) { g.Each("gelu", g.Float(2000, 2000)) })
	add("softmax-128x512", func(g *sample.Graph) { g.Each("softmax", g.Float(128, 512)) })
	add("softmax-1000x1000", func(g *sample.Graph) { g.Each("softmax", g.Float(1000, 1000)) })
	add("softmax-16x8", func(g *sample.Graph) { g.Each("softmax", g.Float(16, 8)) })
	add("norm-256x768", func(g *sample.Graph) { g.Norm(g.Float(256, 768)) })
	add("norm-3000x1024", func(g *sample.Graph) { g.Norm(g.Float(3000, 1024)) })
	add("sum-rows-1000x1000", func(g *sample.Graph) { g.Reduce("sum", g.Float(1000, 1000), 1) })
	add("sum-columns-1000x1000", func(g *sample.Graph) { g.Reduce("sum", g.Float(1000, 1000), 0) })
	add("mean-rows-300x300", func(g *sample.Graph) { g.Reduce("mean", g.Float(300, 300), 1) })
	add("conv-3x3-64-56", func(g *sample.Graph) { g.Conv(g.Float(1, 64, 56, 56), 64, 3, 1, 1) })
	add("conv-1x1-256-28", func(g *sample.Graph) { g.Conv(g.Float(1, 256, 28, 28), 128, 1, 1, 1) })
	add("conv-3x3-stride-2", func(g *sample.Graph) { g.Conv(g.Float(1, 32, 64, 64), 64, 3, 2, 1) })
	add("conv-depthwise-96-56", func(g *sample.Graph) { g.Conv(g.Float(1, 96, 56, 56), 96, 3, 1, 96) })
	add("conv-7x7-stride-2", func(g *sample.Graph) { g.Conv(g.Float(1, 3, 112, 112), 32, 7, 2, 1) })
	add("max-pool-64-56", func(g *sample.Graph) { g.Pool("max_pool", g.Float(1, 64, 56, 56), 2) })
	add("average-pool-64-56", func(g *sample.Graph) { g.Pool("average_pool", g.Float(1, 64, 56, 56), 2) })
	add("attention-8x128x64", func(g *sample.Graph) { g.Attention(8, 128, 64) })
	add("attention-4x384x32", func(g *sample.Graph) { g.Attention(4, 384, 32) })
	add("transpose-1000", func(g *sample.Graph) {
		g.Apply("permute", "result", g.Float(1000, 900), "{perm: [1, 0]}", "tensor: %s", g.Float(900, 1000))
	})
	add("encoder-128x256", func(g *sample.Graph) { encoder(g, 128, 256, 1024, 4) })
	add("encoder-32x512", func(g *sample.Graph) { encoder(g, 32, 512, 2048, 8) })
	add("images", images)
	for seed := range uint64(seeds) {
		add(randomName(seed), random(seed))
	}
	return all
}

// shards says how programs are cut, which then are programs of their own.
var shards = map[string]string{
	"gemm-512":                "op:matmul=2x2",
	"gemm-1024x256x1024":      "op:matmul=by100x1",
	"linear-relu-256x784x512": "op:linear=1x4",
	"softmax-1000x1000":       "op:softmax=4",
	"norm-3000x1024":          "op:layer_norm=3",
	"conv-3x3-64-56":          "op:conv=1x1x1x4x1",
	"max-pool-64-56":          "op:max_pool=1x1x2x2",
	"chain-200k":              "op:add=2",
	"attention-8x128x64":      "op:attention=1x2x1x1",
	randomName(2):             "op:linear=3x1",
	randomName(3):             "op:conv=1x1x1x2x1",
}

// examples are graphs of the repository.
var examples = []string{"examples/classifier/classifier.loom.json", "examples/linear-relu.loom.json", "examples/mlp/mlp.tap", "examples/parallel/layer.tap", "examples/parallel/images.tap"}

// mlp classifies rows of 784 cells.
func mlp(g *sample.Graph, rows int64) {
	h := g.Each("relu", g.Linear(g.Float(rows, 784), 512))
	h = g.Each("relu", g.Linear(h, 512))
	g.Each("softmax", g.Linear(h, 10))
}

// encoder is a layer of an encoder, in which each head has a product of its own with the rows. Scores are scaled to those of networks, about 1: of greater ones exp gives denormal numbers, for
// which some processors take 100 times as long.
func encoder(g *sample.Graph, rows, width, inner, heads int64) {
	x := g.Float(rows, width)
	q, k, v := g.Linear(x, width), g.Linear(x, width), g.Linear(x, width)
	depth := width / heads
	split := func(y sample.Value) sample.Value {
		r := g.Apply("reshape", "result", g.Float(1, rows, heads, depth), "", "tensor: %s", y)
		return g.Apply("permute", "result", g.Float(1, heads, rows, depth), "{perm: [0, 2, 1, 3]}", "tensor: %s", r)
	}
	y := g.Apply("attention", "Y", g.Float(1, heads, rows, depth), fmt.Sprintf("{scale: %g}", 1/float64(width)), "Q: %s, K: %s, V: %s", split(q), split(k), split(v))
	y = g.Apply("permute", "result", g.Float(1, rows, heads, depth), "{perm: [0, 2, 1, 3]}", "tensor: %s", y)
	y = g.Apply("reshape", "result", g.Float(rows, width), "", "tensor: %s", y)
	x = g.Norm(g.Both("add", x, g.Linear(y, width)))
	g.Norm(g.Both("add", x, g.Linear(g.Each("gelu", g.Linear(x, inner)), width)))
}

// images is a small network of convolutions with a block that is added to what it was made of.
func images(g *sample.Graph) {
	x := g.Each("relu", g.Conv(g.Float(1, 3, 64, 64), 32, 3, 1, 1))
	x = g.Pool("max_pool", x, 2)
	y := g.Each("relu", g.Conv(x, 32, 3, 1, 1))
	x = g.Each("relu", g.Both("add", g.Conv(y, 32, 3, 1, 1), x))
	x = g.Each("relu", g.Conv(x, 64, 3, 2, 1))
	x = g.Pool("average_pool", x, 16)
	x = g.Apply("reshape", "result", g.Float(1, 64), "", "tensor: %s", x)
	g.Each("softmax", g.Linear(x, 10))
}
