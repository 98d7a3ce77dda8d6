package declaration

import (
	"strings"
	"testing"
)

func TestParseEquation(t *testing.T) {
	for _, c := range []struct {
		text, terms, result, fault string
	}{
		{"ij,jk->ik", "ij jk", "ik", ""},
		{" i j , j k ", "ij jk", "ik", ""},
		{"ba,b", "ba b", "a", ""},
		{"...i,i...->...", ".i i.", ".", ""},
		{"...ji", ".ji", ".ij", ""},
		{"ii", "ii", "", ""},
		{"->", "", "", ""},
		{"Ab->A", "Ab", "A", ""},
		{"ij->ik", "", "", "labels of the operands"},
		{"ij->ii", "", "", "each once"},
		{"i...j...->ij", "", "", "one ellipsis"},
		{"i1->i", "", "", "letters"},
		{"i_->i", "", "", "letters"},
		{"i->j->i", "", "", "letters"},
		{"i..->i", "", "", "one ellipsis"},
		{"é->é", "", "", "letters"},
	} {
		q, err := ParseEquation(c.text)
		switch {
		case c.fault != "":
			if err == nil || !strings.Contains(err.Error(), c.fault) {
				t.Errorf("%q: %v, expected an error about %q", c.text, err, c.fault)
			}
		case err != nil:
			t.Errorf("%q: %v", c.text, err)
		case strings.Join(q.Terms, " ") != c.terms || q.Result != c.result:
			t.Errorf("%q is %q to %q", c.text, q.Terms, q.Result)
		}
	}
}
