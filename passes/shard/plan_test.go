package shard

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPlan(t *testing.T) {
	got, err := parsePlan([]byte(`{"shard": [{"target": "op:linear", "parts": [2, 1]}, {"target": "y", "parts": [3]}]}`))
	want := []Request{{"op:linear", []int64{2, 1}}, {"y", []int64{3}}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	for text, message := range map[string]string{
		"":                            "EOF",
		"{}":                          "asks for nothing",
		`{"shard": [}`:                "byte 12",
		`{"shard": []} {}`:            "byte 1",
		`{"shards": []}`:              `unknown field "shards"`,
		`{"shard": [{"parts":[2]}]}`:  "entry 0 names no target",
		`{"shard": [{"target":"x"}]}`: "entry 0 (x) has no parts",
		`{"shard": [{"target":"x","parts":[0]}]}`:                   "0 is not a number of parts",
		`{"shard": [{"target":"x","parts":[1048577]}]}`:             "more than 1048576 shards",
		`{"shard": [{"target":"x","parts":[1024,1025]}]}`:           "more than 1048576 shards",
		`{"shard": [{"target":"x","parts":[9223372036854775807]}]}`: "more than 1048576 shards",
		`{"shard": [{"target":"x","parts":[1.5]}]}`:                 "1.5",
	} {
		if got, err := parsePlan([]byte(text)); err == nil || !strings.Contains(err.Error(), message) {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	if got, err := parsePlan([]byte(`{"shard": [{"target":"x","parts":[1024,1024]}]}`)); err != nil || len(got) != 1 {
		t.Error(got, err) // near miss: just as many as may be
	}
}
