package reduced_test

import (
	"strings"
	"testing"

	"tensortapestry.org/tapc/dialects/tensorops/reduced"
)

// Of each dim the monoids, with pairs where the second reduction goes on with the first as one does; near misses stay two reductions.
func TestPairs(t *testing.T) {
	for op, want := range map[string]string{
		"op:softmax {dims: [1]} (tensor: %a) -> (result: %d)":                      "log-sum-exp",
		"op:log_softmax {dims: [0, 1]} (tensor: %a) -> (result: %d)":               "log-sum-exp log-sum-exp",
		"op:log_sum_exp {dims: [1]} (tensor: %h) -> (result: %k)":                  "log-sum-exp",
		"op:exp_sum {dims: [1]} (tensor: %a) -> (total: %r)":                       "log-sum-exp",
		"op:variance {dims: [1], correction: 1} (tensor: %a) -> (result: %r)":      "moments",
		"op:layer_norm (X: %a) -> (Y: %d, mean: %r)":                               "moments",
		"op:moments {dims: [0, 1]} (tensor: %h) -> (total: %s)":                    "sum sum", // the spread is not asked for
		"op:moments {dims: [0, 1]} (tensor: %h) -> (spread: %s)":                   "moments moments",
		"op:rms_norm (X: %a) -> (Y: %d)":                                           "sum",
		"op:arg_max {dims: [1]} (tensor: %a) -> (result: %n)":                      "max,min",
		"op:hardmax (tensor: %a) -> (result: %d)":                                  "max,min",
		"op:sum {dims: [1]} (tensor: %a) -> (result: %r)":                          "sum",
		"op:average_pool {kernel: [3], pads: [1]} (X: %t) -> (Y: %u)":              "sum,sum",
		"op:attention (K: %q, Q: %q, V: %q) -> (Y: %y)":                            "sum log-sum-exp",
		"op:combine_exp_sum (tops: %a, totals: %d) -> (total: %v)":                 "max,sum",
		"op:combine_moments (counts: %r, spreads: %a, totals: %d) -> (spread: %v)": "sum,sum,sum",
	} {
		in := bind(t, tensors+pairTensors+"%op = operation "+op+"\n")
		tag, err := reduced.Of(in)
		if err != nil {
			t.Fatal(err)
		}
		var words []string
		for _, d := range tag.Dimensions {
			words = append(words, d.Combine)
		}
		if got := strings.Join(words, " "); got != want {
			t.Errorf("%s: %s, expected %s", op, got, want)
		}
	}
}

const pairTensors = `%n = tensor int64 [0:4]
%s = tensor float32 []
%v = tensor float32 [0:8]
%t = tensor float32 [0:1, 0:1, 0:5]
%u = tensor float32 [0:1, 0:1, 0:5]
%q = tensor float32 [0:1, 0:1, 0:5, 0:4]
%y = tensor float32 [0:1, 0:1, 0:5, 0:4]
`
