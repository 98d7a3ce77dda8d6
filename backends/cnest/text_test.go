package cnest

import "testing"

func TestBare(t *testing.T) {
	for text, want := range map[string]string{"(a == b)": "a == b", "(a) == (b)": "(a) == (b)", "f(a)": "f(a)", "((a) + (b))": "(a) + (b)", "a": "a"} {
		if got := Bare(text); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}
