package lang_test

import (
	"strings"
	"testing"

	"tensortapestry.org/tapc/ir/lang"
)

var full = lang.Lexicon{Single: true, Dashes: true, Signed: true, Symbols: []string{"<", "<=", "..", "...", ".", "(", ")", ",", "-"}}

func kinds(tokens []lang.Token) string {
	var b strings.Builder
	for _, t := range tokens {
		b.WriteByte("enys."[t.Kind])
	}
	return b.String()
}

// TestTokens has each thing that a language may leave out once with it and once without.
func TestTokens(t *testing.T) {
	plain := lang.Lexicon{Symbols: full.Symbols}
	for _, c := range []struct {
		of   *lang.Lexicon
		text string
		want []string // with kinds behind "/"; or one text, the error
	}{
		{&full, `a-b a -1 1-a`, []string{"a-b/n", "a/n", "-1/y", "1/y", "-/.", "a/n"}},
		{&plain, `a-b a -1`, []string{"a/n", "-/.", "b/n", "a/n", "-/.", "1/y"}},
		{&full, `7..12 1.5e-3 1E+4`, []string{"7/y", "../.", "12/y", "1.5e-3/y", "1E+4/y"}},
		{&full, `<=... <..`, []string{"<=/.", ".../.", "</.", "../."}},
		{&full, `"a\"b" 'a\'`, []string{"a\"b/s", `a\/s`}},
		{&plain, `'a'`, []string{`1:1: unexpected character "'"`}},
		{&full, "# all\n  x # ü\r\n", []string{"x/n"}},
		{&full, "x\n  1.2.3", []string{`2:3: "1.2.3" is not a number`}},
		{&full, "x \"a\n\"", []string{`1:3: a text in quotes does not end on its line, or has an unknown escape`}},
		{&full, `"\q"`, []string{`1:1: a text in quotes does not end on its line, or has an unknown escape`}},
		{&full, "x ü", []string{`1:3: unexpected character "ü"`}},
	} {
		tokens, err := c.of.Scan(c.text)
		var got []string
		if err != nil {
			got = []string{err.Error()}
		}
		for i, t := range tokens[:max(0, len(tokens)-1)] {
			got = append(got, t.Text+"/"+kinds(tokens[i:i+1]))
		}
		if strings.Join(got, " ") != strings.Join(c.want, " ") {
			t.Errorf("%q\n got %q\nwant %q", c.text, got, c.want)
		}
	}
}

func TestCursor(t *testing.T) {
	c, err := full.Cursor("f ( a, b,\n)")
	if err != nil {
		t.Fatal(err)
	}
	if c.Second().Text != "(" || c.Accept("g") || !c.Accept("f") || !c.Continues() || c.Expect("(") != nil {
		t.Fatalf("at %v", c.Peek())
	}
	var names []string
	if err := c.List(")", func() error {
		n, err := c.Want("a name", lang.Name)
		names = append(names, n)
		return err
	}); err != nil || strings.Join(names, "") != "ab" || c.Peek().Kind != lang.End {
		t.Errorf("%v, %q", err, names)
	}
	if got := c.At("x", c.Expect("y")).Error(); got != `x:2:2: expected "y", found the end of the text` {
		t.Error(got)
	}
	if c.Next(); c.Peek().Kind != lang.End || c.Second().Kind != lang.End {
		t.Error("a cursor goes past the end")
	}
}

// TestListNeedsCommas: a name in quotes that is a comma or a bracket is not one.
func TestListNeedsCommas(t *testing.T) {
	for text, want := range map[string]string{
		`a b )`:    `1:3: expected "," or ")", found "b"`,
		`a "," b)`: `1:3: expected "," or ")", found ","`,
		`a ")"`:    `1:3: expected "," or ")", found ")"`,
		`a,`:       `1:3: expected a name, found the end of the text`,
	} {
		c, _ := full.Cursor(text)
		err := c.List(")", func() error {
			_, err := c.Want("a name", lang.Name)
			return err
		})
		if err == nil || c.At("", err).Error() != ":"+want {
			t.Errorf("%s\n got %v\nwant %s", text, err, want)
		}
	}
}

func TestNesting(t *testing.T) {
	c, _ := full.Cursor("")
	if c.Enter(1) != nil || c.Enter(1) == nil {
		t.Error("a bound of one level is not one")
	}
	c.Leave()
	c.Leave()
	if c.Enter(1) != nil {
		t.Error("what was left still counts")
	}
}

// FuzzScan: tokens stand where they say, in order, whatever the text is.
func FuzzScan(f *testing.F) {
	f.Add("rule a-b: x{y: -1.5e3} # c\n => \"q\\n\" 'r'")
	f.Fuzz(func(t *testing.T, text string) {
		tokens, err := full.Scan(text)
		if err != nil {
			return
		}
		lines := strings.Split(text, "\n")
		last := lang.Place{}
		for _, x := range tokens {
			if x.Line < last.Line || x.Line == last.Line && x.Column <= last.Column {
				t.Fatalf("%v stands at %v, after %v", x, x.Place, last)
			}
			if at := lines[x.Line-1][x.Column-1:]; x.Kind != lang.String && x.Kind != lang.End && !strings.HasPrefix(at, x.Text) {
				t.Fatalf("%v is not at %v", x, x.Place)
			}
			last = x.Place
		}
	})
}
