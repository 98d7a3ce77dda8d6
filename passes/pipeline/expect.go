package pipeline

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tensortapestry.org/tapc/ir/diag"
)

// codeRules is the code of rules that were not applied as a file expects, or of a file that expects nothing readable.
const codeRules = "TAP0503"

// ExpectedRules are the rules that a file expects a run to apply: those that its lines EXPECT-RULE: name, and no others. Lines NEAR-MISS: name rules
// that nearly fit; they are not applied, as are all without a line.
type ExpectedRules struct {
	file  string
	rules []expectedRule // empty if the file says that none is applied
	near  []string
}

// expectedRule is one line.
type expectedRule struct {
	name  string
	count int // 0 is any number but 0
	at    diag.Location
}

// noRule is the name that stands for a run that applies no rule.
const noRule = "none"

var (
	expectLine = regexp.MustCompile(`(?:^|[^-_a-zA-Z0-9])EXPECT-RULE:(.*)`)
	nearLine   = regexp.MustCompile(`(?:^|[^-_a-zA-Z0-9])NEAR-MISS:[ \t]+([a-z0-9][-a-z0-9_./]*)[ \t]*(?:$|\r?\n)`)
	expectText = regexp.MustCompile(`^([a-z0-9][-a-z0-9_./]*)(?:\s+x?([0-9]{1,9}))?$`)
)

// ParseExpectedRules reads the lines EXPECT-RULE: of a file, which may be in comments:
//
//	EXPECT-RULE: NAME      the rule is applied, any number of times
//	EXPECT-RULE: NAME N    the rule is applied N times
//	EXPECT-RULE: none      no rule is applied
//	NEAR-MISS: NAME        the rule is not applied, or only as often as its line says, though the graph is nearly one that it is for once more
//
// A file without such a line is an error: it would hold a run to nothing that its author sees.
func ParseExpectedRules(file, text string) (*ExpectedRules, error) {
	e := &ExpectedRules{file: file}
	var bad diag.List
	none := false
	number := 0
	for line := range strings.Lines(text) {
		number++
		if m := nearLine.FindStringSubmatch(line); m != nil {
			e.near = append(e.near, m[1])
		}
		m := expectLine.FindStringSubmatchIndex(line)
		if m == nil {
			continue
		}
		said := strings.TrimSpace(line[m[2]:m[3]])
		r := expectedRule{at: diag.Location{File: file, Line: number, Column: m[2] - len("EXPECT-RULE:") + 1}}
		fault := ""
		if words := expectText.FindStringSubmatch(said); words == nil {
			fault = "the line is none that can be read"
		} else {
			r.name = words[1]
			if words[2] != "" {
				r.count, _ = strconv.Atoi(words[2]) // it has few digits
			}
			switch {
			case words[2] != "" && r.count == 0:
				fault = "a rule that is not applied has no line"
			case slices.ContainsFunc(e.rules, func(x expectedRule) bool { return x.name == r.name }):
				fault = "the rule has a line already"
			case r.name == noRule && words[2] != "" || none || r.name == noRule && len(e.rules) > 0:
				fault = `"none" stands alone`
			}
		}
		if fault != "" {
			bad = append(bad, diag.Errorf(codeRules, "rules", r.at, "%s", fault).Want("EXPECT-RULE: NAME, EXPECT-RULE: NAME COUNT, or EXPECT-RULE: none", said))
			continue
		}
		if r.name == noRule {
			none = true
			continue
		}
		e.rules = append(e.rules, r)
	}
	if len(bad) == 0 && !none && len(e.rules) == 0 {
		bad = append(bad, diag.Errorf(codeRules, "rules", diag.Location{File: file}, "no line says which rules are applied").
			Want("EXPECT-RULE: NAME or, for a run without any, EXPECT-RULE: none", "no such line"))
	}
	for _, name := range e.near {
		if i := slices.IndexFunc(e.rules, func(r expectedRule) bool { return r.name == name && r.count == 0 }); i >= 0 {
			bad = append(bad, diag.Errorf(codeRules, "rules", e.rules[i].at, "the rule %s is a near miss, too", name).Want("EXPECT-RULE: "+name+" and how often, or NEAR-MISS alone", "no number"))
		}
	}
	return e, bad.Err()
}

// Check compares what a run applied, by the names of rules, with what the file expects.
func (e *ExpectedRules) Check(applied map[string]int) error {
	var bad diag.List
	expected := map[string]bool{}
	for _, r := range e.rules {
		expected[r.name] = true
		switch n := applied[r.name]; {
		case n == 0:
			bad = append(bad, diag.Errorf(codeRules, "rules", r.at, "the rule %s was not applied", r.name).Want(times(r.count), "no application"))
		case r.count != 0 && n != r.count:
			bad = append(bad, diag.Errorf(codeRules, "rules", r.at, "the rule %s was applied another number of times", r.name).Want(times(r.count), fmt.Sprint(n)))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(applied)) {
		if n := applied[name]; n > 0 && !expected[name] {
			bad = append(bad, diag.Errorf(codeRules, "rules", diag.Location{File: e.file}, "the rule %s was applied, which no line expects", name).
				Want("none", fmt.Sprintf("EXPECT-RULE: %s %d", name, n)))
		}
	}
	return bad.Err()
}

// times says how often a rule is expected.
func times(n int) string {
	if n == 0 {
		return "one application or more"
	}
	return fmt.Sprint(n)
}
