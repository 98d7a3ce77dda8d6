package arguments

import (
	"errors"
	"io"
	"testing"

	"github.com/spf13/cobra"

	"tensortapestry.org/tapc/ir/diag"
)

func TestGuard(t *testing.T) {
	run := func(words ...string) error {
		root := &cobra.Command{Use: "tool", SilenceErrors: true, SilenceUsage: true}
		root.SetOut(io.Discard)
		done := func(*cobra.Command, []string) error { return nil }
		root.AddCommand(&cobra.Command{Use: "two A B", Args: cobra.ExactArgs(2), RunE: done, DisableFlagsInUseLine: true}, &cobra.Command{Use: "none", Args: cobra.NoArgs, RunE: done, DisableFlagsInUseLine: true},
			&cobra.Command{Use: "own", Args: func(*cobra.Command, []string) error { return diag.Usage("own words") }, RunE: done})
		Guard(root, func(_ *cobra.Command, words []string) error { return errors.New("unknown " + words[0]) })
		root.SetArgs(words)
		return root.Execute()
	}
	for _, x := range []struct {
		says  string
		words []string
	}{
		{"", []string{"two", "a", "b"}}, {"", []string{"none"}}, {"", []string{"help"}}, {"", []string{"help", "two"}},
		{"tool two: expected tool two A B, found nothing behind it", []string{"two"}},
		{`tool two: expected tool two A B, found "a"`, []string{"two", "a"}},
		{`tool none: expected tool none, found "x"`, []string{"none", "x"}},
		{"own words", []string{"own"}},
		{"unknown nothing", []string{"help", "nothing"}},
		{"", []string{"completion"}}, {"", []string{"completion", "zsh"}},
		{`there is no script for the shell "tcsh": expected one for bash, fish, powershell, zsh`, []string{"completion", "tcsh"}},
		{`tool completion bash: expected tool completion bash, found "more"`, []string{"completion", "bash", "more"}},
	} {
		if err := run(x.words...); err == nil && x.says != "" || err != nil && err.Error() != x.says {
			t.Errorf("%q: got %v, want %s", x.words, err, x.says)
		}
	}
}
