package classic

import (
	"tensortapestry.org/tapc/frontends/foreign"
	"tensortapestry.org/tapc/frontends/mapping"
	"tensortapestry.org/tapc/frontends/mapping/expr"
)

// machines are support vector machines with several classes; those with one sum of kernels are a rule.
var machines = map[string]mapping.Native{"ai.onnx.ml:SVMClassifier": machine}

// maxPairs bounds the numbers of support vectors times pairs of classes.
const maxPairs = 1 << 24

// pairs are the scores of a machine, one for each pair of classes: weights has a row of them for each support vector, ahead and behind say for
// each which class is its first and its second.
type pairs struct {
	weights, ahead, behind []float64
}

// machine maps SVMClassifier: each pair of classes has a sum of the kernels of a row with the support vectors of both, whose sign is a
// vote. The coefficients have a row for each class but one: row i has those of a later class against class i, and of an earlier one
// against class i + 1.
func machine(r *mapping.Region, op *foreign.Op) ([]foreign.Value, error) {
	rows, err := input(r, op)
	if err != nil {
		return nil, err
	}
	a := &attrReader{op: op}
	labels, classes := a.labels("classlabels_ints")
	counts, coefficients, rho := a.ints("vectors_per_class"), a.floats("coefficients"), a.floats("rho")
	switch {
	case a.fail != nil:
		return nil, a.fail
	case a.floats("prob_a") != nil || a.floats("prob_b") != nil:
		return nil, expr.Refuse("probabilities of a support vector machine, which are found by iterating")
	case labels == nil:
		return nil, expr.Refuse("labels that are strings: tapc has none, so the model wants classes that are numbers")
	case len(counts) == 0:
		return nil, expr.Refuse("a support vector machine without support vectors")
	}
	p, err := pairsOf(counts, coefficients, int64(len(rho)), classes)
	if err != nil {
		return nil, err
	}
	kind, params := foreign.Value{Kind: foreign.String, Str: "LINEAR"}, floatsValue([]float64{0, 0, 3})
	if v, ok := op.Attr("kernel_type"); ok {
		kind = v
	}
	if v, ok := op.Attr("kernel_params"); ok {
		params = v
	}
	x, err := r.Eval("svm_products", rows, floatsValue(a.floats("support_vectors")), kind, params)
	if err == nil && (x.Tensor == nil || len(x.Tensor.Shape) != 2 || x.Tensor.Shape[1]*int64(len(rho)) != int64(len(p.weights))) {
		err = expr.Refuse("support vectors that are not as many as vectors_per_class says")
	}
	if err == nil {
		x, err = r.Eval("svm_scores", x, floatsValue(p.weights), floatsValue(rho))
	}
	if err != nil {
		return nil, err
	}
	how := foreign.Value{Kind: foreign.String, Str: "NONE"}
	if v, ok := op.Attr("post_transform"); ok {
		how = v
	}
	y, err := r.Eval("svm_labels", x, floatsValue(p.ahead), floatsValue(p.behind), foreign.IntsValue(labels))
	if err != nil {
		return nil, err
	}
	z, err := r.Eval("svm_classes", x, how, foreign.IntValue(classes))
	return []foreign.Value{y, z}, err
}

// pairsOf checks the numbers of a machine and makes a matrix of its coefficients.
func pairsOf(counts []int64, coefficients []float64, rho, classes int64) (pairs, error) {
	var p pairs
	vectors := int64(0)
	for _, n := range counts {
		if n < 0 || n > maxPairs {
			return p, expr.Refuse("%d support vectors of a class", n)
		}
		vectors += n
	}
	n := int64(len(counts))
	if n != classes || n < 2 || n > 1<<12 || rho != n*(n-1)/2 || int64(len(coefficients)) != vectors*(n-1) || vectors > maxPairs/max(1, rho) {
		return p, expr.Refuse("%d classes with %d labels, %d support vectors, %d coefficients and %d pairs", n, classes, vectors, len(coefficients), rho)
	}
	negative := false
	for _, c := range coefficients {
		negative = negative || !(c >= 0)
	}
	if n == 2 && !negative {
		return p, expr.Refuse("two classes without a negative coefficient")
	}
	p.weights, p.ahead, p.behind = make([]float64, vectors*rho), make([]float64, rho*n), make([]float64, rho*n)
	start := make([]int64, n+1)
	for i, c := range counts {
		start[i+1] = start[i] + c
	}
	pair := int64(0)
	for i := range n {
		for j := i + 1; j < n; j++ {
			for v := start[i]; v < start[i+1]; v++ {
				p.weights[v*rho+pair] = coefficients[(j-1)*vectors+v]
			}
			for v := start[j]; v < start[j+1]; v++ {
				p.weights[v*rho+pair] = coefficients[i*vectors+v]
			}
			p.ahead[pair*n+i], p.behind[pair*n+j] = 1, 1
			pair++
		}
	}
	return p, nil
}
