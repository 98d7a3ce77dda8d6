package pipeline

import (
	"strings"
	"testing"
)

// What a file says of the rules of a run, and runs that do and do not do so.
func TestExpectedRules(t *testing.T) {
	ran := func(pairs ...any) map[string]int {
		out := map[string]int{}
		for i := 0; i < len(pairs); i += 2 {
			out[pairs[i].(string)] = pairs[i+1].(int)
		}
		return out
	}
	for _, c := range []struct {
		name, text string
		applied    map[string]int
		want       string // in the error; "" is none
	}{
		{"any number", "// EXPECT-RULE: a\n", ran("a", 7), ""},
		{"a number", "x EXPECT-RULE: a 2\nEXPECT-RULE: b x3\r\n", ran("a", 2, "b", 3), ""},
		{"none", "EXPECT-RULE: none", ran(), ""},
		{"counters of rules that were not applied", "EXPECT-RULE: none", ran("a", 0), ""},
		{"not at all", "\nEXPECT-RULE: a\n", ran(), "f:2:1: error: the rule a was not applied"},
		{"too often", "EXPECT-RULE: a 2", ran("a", 3), "another number of times"},
		{"another", "EXPECT-RULE: a", ran("a", 1, "b", 1), "f: error: the rule b was applied, which no line expects"},
		{"none, but one was", "EXPECT-RULE: none", ran("b", 1), "the rule b was applied"},
		{"no line", "EXPECT-RULES: a\nX-EXPECT-RULE: a\n", ran(), "no line says"},
		{"no name", "EXPECT-RULE:", ran(), "none that can be read"},
		{"no number", "EXPECT-RULE: a -1", ran(), "none that can be read"},
		{"too great a number", "EXPECT-RULE: a 1234567890", ran(), "none that can be read"},
		{"0", "EXPECT-RULE: a 0", ran(), "has no line"},
		{"twice", "EXPECT-RULE: a\nEXPECT-RULE: a 2", ran("a", 2), "f:2:1: error: the rule has a line already"},
		{"none and a rule", "EXPECT-RULE: none\nEXPECT-RULE: a", ran("a", 2), "stands alone"},
		{"a rule and none", "EXPECT-RULE: a\nEXPECT-RULE: none", ran("a", 2), "stands alone"},
		{"a near miss", "EXPECT-RULE: a\nNEAR-MISS: b\n", ran("a", 1), ""},
		{"a near miss that was applied", "EXPECT-RULE: a\nNEAR-MISS: b\n", ran("a", 1, "b", 1), "the rule b was applied"},
		{"both", "EXPECT-RULE: a\nNEAR-MISS: a\n", ran("a", 1), "the rule a is a near miss, too"},
		{"none of a number", "EXPECT-RULE: none 3", ran(), "stands alone"},
	} {
		e, err := ParseExpectedRules("f", c.text)
		if err == nil {
			err = e.Check(c.applied)
		}
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
