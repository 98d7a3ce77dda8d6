package classic

import (
	"math"
	"slices"

	"tensortapestry.org/tapc/frontends/foreign"
	"tensortapestry.org/tapc/frontends/mapping"
	"tensortapestry.org/tapc/frontends/mapping/expr"
	"tensortapestry.org/tapc/ir/scalar"
)

// trees are the operators of decision trees. All trees are followed side by side: at each step the node of every row and tree is
// replaced by the one that its test leads to, and a leaf leads to itself.
var trees = map[string]mapping.Native{"ai.onnx.ml:TreeEnsemble": ensemble, "ai.onnx.ml:TreeEnsembleRegressor": regressor,
	"ai.onnx.ml:TreeEnsembleClassifier": classifier}

// The tests of a node, numbered as TreeEnsemble does.
const (
	lessEqual = iota
	less
	greaterEqual
	greater
	equal
	notEqual
	member
	numTests
)

// forest is an ensemble: nodes by number, with the values that the leaves give to the targets.
type forest struct {
	feature, test, missing []int64
	split                  []float64
	yes, no                []int64
	values                 map[int64][]target // of the leaves
	roots                  []int64
	targets                int64
	depth                  int64
	aggregate, transform   int64
}

type target struct {
	id     int64
	weight float64
}

// maxDepth bounds how far a leaf may be from its root.
const maxDepth = 1024

// maxScores bounds the numbers of nodes times targets.
const maxScores = 1 << 24

// leaf adds a leaf.
func (f *forest) leaf(values ...target) {
	n := int64(len(f.feature))
	f.node(0, lessEqual, 0, 0)
	f.yes[n], f.no[n] = n, n
	f.values[n] = append([]target{}, values...)
}

func (f *forest) node(feature, test int64, split float64, missing int64) {
	f.feature, f.test, f.missing = append(f.feature, feature), append(f.test, test), append(f.missing, min(1, missing))
	f.split, f.yes, f.no = append(f.split, split), append(f.yes, 0), append(f.no, 0)
}

// settle checks the numbers of a forest on rows of some features, and finds its depth.
func (f *forest) settle(features int64) error {
	if f.targets < 1 || f.targets > maxScores/int64(max(1, len(f.feature))) || len(f.roots) == 0 {
		return expr.Refuse("%d targets of %d trees with %d nodes", f.targets, len(f.roots), len(f.feature))
	}
	depth := make([]int64, len(f.feature)) // 1 + steps to the deepest leaf; -1 on the way there
	var visit func(n, above int64) error
	visit = func(n, above int64) error {
		switch {
		case n < 0 || n >= int64(len(depth)) || depth[n] < 0 || above > maxDepth:
			return expr.Refuse("node %d of %d does not lead to a leaf", n, len(depth))
		case depth[n] > 0:
			return nil
		case f.values[n] != nil:
			depth[n] = 1
			return nil
		case f.feature[n] < 0 || f.feature[n] >= features || f.test[n] < 0 || f.test[n] >= member:
			return expr.Refuse("node %d tests feature %d of %d in the way %d", n, f.feature[n], features, f.test[n])
		}
		depth[n] = -1
		for _, next := range []int64{f.yes[n], f.no[n]} {
			if err := visit(next, above+1); err != nil {
				return err
			}
		}
		depth[n] = 1 + max(depth[f.yes[n]], depth[f.no[n]])
		return nil
	}
	for _, r := range f.roots {
		if err := visit(r, 0); err != nil {
			return err
		}
		f.depth = max(f.depth, depth[r]-1)
	}
	for _, list := range f.values {
		for _, t := range list {
			if t.id < 0 || t.id >= f.targets {
				return expr.Refuse("target %d of %d", t.id, f.targets)
			}
		}
	}
	return nil
}

// run maps the steps of a forest on rows of features.
func (f *forest) run(r *mapping.Region, x foreign.Value) (foreign.Value, error) {
	if x.Tensor == nil || len(x.Tensor.Shape) != 2 || !x.Tensor.DType.IsFraction() {
		return x, expr.Refuse("it needs rows of features")
	}
	if err := f.settle(x.Tensor.Shape[1]); err != nil {
		return x, err
	}
	if y, ok, err := f.atOnce(r, x); ok {
		return y, err
	}
	table, err := r.Eval("tree_table", x, foreign.IntsValue(f.feature), floatsValue(f.split), foreign.IntsValue(f.test), foreign.IntsValue(f.missing),
		foreign.IntsValue(f.yes), foreign.IntsValue(f.no))
	if err != nil {
		return x, err
	}
	at, err := r.Eval("tree_roots", x, foreign.IntsValue(f.roots))
	for step := int64(0); step < f.depth && err == nil; step++ {
		at, err = r.Eval("tree_step", x, at, table, foreign.IntsValue(f.tests()))
	}
	if err != nil {
		return x, err
	}
	return r.Eval("tree_result", x, at, floatsValue(f.table(x.Tensor.DType)), foreign.IntValue(f.targets), foreign.IntValue(f.aggregate), foreign.IntValue(f.transform))
}

// tests lists the tests that occur.
func (f *forest) tests() []int64 {
	var out []int64
	for n, test := range f.test {
		if f.values[int64(n)] == nil && !slices.Contains(out, test) {
			out = append(out, test)
		}
	}
	slices.Sort(out)
	return out
}

// The ways to join what the trees give to a target.
const (
	average = iota
	sum
	least
	most
)

// nothing is what does not matter beside what other trees give.
func (f *forest) nothing(d scalar.DType) float64 {
	lo, hi := d.Limits()
	return map[int64]float64{least: hi, most: lo}[f.aggregate]
}

// table is what each node gives to each target, row by row: for one that it gives nothing to, what does not matter.
func (f *forest) table(d scalar.DType) []float64 {
	nothing := f.nothing(d)
	out := make([]float64, int64(len(f.feature))*f.targets)
	for i := range out {
		out[i] = nothing
	}
	for n, list := range f.values {
		for _, t := range list {
			at := &out[n*f.targets+t.id]
			switch f.aggregate {
			case least:
				*at = min(*at, t.weight)
			case most:
				*at = max(*at, t.weight)
			default:
				*at += t.weight
			}
		}
	}
	return out
}

// ensemble maps TreeEnsemble: inner nodes and leaves have numbers of their own.
func ensemble(r *mapping.Region, op *foreign.Op) ([]foreign.Value, error) {
	rows, err := input(r, op)
	if err != nil {
		return nil, err
	}
	a := attrReader{op: op}
	feature, yes, no := a.ints("nodes_featureids"), a.ints("nodes_truenodeids"), a.ints("nodes_falsenodeids")
	yesLeaf, noLeaf, missing := a.ints("nodes_trueleafs"), a.ints("nodes_falseleafs"), a.ints("nodes_missing_value_tracks_true")
	split, test, weight, id := a.floats("nodes_splits"), a.floats("nodes_modes"), a.floats("leaf_weights"), a.ints("leaf_targetids")
	members := a.floats("membership_values")
	n := len(feature)
	if missing == nil {
		missing = make([]int64, n)
	}
	for _, size := range []int{len(yes), len(no), len(yesLeaf), len(noLeaf), len(missing), len(split), len(test)} {
		if size != n {
			a.fail = expr.Refuse("%d and %d nodes", n, size)
		}
	}
	if a.fail != nil || len(id) != len(weight) {
		return nil, firstOf(a.fail, expr.Refuse("%d weights for %d leaves", len(weight), len(id)))
	}
	f := &forest{values: map[int64][]target{}, targets: a.number("n_targets", 0), aggregate: a.number("aggregate_function", sum),
		transform: a.number("post_transform", 0), roots: a.ints("tree_roots")}
	for i := range n {
		f.node(feature[i], int64(test[i]), split[i], missing[i])
	}
	for i := range id {
		f.leaf(target{id[i], weight[i]})
	}
	to := func(at, leaf int64) int64 {
		if leaf != 0 {
			return at + int64(n)
		}
		return at
	}
	for i := range n {
		if yesLeaf[i] == 0 && yes[i] >= int64(n) || noLeaf[i] == 0 && no[i] >= int64(n) {
			return nil, expr.Refuse("node %d leads to nodes %d and %d of %d", i, yes[i], no[i], n)
		}
		f.yes[i], f.no[i] = to(yes[i], yesLeaf[i]), to(no[i], noLeaf[i])
	}
	if err := f.memberships(n, members); err != nil {
		return nil, err
	}
	y, err := f.run(r, rows)
	return []foreign.Value{y}, err
}

// memberships makes the tests of sets chains of tests for their members. The sets end with NaN, in the order of the nodes.
func (f *forest) memberships(n int, members []float64) error {
	for i := range n {
		if f.test[i] != member {
			continue
		}
		end := slices.IndexFunc(members, math.IsNaN)
		if end < 0 {
			return expr.Refuse("node %d has no members", i)
		}
		set := members[:end]
		members = members[end+1:]
		yes, no, missing, at := f.yes[i], f.no[i], f.missing[i], int64(i)
		f.test[i], f.split[i] = equal, math.NaN()
		for k, x := range set {
			if k > 0 {
				next := int64(len(f.feature))
				f.node(f.feature[i], equal, x, missing)
				f.no[at] = next
				at = next
			}
			f.split[at], f.yes[at], f.no[at] = x, yes, no
		}
	}
	return nil
}

// regressor maps TreeEnsembleRegressor: nodes have numbers in their trees, and leaves are nodes that targets name.
func regressor(r *mapping.Region, op *foreign.Op) ([]foreign.Value, error) {
	rows, err := input(r, op)
	if err != nil {
		return nil, err
	}
	a := &attrReader{op: op}
	f := &forest{values: map[int64][]target{}, targets: a.number("n_targets", 1),
		aggregate: []int64{sum, average, least, most}[max(0, a.word("aggregate_function", "SUM", "AVERAGE", "MIN", "MAX"))],
		transform: a.word("post_transform", "NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")}
	if err := f.listed(a, "target"); err != nil {
		return nil, err
	}
	base := a.either("base_values")
	if a.fail != nil || len(base) != 0 && int64(len(base)) != f.targets {
		return nil, firstOf(a.fail, expr.Refuse("%d base values for %d targets", len(base), f.targets))
	}
	transform := f.transform
	f.transform = 0
	x, err := f.based(r, rows, base)
	if err == nil {
		x, err = r.Eval("tree_scores", x, foreign.IntValue(transform))
	}
	return []foreign.Value{x}, err
}

// based maps the steps of a forest, and adds what each target has before them.
func (f *forest) based(r *mapping.Region, x foreign.Value, base []float64) (foreign.Value, error) {
	x, err := r.Eval("tree_features", x)
	if err == nil {
		x, err = f.run(r, x)
	}
	if err == nil && slices.ContainsFunc(base, func(b float64) bool { return b != 0 }) {
		x, err = r.Eval("tree_based", x, floatsValue(base))
	}
	return x, err
}

// listed reads the nodes of trees that are in lists, and what the leaves give, in those that begin with a word.
func (f *forest) listed(a *attrReader, word string) error {
	tree, id, feature := a.ints("nodes_treeids"), a.ints("nodes_nodeids"), a.ints("nodes_featureids")
	yes, no, missing, split := a.ints("nodes_truenodeids"), a.ints("nodes_falsenodeids"), a.ints("nodes_missing_value_tracks_true"), a.either("nodes_values")
	modes, _ := a.op.Attr("nodes_modes")
	toTree, toNode, toTarget, weight := a.ints(word+"_treeids"), a.ints(word+"_nodeids"), a.ints(word+"_ids"), a.either(word+"_weights")
	n := len(tree)
	if len(missing) == 0 {
		missing = make([]int64, n)
	}
	for _, size := range []int{len(id), len(feature), len(yes), len(no), len(missing), len(split), len(modes.List)} {
		if size != n {
			return expr.Refuse("%d and %d nodes", n, size)
		}
	}
	if len(toTree) != len(weight) || len(toNode) != len(weight) || len(toTarget) != len(weight) {
		return expr.Refuse("%d weights of %d leaves", len(weight), len(toNode))
	}
	number := map[[2]int64]int64{}
	for i := range n {
		number[[2]int64{tree[i], id[i]}] = int64(i)
	}
	words := []string{"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"}
	child := make([]bool, n)
	for i := range n {
		if modes.List[i].Str == "LEAF" {
			f.leaf()
			continue
		}
		f.node(feature[i], a.index("nodes_modes", modes.List[i].Str, words), split[i], missing[i])
		for _, to := range []struct {
			node int64
			into []int64
		}{{yes[i], f.yes}, {no[i], f.no}} {
			k, ok := number[[2]int64{tree[i], to.node}]
			if !ok {
				return expr.Refuse("tree %d has no node %d", tree[i], to.node)
			}
			to.into[i], child[k] = k, true
		}
	}
	rooted := map[int64]int{}
	for i := range n {
		rooted[tree[i]] += 0
		if !child[i] {
			rooted[tree[i]]++
			f.roots = append(f.roots, int64(i))
		}
	}
	for _, t := range tree {
		if rooted[t] != 1 {
			return expr.Refuse("tree %d has %d roots", t, rooted[t])
		}
	}
	for i, w := range weight {
		k, ok := number[[2]int64{toTree[i], toNode[i]}]
		if !ok || f.values[k] == nil {
			return expr.Refuse("tree %d has no leaf %d", toTree[i], toNode[i])
		}
		f.values[k] = append(f.values[k], target{toTarget[i], w})
	}
	return a.fail
}
