package pipeline

import (
	"testing"

	"tensortapestry.org/tapc/ir/diag"
)

// FuzzReplayArguments: the head of a reproducer gives words, or none.
func FuzzReplayArguments(f *testing.F) {
	for _, s := range []string{"// a fault\n" + replayLead + "[\"opt\", \"--passes=cse\"]\ntapc 1\n", replayLead + "[]\n", replayLead + "[1]\n", replayLead, "tapc 1\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if args, ok := ReplayArguments(text); ok == (len(args) == 0) && ok {
			t.Errorf("%q: a command without words", text)
		}
	})
}

// FuzzExpectedRules: lines of rules are read, or refused each with its place.
func FuzzExpectedRules(f *testing.F) {
	for _, s := range []string{"EXPECT-RULE: a/b 2\nNEAR-MISS: c\n", "# EXPECT-RULE: none\n", "EXPECT-RULE: a 0", "EXPECT-RULE:", "EXPECT-RULE: a 99999999999999999999", "NEAR-MISS: a\nEXPECT-RULE: a"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		e, err := ParseExpectedRules("f", text)
		if err == nil && e == nil {
			t.Error("neither rules nor an error")
		}
		for _, d := range diag.FromError(err) {
			if d.Code != codeRules || d.Location.File != "f" {
				t.Errorf("%v", d)
			}
		}
	})
}
