// Package textmate_test holds the TextMate grammar of the text form to tapc's own tables.
package textmate_test

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"tensortapestry.org/tapc/dialects"
	"tensortapestry.org/tapc/ir/scalar"
)

const grammarFile = "syntaxes/tap.tmLanguage.json"

// patterns gives every regular expression of the grammar, with what it is called.
func patterns(t *testing.T) map[string]string {
	t.Helper()
	data, err := os.ReadFile(grammarFile)
	if err != nil {
		t.Fatal(err)
	}
	var tree any
	if err := json.Unmarshal(data, &tree); err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	var walk func(name string, v any)
	walk = func(name string, v any) {
		switch v := v.(type) {
		case map[string]any:
			if n, ok := v["name"].(string); ok {
				name = n
			}
			for _, key := range []string{"match", "begin", "end"} {
				if s, ok := v[key].(string); ok {
					found[name+" "+key] = s
				}
			}
			for k, x := range v {
				walk(k, x)
			}
		case []any:
			for _, x := range v {
				walk(name, x)
			}
		}
	}
	walk("", tree)
	return found
}

// looks are what Go's regular expressions do not have: looks ahead and behind.
var looks = regexp.MustCompile(`\(\?(<=|<!|=|!)((\\.|\[[^\]]*\]|[^()\\])*)\)`)

func compile(t *testing.T, all map[string]string, name string) *regexp.Regexp {
	t.Helper()
	text, ok := all[name]
	if !ok {
		t.Fatalf("the grammar has no %q", name)
	}
	re, err := regexp.Compile(looks.ReplaceAllString(text, ""))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return re
}

func TestWords(t *testing.T) {
	all := patterns(t)
	definition, anonymous := compile(t, all, "definition match"), compile(t, all, "anonymous match")
	for _, k := range dialects.Registry().Nodes {
		m := definition.FindStringSubmatch(`%a.b_1 "label" = ` + k.Keyword + " op:add")
		if m == nil || m[1] != "%a.b_1" || m[2] != `"label"` || m[4] != k.Keyword || m[5] != "op:add" {
			t.Errorf("a definition of a %s is not coloured: %q", k.Keyword, m)
		}
		if m := anonymous.FindStringSubmatch(k.Keyword + " x"); m == nil || m[1] != k.Keyword {
			t.Errorf("a %s without a name is not coloured", k.Keyword)
		}
	}
	tag := compile(t, all, "tag match")
	for _, k := range dialects.Registry().Tags {
		if m := tag.FindStringSubmatch("    " + k.Keyword + " x"); m == nil || m[1] != k.Keyword {
			t.Errorf("tag %s is not coloured", k.Keyword)
		}
	}
	dtype := compile(t, all, "support.type.dtype.tap match")
	for _, d := range scalar.DTypes() {
		if dtype.FindString(d.String()) != d.String() {
			t.Errorf("dtype %v is not coloured", d)
		}
	}
}

func TestEveryPatternCompiles(t *testing.T) {
	all := patterns(t)
	if len(all) < 15 {
		t.Fatalf("only %d patterns found", len(all))
	}
	for name := range all {
		compile(t, all, name)
	}
	for _, s := range []string{"package.json", "language-configuration.json", "hash-configuration.json"} {
		data, err := os.ReadFile(s)
		if err != nil || !json.Valid(data) {
			t.Errorf("%s is not JSON: %v", s, err)
		}
		for _, g := range []string{"tap", "kernel", "rules", "map"} {
			if g = "./syntaxes/" + g + ".tmLanguage.json"; s == "package.json" && !strings.Contains(string(data), g) {
				t.Errorf("%s does not name %s", s, g)
			}
		}
	}
}
