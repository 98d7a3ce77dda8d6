// Package page writes docs/onnx.md: for every operator of ONNX, from which version on tapc maps it and for which element
// types, or why it is refused.
//
// Nothing on the page is written by hand: operators and versions come from the dictionaries, what is mapped from the tables of
// rules, and types from mapping a small graph of the one operator for each. Only tools and tests import it.
package page

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"tensortapestry.org/tapc/frontends/foreign"
	"tensortapestry.org/tapc/frontends/mapping/rules"
	"tensortapestry.org/tapc/frontends/namespace"
	"tensortapestry.org/tapc/frontends/onnx"
	"tensortapestry.org/tapc/ir/scalar"
)

const head = `# ONNX operators

Made by ` + "`go run ./tools/onnx/operators docs/onnx.md`" + ` from the dictionaries, the rules and the kernels; a test checks that it is
current. ` + "`tapc run`, `build` and `translate`" + ` read models of these operators; ` + "`--analyze`" + ` says which of a model's are mapped, by which
rule, and why others are not.

*Versions* are those of the operator set with which a model may use the operator. *Types* are the element types of its first tensor for
which a graph of the one operator was mapped when this page was made; "as declared" where that takes more than a graph of one
operator, such as inputs that must be known when compiling. Shapes are known when compiling: symbolic sizes are bound by ` + "`--dim`" + `, and an
operator whose result's shape depends on values needs those to be constants, or given by ` + "`--known`" + `. Sequences and optional values are
lists that are known when compiling; they can not be inputs or outputs: their type does not say how long they are.

How this is checked, with Python's ` + "`onnx`" + ` and ` + "`onnxruntime`" + `:

    python3 tools/onnx/nodetests.py DIR                # ONNX's own tests of operators
    python3 tools/onnx/randomtests.py DIR 4000 SEED    # random models, with the results of ONNX Runtime
    python3 tools/onnx/languagetests.py DIR 1000 SEED  # random operators of language models, likewise
    python3 tools/onnx/classictests.py DIR 1000 SEED   # random operators of classical machine learning, likewise
    python3 tools/onnx/quantizedtests.py DIR 1000 SEED # random contributed operators on bytes, byte for byte
    go run ./tools/onnx/conform DIR                    # a table of what passes, is refused and why, or is wrong; -schedule runs all passes, -cpu builds programs

What comes out of the 1,884 tests of operators of ONNX 1.23.2 and the models of its suites, with the reference evaluator and, the same,
as programs for CPUs (` + "`-cpu -jobs 2`" + `, some 20 minutes on two cores):

| tests | pass | refused | wrong |
|---|---|---|---|
| operators | 1,796 | 88 | 0 |
| simple | 15 | 8 | 0 |
| pytorch-converted, pytorch-operator | 117 | 0 | 0 |
| light: ResNet-50, DenseNet-121, VGG-19 and six more | 9 | 0 | 0 |

Of those that pass, 319 take inputs that shapes depend on as constants, and of 16 that draw at random types and shapes are compared. Refused
are operators' tests with sequences or optional values as inputs or outputs (29), with strings (26), with shapes that depend on
data (26: NonMaxSuppression, ImageDecoder, Unique) and of training (7), and simple ones with strings (6) and of training (2). None
of 3,400 random models with the reference evaluator, and none of 1,903 as programs for CPUs, gives anything but what ONNX Runtime gives.

Of classical machine learning, linear models, decision trees and support vector machines are mapped, with labels that are numbers: a
model whose labels are strings is refused, and so is a support vector machine with probabilities. A ZipMap gives a tensor with a row
for each map, its values in the order of the keys. None of 1,500 random operators gives anything but what ONNX Runtime gives, nor does
any of 76 estimators and transformers of scikit-learn, LightGBM and XGBoost, as programs.

Of 150 random operators of language models none gives anything but what ONNX Runtime gives. A decoder of three layers with weights of
4 bits, rotary embeddings and a cache of fixed length generates the same 200 tokens (tools/onnx/decoder.py TAPC). A cache has the length of
past_key, or of total_sequence_length if that is a constant and greater; a run whose seqlens_k is not below it ends with an error.

Where ONNX's tests and ONNX Runtime disagree, ONNX's tests count. Random numbers differ from other implementations', whose
sequences ONNX does not define.

`

// domains are the dictionaries of the page, with the domain that models name.
var domains = []struct{ dictionary, domain string }{{"onnx", ""}, {"onnx/ai.onnx.ml", "ai.onnx.ml"}, {"onnx/ai.onnx.preview", "ai.onnx.preview"},
	{"onnx/ai.onnx.preview.training", "ai.onnx.preview.training"}, {"onnx/com.microsoft", "com.microsoft"}}

// row is an operator.
type row struct{ name, versions, types, reason string }

// Page gives the page's text.
func Page() (string, error) {
	var b strings.Builder
	b.WriteString(head)
	for _, d := range domains {
		n, err := namespace.All().Find(d.dictionary)
		if err != nil {
			continue // a domain without a dictionary
		}
		if err := section(&b, n, d.domain); err != nil {
			return "", err
		}
	}
	return b.String(), nil
}

func section(b *strings.Builder, n namespace.Namespace, domain string) error {
	var mapped, refused []row
	for _, op := range n.Ops() {
		r, err := describe(n.Dictionary, domain, op.Name)
		if err != nil {
			return err
		}
		if r.reason != "" {
			refused = append(refused, r)
		} else {
			mapped = append(mapped, r)
		}
	}
	title := domain
	if title == "" {
		title = "ai.onnx"
	}
	fmt.Fprintf(b, "## %s %s\n\n%d of %d operators are mapped.\n\n", title, n.Range(), len(mapped), len(mapped)+len(refused))
	if len(mapped) > 0 {
		b.WriteString("| operator | versions | types |\n|---|---|---|\n")
	}
	for _, r := range mapped {
		fmt.Fprintf(b, "| %s | %s | %s |\n", r.name, r.versions, r.types)
	}
	if len(refused) > 0 {
		b.WriteString("\n| refused | why |\n|---|---|\n")
	}
	for _, r := range refused {
		fmt.Fprintf(b, "| %s | %s |\n", r.name, r.reason)
	}
	b.WriteString("\n")
	return nil
}

// describe finds what becomes of an operator in every version.
func describe(d *namespace.Dictionary, domain, name string) (row, error) {
	r := row{name: name}
	var ranges []string
	last := int64(-1)
	for v := int64(1); v <= d.Last+1; v++ {
		covered := v <= d.Last && covers(d, domain, name, v)
		switch {
		case covered && last < 0:
			last = v
		case !covered && last >= 0 && v > d.Last:
			ranges = append(ranges, fmt.Sprintf("%d–", last))
			last = -1
		case !covered && last >= 0:
			ranges = append(ranges, fmt.Sprintf("%d–%d", last, v-1))
			last = -1
		}
	}
	r.versions = strings.Join(ranges, ", ")
	if r.versions == "" {
		r.reason = refusal(domain, name)
		return r, nil
	}
	r.types = types(d, domain, name)
	return r, nil
}

// covers says whether a rule or a native maps an operator at a version.
func covers(d *namespace.Dictionary, domain, name string, v int64) bool {
	if (namespace.Namespace{Dictionary: d, Version: v}).Op(name) == nil && v >= d.First {
		return false
	}
	if onnx.Natives()[domain+":"+name] != nil {
		return true
	}
	for _, r := range rulesOf(domain, name) {
		if r.Refuses == "" && v >= r.From && (r.To < 0 || v <= r.To) && v >= oldest(d, name) {
			return true
		}
	}
	return false
}

// oldest is the first version that has an operator, as far as the dictionary knows.
func oldest(d *namespace.Dictionary, name string) int64 {
	if h := d.History(name); len(h) > 0 {
		return h[0].Since
	}
	return 1
}

func rulesOf(domain, name string) []*rules.Rule {
	var out []*rules.Rule
	for _, t := range rules.For("onnx", nil) {
		for _, r := range t.Rules {
			if t.Hop == 0 && r.Domain == domain && r.Op == name {
				out = append(out, r)
			}
		}
	}
	return out
}

func refusal(domain, name string) string {
	for _, r := range rulesOf(domain, name) {
		if r.Refuses != "" {
			return r.Refuses
		}
	}
	return "no rule maps it"
}

// probes are the shapes that inputs of a probe have: all the first, or the first one the first and the others the second.
var probes = [][2][]int64{{{2, 3}, {2, 3}}, {{2, 2}, {2, 2}}, {{1, 4, 4, 4}, {1, 4, 4, 4}}, {{1, 4, 4, 4}, {4}}, {{2, 3}, {}}, {{4}, {4}}, {{}, {}}}

// types tries every element type that tapc has and the dictionary allows.
func types(d *namespace.Dictionary, domain, name string) string {
	op := namespace.Namespace{Dictionary: d, Version: d.Last}.Op(name)
	if op == nil || len(op.In) == 0 {
		return "as declared"
	}
	for _, shapes := range probes {
		var good []string
		for _, typ := range op.Allowed(op.In[0].Type) {
			dtype := namespace.DType(typ)
			if dtype != scalar.Invalid && probe(op, domain, d.Last, dtype, shapes) {
				good = append(good, dtype.String())
			}
		}
		if len(good) > 0 {
			return summary(op, good)
		}
	}
	return "as declared"
}

// summary names all types together where nothing is missing that tapc has.
func summary(op *namespace.Op, good []string) string {
	var missing []string
	for _, typ := range op.Allowed(op.In[0].Type) {
		if dtype := namespace.DType(typ); dtype != scalar.Invalid && !slices.Contains(good, dtype.String()) {
			missing = append(missing, dtype.String())
		}
	}
	slices.Sort(good)
	if len(good) > 6 && len(missing) == 0 {
		return fmt.Sprintf("all %d that ONNX allows and tapc has", len(good))
	}
	return strings.Join(good, ", ")
}

// probe maps a graph of the one operator.
func probe(op *namespace.Op, domain string, version int64, dtype scalar.DType, shapes [2][]int64) bool {
	g := &foreign.Graph{Namespace: "onnx", Versions: map[string]int64{"": 28, domain: version}, Consts: map[string]*foreign.Data{}}
	node := &foreign.Op{Type: op.Name, Domain: domain}
	for i, p := range op.In {
		if p.Optional {
			break
		}
		for k := range max(1, p.Least) {
			t := dtype
			if p.Type != op.In[0].Type {
				t = other(op, p.Type)
			}
			shape := shapes[min(i, 1)]
			port := foreign.Port{Name: fmt.Sprintf("x%d_%d", i, k), DType: t, Ranked: true}
			for _, n := range shape {
				port.Shape = append(port.Shape, foreign.Size{Value: n})
			}
			g.Inputs = append(g.Inputs, port)
			node.In = append(node.In, port.Name)
		}
	}
	node.Out = []string{"y"}
	g.Outputs = []foreign.Port{{Name: "y"}}
	for _, a := range op.Attrs {
		if v, ok := guess(a); ok && a.Required {
			node.Attrs = append(node.Attrs, foreign.Attr{Name: a.Name, Value: v})
		}
	}
	slices.SortFunc(node.Attrs, func(a, b foreign.Attr) int { return strings.Compare(a.Name, b.Name) })
	g.Ops = []*foreign.Op{node}
	_, _, err := onnx.Import(context.Background(), &onnx.Model{Graph: g}, onnx.Options{})
	return err == nil
}

// other gives a type for an input that does not have the type of the first.
func other(op *namespace.Op, typ string) scalar.DType {
	allowed := op.Allowed(typ)
	for _, want := range []string{"int64", "float32", "boolean", "uint8"} {
		if slices.ContainsFunc(allowed, func(t string) bool { return namespace.DType(t).String() == want }) {
			d, _ := scalar.ParseDType(want)
			return d
		}
	}
	return scalar.Float32
}

// guess gives a value for an attribute that must be there.
func guess(a namespace.Attr) (foreign.Value, bool) {
	switch {
	case a.Type == "string" && len(a.Words) > 0:
		return foreign.StringValue(a.Words[0]), true
	case a.Type == "string":
		return foreign.StringValue("LEFT"), true
	case a.Type == "int":
		return foreign.IntValue(1), true
	case a.Type == "ints":
		return foreign.IntsValue([]int64{2, 2}), true
	case a.Type == "float":
		return foreign.FloatValue(1), true
	}
	return foreign.Value{}, false
}
