package classic

import (
	"tensortapestry.org/tapc/frontends/foreign"
	"tensortapestry.org/tapc/frontends/mapping"
	"tensortapestry.org/tapc/frontends/mapping/expr"
)

// classifier maps TreeEnsembleClassifier. Of two classes the trees give one score, to class 0, the weight of the second
// label; of more, each class has its own. Other ways to give scores mean different things to different readers, and are refused.
func classifier(r *mapping.Region, op *foreign.Op) ([]foreign.Value, error) {
	rows, err := input(r, op)
	if err != nil {
		return nil, err
	}
	a := &attrReader{op: op}
	labels, classes := a.labels("classlabels_int64s")
	f := &forest{values: map[int64][]target{}, aggregate: sum, targets: classes}
	transform := a.word("post_transform", "NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")
	if err := f.listed(a, "class"); err != nil {
		return nil, err
	}
	base := a.either("base_values")
	if err := firstOf(a.fail, f.settleClasses(len(base), transform)); err != nil {
		return nil, err
	}
	x, err := f.based(r, rows, base)
	if err != nil {
		return nil, err
	}
	out := make([]foreign.Value, 2)
	for i, def := range []string{"tree_labels", "tree_classes"} {
		if i == 0 && labels == nil && (len(op.Out) == 0 || op.Out[0] == "") {
			continue
		}
		if i == 0 && labels == nil {
			return nil, expr.Refuse("labels that are strings: tapc has none, so the model wants classes that are numbers")
		}
		if out[i], err = r.Eval(def, x, foreign.IntsValue(labels), foreign.IntValue(transform), foreign.BoolValue(f.positive())); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// settleClasses checks what the leaves give to classes, and makes two classes one target.
func (f *forest) settleClasses(bases int, transform int64) error {
	classes := f.targets
	switch {
	case classes < 2:
		return expr.Refuse("%d labels", classes)
	case classes == 2 && (bases > 1 || f.given(1) || transform != 0 && transform != 2):
		return expr.Refuse("two classes whose trees do not give one score, to the first")
	case classes == 2:
		f.targets = 1
	case bases != 0 && int64(bases) != classes:
		return expr.Refuse("%d base values for %d classes", bases, classes)
	case bases == 0 && !f.positive() && !f.complete():
		return expr.Refuse("classes that leaves give no score")
	}
	return nil
}

// given says whether a leaf gives something to a target.
func (f *forest) given(id int64) bool {
	for _, list := range f.values {
		for _, t := range list {
			if t.id == id {
				return true
			}
		}
	}
	return false
}

// positive says whether no weight is negative.
func (f *forest) positive() bool {
	for _, list := range f.values {
		for _, t := range list {
			if !(t.weight >= 0) {
				return false
			}
		}
	}
	return true
}

// complete says whether every row gets a score for every target: it has a tree all of whose leaves give it one.
func (f *forest) complete() bool {
	found := map[int64]bool{}
	for _, root := range f.roots {
		for id, leaves := range f.below(root) {
			if leaves {
				found[id] = true
			}
		}
	}
	return int64(len(found)) == f.targets
}

// below gives the targets that leaves below a node give something to: true if all of them do.
func (f *forest) below(root int64) map[int64]bool {
	leaves, counts := 0, map[int64]int{}
	seen := map[int64]bool{}
	for rest := []int64{root}; len(rest) > 0; {
		n := rest[len(rest)-1]
		rest = rest[:len(rest)-1]
		if seen[n] {
			continue
		}
		seen[n] = true
		if f.values[n] == nil {
			rest = append(rest, f.yes[n], f.no[n])
			continue
		}
		leaves++
		once := map[int64]bool{}
		for _, t := range f.values[n] {
			if !once[t.id] {
				once[t.id] = true
				counts[t.id]++
			}
		}
	}
	out := map[int64]bool{}
	for id, n := range counts {
		out[id] = n == leaves
	}
	return out
}
