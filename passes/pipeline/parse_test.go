package pipeline

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tensortapestry.org/tapc/ir/diag"
)

func TestParseAndPrint(t *testing.T) {
	for text, want := range map[string]string{
		"":                                  "",
		" \n":                               "",
		"upper":                             "upper",
		" upper , shorten\n,verify ":        "upper,shorten,verify",
		"append{loud}":                      "append{loud=true}",
		"append{}":                          "append",
		"append{ text = a=2x2;b , times=3}": "append{text=a=2x2;b,times=3}",
		`append{text="a, (b) {c} \"d\""}`:   `append{text="a, (b) {c} \"d\""}`,
		`append{text=""}`:                   `append{text=""}`,
		"fix(upper,shorten)":                "fix(upper,shorten){max=10}",
		"fix( fix(upper){max=2} ){max=4}":   "fix(fix(upper){max=2}){max=4}",
	} {
		p, err := ParsePipeline(text, fakes())
		if err != nil {
			t.Errorf("%q: %v", text, err)
		} else if got := p.String(); got != want {
			t.Errorf("%q prints as %q, want %q", text, got, want)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for _, k := range []struct {
		text string
		line int
		col  int
		want string
	}{
		{" ,", 1, 2, "expected the name of a pass"},
		{"upper,", 1, 7, "expected the name of a pass"},
		{"upper shorten", 1, 7, "expected a comma"},
		{"upper,\n shrten", 2, 2, `did you mean "shorten"?`},
		{"uppr{x", 1, 1, `did you mean "upper"?`},
		{"fox(upper)", 1, 1, `did you mean "fix"?`},
		{"append{tmes=3}", 1, 8, `append has no option "tmes"; did you mean "times"?`},
		{"shorten{x}", 1, 9, "; it has none"},
		{"append{times=x}", 1, 14, "option times: expected an integer, found \"x\""},
		{"append{loud=maybe}", 1, 13, "expected true or false"},
		{"append{share=1e999}", 1, 14, "expected a number"},
		{"append{times=3,times=4}", 1, 16, "there twice"},
		{"append{times=}", 1, 14, "expected a value"},
		{"append{times=1", 1, 15, "expected '}'"},
		{`append{text="x}`, 1, 13, "quotes"},
		{"fix", 1, 4, "expected '('"},
		{"fix(upper", 1, 10, "expected ')'"},
		{"fix(upper){max=0}", 1, 1, "max must be 1 or more"},
		{"fix(upper){mix=1}", 1, 12, `fix has no option "mix"; did you mean "max"?`},
		{"apply,upper", 1, 1, "apply must come after upper: shards keep their case"},
		{"fix(apply),fix(upper)", 1, 5, "apply must come after upper"},
		{strings.Repeat("fix(", 200), 1, 401, "nested more than 100 deep"},
	} {
		_, err := ParsePipeline(k.text, fakes())
		var d diag.Diagnostic
		if !errors.As(err, &d) || diag.ExitStatus(err) != diag.ExitUsage {
			t.Errorf("%q: %v is no diagnostic of usage", k.text, err)
			continue
		}
		if d.Location.Line != k.line || d.Location.Column != k.col || !strings.Contains(d.Message, k.want) {
			t.Errorf("%q: got %v, want %d:%d: %s", k.text, err, k.line, k.col, k.want)
		}
	}
}

func TestPaths(t *testing.T) {
	got := parsed(t, "append{file=a,text=b},fix(upper,append{file=c})").Paths()
	if diff := cmp.Diff([]string{"a", "c"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestOrderHoldsForFirstUses(t *testing.T) {
	if _, err := ParsePipeline("upper,apply,upper", fakes()); err != nil {
		t.Error(err)
	}
}

// drawPipeline makes the text of a valid pipeline.
func drawPipeline(t *rapid.T, depth int) string {
	var steps []string
	for range rapid.IntRange(1, 3).Draw(t, "steps") {
		switch rapid.IntRange(0, 3).Draw(t, "kind") {
		case 0:
			steps = append(steps, "upper")
		case 1, 2:
			s := Step{Pass: fakes().Find("append"), Settings: []Setting{{"text", rapid.String().Draw(t, "text")},
				{"times", rapid.SampledFrom([]string{"0", "-5", "12"}).Draw(t, "times")}}}
			steps = append(steps, s.String())
		default:
			if depth < 3 {
				steps = append(steps, "fix("+drawPipeline(t, depth+1)+"){max=7}")
			}
		}
	}
	if len(steps) == 0 {
		return "verify"
	}
	return strings.Join(steps, ",")
}

func TestPrintedPipelinesReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := drawPipeline(t, 0)
		p, err := ParsePipeline(text, fakes())
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if p.String() != text {
			t.Fatalf("%q prints as %q", text, p.String())
		}
	})
}

func FuzzParsePipeline(f *testing.F) {
	for _, s := range []string{"upper,fix(shorten){max=2}", `append{text="x",times=3}`, "fix(fix(", "a{b=c"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ParsePipeline(text, fakes())
		if err != nil {
			return
		}
		again, err := ParsePipeline(p.String(), fakes())
		if err != nil || again.String() != p.String() {
			t.Fatalf("%q prints as %q, which reads as %q, %v", text, p.String(), again.String(), err)
		}
	})
}
