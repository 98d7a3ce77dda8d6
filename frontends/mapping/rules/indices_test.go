package rules_test

import (
	"slices"
	"strings"
	"testing"

	"tensortapestry.org/tapc/frontends/mapping/rules"
	"tensortapestry.org/tapc/frontends/namespace"
)

// unranged says why a run may have any number in an input that could hold indices.
var unranged = map[string]string{
	"Attention valid":                        "a length, which positions are compared with",
	"DeformConv O":                           "places are held inside the image",
	"Det X":                                  "places of pivots are computed",
	"GRU lens":                               "a length, which steps are compared with",
	"GridSample G":                           "places are held inside the image, as padding_mode says",
	"LSTM lens":                              "a length, which steps are compared with",
	"com.microsoft:DynamicQuantizeLSTM lens": "a length, which steps are compared with",
	"com.microsoft:MoE R":                    "scores: the indices are places of the greatest",
	"com.microsoft:QMoE R":                   "scores: the indices are places of the greatest",
	"ai.onnx.ml:LinearClassifier X":          "features: the index is the place of the greatest score",
	"OneHot I":                               "the standard has no place on for them",
	"QLinearConv B":                          "a bias",
	"RNN lens":                               "a length, which steps are compared with",
	"TensorScatter W":                        "checked, but in circular mode, where places wrap",
	"com.microsoft:EmbedLayerNormalization mask": "a mask, which is compared with 1",
	"com.microsoft:QGemm C":                      "a bias",
	"com.microsoft:MultiHeadAttention mask":      "a mask, which is compared with 0, or lengths, with positions",
	"com.microsoft:Attention mask":               "a mask, which is compared with 0, or lengths, with positions",
	"tensorflow OneHot indices":                  "the standard has no place on for them",
}

// Every input of a built-in rule that holds integers in a run, or gets into indices of a kernel, is held to its range, or above is why not.
func TestIndicesAreDecided(t *testing.T) {
	checked, used := 0, map[string]bool{}
	for _, table := range rules.Builtin() {
		for _, r := range slices.Concat(table.Rules, table.Fuses) {
			f := rules.FlowOf(r)
			for _, in := range r.In {
				if !f.Places[in.Name] && (f.Checked[in.Name] || !f.Data[in.Name] || !holdsIntegers(t, table, r, in.Name)) {
					if f.Checked[in.Name] {
						checked++
					}
					continue
				}
				name := r.Op + " " + in.Name
				if r.Domain != "" {
					name = r.Domain + ":" + name
				} else if table.Namespace != "onnx" {
					name = table.Namespace + " " + name
				}
				used[name] = true
				if why := unranged[name]; why == "" || strings.HasPrefix(why, "checked") && !f.Checked[in.Name] {
					t.Errorf("%s:%d: rule %s: nothing holds %s to its range: ask in_range of it, or say in unranged why not (%q)", table.File(), r.Line, r.Name, in.Name, name)
				}
			}
		}
	}
	for name := range unranged {
		if !used[name] {
			t.Errorf("%q needs no reason", name)
		}
	}
	if checked < 15 {
		t.Errorf("%d inputs are checked, expected at least 15", checked)
	}
}

// holdsIntegers says whether an input of an operator is an int32 or an int64, at some version that the rule is for.
func holdsIntegers(t *testing.T, table *rules.Table, r *rules.Rule, input string) bool {
	if len(r.In) == 0 || r.Op == "" {
		return false
	}
	name := table.Namespace
	if r.Domain != "" {
		name += "/" + r.Domain
	}
	n, err := namespace.All().Find(name)
	if err != nil {
		t.Fatalf("%s:%d: %v", table.File(), r.Line, err)
	}
	at := slices.IndexFunc(r.In, func(p rules.Param) bool { return p.Name == input })
	return slices.ContainsFunc(n.History(r.Op), func(o *namespace.Op) bool {
		return (r.To < 0 || o.Since <= r.To) && at < len(o.In) &&
			!slices.ContainsFunc(o.Allowed(o.In[at].Type), func(typ string) bool { return typ != "int32" && typ != "int64" })
	})
}
