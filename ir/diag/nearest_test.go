package diag

import (
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	names := []string{"simplify", "shard", "cse", "dce", "lower", "verify"}
	for word, want := range map[string]string{"simplfy": "simplify", "hsard": "shard", "verfiy": "verify", "css": "cse", "lower": "lower",
		"xyzzy": "", "simp": "simplify", "s": "", "l": "", "": "", "x": "", "simplifying": "simplify"} {
		got, ok := Nearest(word, names)
		if got != want || ok != (want != "") {
			t.Errorf("%q: got %q, %v; want %q", word, got, ok, want)
		}
	}
}

func TestUnknown(t *testing.T) {
	names := []string{"shard", "lower", "cse"}
	for word, want := range map[string]string{
		"lwoer": `unknown pass "lwoer": did you mean "lower"?`,
		"xyzzy": `unknown pass "xyzzy": expected one of cse, lower, shard`,
	} {
		if got := Unknown("pass", word, names).Error(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if got := Unknown("pass", "xyzzy", names[:1]).Error(); got != `unknown pass "xyzzy": expected "shard"` {
		t.Error(got)
	}
	if got, ok := Nearest("ba", []string{"bacon", "bargain"}); ok {
		t.Errorf("two names begin with ba, got %q", got)
	}
	if got := Unknown("input", "x", nil).Error(); !strings.HasSuffix(got, "there is none") || names[0] != "shard" {
		t.Errorf("without names: %s; names are now %v", got, names)
	}
}
