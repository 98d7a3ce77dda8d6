// Package layers holds the table of who may import whom in tapc, and the check of it.
//
// A package imports only packages on lower levels, or packages of its own level that stand before it. Read next:
// ARCHITECTURE.md.
package layers

import "strings"

// Rule gives a package, or with "/..." a folder of packages, its level. Within a level, Order says who stands before whom:
// a package may import those of its level with a smaller Order.
type Rule struct {
	Pattern string
	Level   int
	Order   int
}

// Table is the import table, most special patterns first.
var Table = []Rule{
	{"ir/diag", 0, 0},
	{"ir/zspace", 0, 0},
	{"ir/zspace/pieces", 0, 1},
	{"ir/zspace/bounds", 0, 1},
	{"ir/zspace/tiling", 0, 1},
	{"ir/zspace/images", 0, 2},
	{"ir/zspace/zspacetest", 6, 0}, // only tests import it
	{"ir/lang", 0, 0},
	{"ir/scalar", 0, 0},
	{"ir/permission", 0, 0},
	{"ir/waits", 0, 0},
	{"ir", 1, 0},
	{"ir/tensorfile", 1, 1},
	{"ir/check", 1, 2},
	{"ir/irtest", 6, 0},   // only tests import it
	{"ir/wire/gen", 6, 0}, // a program
	{"ir/...", 2, 0},
	{"dialects/tensorops/definition", 3, -9},
	{"dialects/tensorops/sequence", 3, -9},
	{"dialects/tensorops/parts", 3, -9},
	{"dialects/tensorops/view", 3, -9},
	{"dialects/tensorops", 3, -8},
	{"dialects/tensorops/numbers", 3, -7},
	{"dialects/tensorops/reads", 3, -7},
	{"dialects/tensorops/said", 3, -7},
	{"dialects/tensorops/feed", 3, 1},
	{"dialects/tensorops/kernels/declaration", 3, -7},
	{"dialects/tensorops/kernels/infer", 3, -6},
	{"dialects/tensorops/kernels/instance", 3, -5},
	{"dialects/tensorops/kernels/bind", 3, -4},
	{"dialects/tensorops/kernels/example", 3, -3},
	{"dialects/tensorops/kernels/sample", 3, -3},
	{"dialects/tensorops/kernels/page", 3, -2},
	{"dialects/tensorops/kernels", 3, -2},
	{"dialects/tensorops/calls", 3, 2},
	{"dialects/tensorops/reduced", 3, 2},
	{"dialects/tensorops/composite", 3, 2},
	{"dialects/application", 3, -1},
	{"dialects/application/cut", 3, 3},
	{"dialects/application/planfile", 3, 4},
	{"dialects/schedule", 3, 0},
	{"dialects/schedule/uses", 3, 1},
	{"dialects/schedule/races", 3, 2},
	{"dialects/schedule/constraints", 3, 3},
	{"dialects/schedule/nest/scan", 3, 4},
	{"dialects/schedule/nest/part", 3, 4},
	{"dialects/schedule/nest/computed", 3, 4},
	{"dialects/schedule/cost", 3, 6},
	{"dialects/schedule/moves", 3, 4},
	{"dialects/schedule/alike", 3, 4},
	{"dialects/schedule/copies", 3, 4},
	{"dialects/schedule/padding", 3, 4},
	{"dialects/schedule/unread", 3, 4},
	{"dialects/schedule/whole", 3, 4},
	{"dialects/schedule/collective", 3, 4},
	{"dialects/schedule/nest", 3, 5},
	{"dialects/schedule/nest/few", 3, 6},
	{"dialects", 3, 5},
	{"cost/machine", 3, 6},
	{"cost/work", 3, 6},
	{"cost/collective", 3, 7},
	{"cost/marginal", 3, 7},
	{"cost/group", 3, 8},
	{"cost/reshard", 3, 8},
	{"cost/sample", 0, 0},
	{"search", 0, 0},
	{"search/eliminate", 0, 0},
	{"search/fusion", 4, 3},
	{"search/runs", 0, 0},
	{"search/meshes", 4, 3},
	{"search/walk", 4, 3},
	{"search/layouts", 4, 4},
	{"search/variants", 4, 5},
	{"cost/price", 4, 2},
	{"cost/calibrate", 4, 3},
	{"cost/simulate", 3, 7},
	{"cost/sharded", 4, 6},
	{"cost/recompute", 4, 6},
	{"passes/rewrite/casts", 4, -1},
	{"passes/rewrite/values", 4, -1},
	{"passes/rewrite", 4, 0},
	{"passes/rewrite/language", 4, 1},
	{"passes/rewrite/rewritetest", 6, 0}, // only tests import it
	{"passes/rewrite/rulepage", 4, 1},
	{"passes/pipeline", 4, 1},
	{"passes/pipeline/timing", 4, 0},
	{"passes/apply", 4, 2}, // no pass imports another
	{"passes/bind", 4, 2},
	{"passes/choose", 4, 2},
	{"passes/collect", 4, 2},
	{"passes/expand", 4, 2},
	{"passes/fuse/access", 4, 0},
	{"passes/fuse/join", 4, 1},
	{"passes/fuse", 4, 2},
	{"passes/inline", 4, 2},
	{"passes/layout", 4, 2},
	{"passes/lower", 4, 2},
	{"passes/memory", 4, 2},
	{"passes/precompute", 4, 2},
	{"passes/propagate", 4, 2},
	{"passes/recompute", 4, 2},
	{"passes/shard", 4, 2},
	{"passes/sign", 4, 2},
	{"passes/split", 4, 2},
	{"passes/simplify/views", 4, 1},
	{"passes/simplify", 4, 2},
	{"passes/tile", 4, 2},
	{"passes/standard", 4, 3},
	{"backends", 4, 4},
	{"backends/cexpr", 4, 4},
	{"backends/cnest", 4, 5},
	{"backends/constants", 4, 4},
	{"backends/reference", 4, 4},
	{"backends/cpu/runtime", 4, 4},
	{"backends/cpu/symbols", 4, 4},
	{"backends/cpu/devices", 4, 5},
	{"backends/cpu/cabi", 4, 6},
	{"backends/cpu/note", 4, 5},
	{"backends/cpu/template", 4, 4},
	{"backends/cuda/toolchain", 4, 4},
	{"backends/cuda/ptx", 4, 4},
	{"backends/cuda/gpu", 4, 4},
	{"backends/cuda/emu/nvcc", 6, 0}, // a program that tests use
	{"backends/tree", 4, 4},
	{"backends/tree/effort", 4, 5},
	{"backends/codegen", 4, 6},
	{"backends/codegen/builder", 4, 5},
	{"backends/cuda/emu", 4, 5},
	{"backends/cpu/isa", 4, 5},
	{"backends/cpu/vector", 4, 5},
	{"backends/cpu/toolchain", 4, 6},
	{"backends/cpu/panels", 4, 6},
	{"backends/cpu/unit", 4, 7},
	{"backends/cpu/micro", 4, 9},
	{"backends/cpu/blocking", 4, 9},
	{"backends/cpu/rows", 4, 9},
	{"backends/cpu/macrotile", 4, 10},
	{"backends/cpu/product", 4, 11},
	{"backends/cpu/lowprecision", 4, 12},
	{"backends/cpu/winograd", 4, 12},
	{"backends/cpu/backtoback", 4, 12},
	{"backends/cpu/trees", 4, 10},
	{"backends/cpu/configs", 4, 13},
	{"backends/cpu/trial", 4, 5},
	{"backends/cpu", 4, 16},
	{"backends/tune", 4, 5},
	{"backends/cuda", 4, 7},
	{"frontends/foreign", 4, 10},
	{"frontends/mapping/expr", 4, 11},
	{"frontends/mapping/plain", 4, 11},
	{"frontends/mapping/ordered", 4, 11},
	{"frontends/mapping/called", 4, 11},
	{"frontends/mapping/outcome", 4, 11},
	{"frontends/mapping/calls", 4, 12},
	{"frontends/mapping/emit", 4, 13},
	{"frontends/mapping/rules", 4, 13},
	{"frontends/mapping/pattern", 4, 14},
	{"frontends/mapping", 4, 18}, // constants are computed when importing, by the reference evaluator
	{"frontends/namespace", 4, 19},
	{"frontends/survey", 4, 19},
	{"frontends/onnx/onnxtest", 6, 0},    // only tests import it
	{"frontends/mapping/declared", 6, 0}, // the same
	{"frontends/onnx/classic", 4, 19},
	{"frontends/onnx", 4, 20},
	{"frontends/amanda/closed", 4, 21},
	{"frontends/amanda/own", 4, 22},
	{"frontends/onnx/modelfile", 4, 21},
	{"frontends/...", 4, 20},
	{"backends/conformance", 6, 0}, // only tests import it
	{"backends/cpu/cputest", 6, 1}, // only tests import it
	{"tools/filecheck/...", 6, -1}, // commands of tapc, too
	{"tools/lit/...", 6, 0},
	{"internal/inputfile", 0, 0},
	{"internal/outputfile", 0, 1},
	{"internal/...", 1, 0},
	{"view/layered", 0, 0},
	{"view/figure", 3, 6},
	{"view/svg", 3, 7},
	{"view/page", 4, 5},
	{"plugins/confine", 5, 0},
	{"plugins/supervise", 5, 1},
	{"plugins/proto", 5, 0},
	{"plugins/certificate", 5, 0},
	{"plugins/proto/gen", 6, 1},
	{"plugins/stream", 5, 1},
	{"plugins", 5, 2},
	{"plugins/host", 5, 3},
	{"plugins/installed", 5, 4},
	{"plugins/explore", 5, 4},
	{"plugins/...", 5, 4},
	{"library", 6, 0}, // programs of others import it
	{"examples/...", 6, 1},
	{"cmd/tapc", 6, 5},
	{"cmd/tapc/compiling", 6, 4},
	{"cmd/tapc/graphfiles", 6, 3},
	{"cmd/tapc/plugincommands", 6, 3},
	{"cmd/tapc/app", 6, 2},
	{"cmd/...", 6, 1},
	{"tools/vocabulary/page", 6, 2}, // it writes as the command does
	{"tools/vocabulary", 6, 3},
	{"tools/models", 6, 2}, // it reads the reports of a command
	{"tools/...", 6, 1},
	{"lit-tests", 6, 2},
}

// Find gives the rule of a package, named by its path inside the module.
func Find(pkg string) (Rule, bool) {
	for _, r := range Table {
		folder, all := strings.CutSuffix(r.Pattern, "/...")
		if pkg == r.Pattern || all && strings.HasPrefix(pkg, folder+"/") {
			return r, true
		}
	}
	return Rule{}, false
}

// May says whether a package may import another.
func May(from, to Rule) bool {
	if from.Level != to.Level {
		return to.Level < from.Level
	}
	return to.Order < from.Order || from.Pattern == to.Pattern
}
