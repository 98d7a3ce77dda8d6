package flagfiles

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"tensortapestry.org/tapc/cmd/tapc/flagnames"
	"tensortapestry.org/tapc/ir/diag"
)

// command gives the flags of a command that reads a plan, values by name and a frontier, and writes files and folders.
func command(t *testing.T, args ...string) *pflag.FlagSet {
	t.Helper()
	fs := pflag.NewFlagSet("command", pflag.ContinueOnError)
	for _, name := range []string{"plan", "resume", "frontier", "trace", "output", "dump-dir", "data-dir"} {
		fs.String(name, "", "")
	}
	fs.StringArray("input", nil, "")
	fs.StringArray("write", nil, "")
	flagnames.Texts(fs, "plan", "resume")
	flagnames.Entries(fs, "input", "write")
	flagnames.Files(fs, flagnames.Written, "frontier", "trace", "write")
	flagnames.Files(fs, flagnames.Placed, "output")
	flagnames.Files(fs, flagnames.Folder, "dump-dir", "data-dir")
	if err := fs.Parse(args); err != nil {
		t.Fatal(err)
	}
	return fs
}

func TestCheck(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"graph", "plan", "x"} {
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir("folder", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("graph", "link"); err != nil {
		t.Fatal(err)
	}
	here, err := filepath.Abs("new")
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []struct {
		args []string
		says string
	}{
		{[]string{"--output=new", "--trace=new"}, "--output new and --trace new write the same file"},
		{[]string{"--output=new", "--trace=./folder/../new"}, "write the same file"},
		{[]string{"--output=new", "--trace=" + here}, "write the same file"},
		{[]string{"--output=-", "--trace=-"}, "write the same file"},
		{[]string{"--write=y=new", "--write=z=./new"}, "write the same file"},
		{[]string{"--output=graph"}, "the output graph is a file that is read"},
		{[]string{"--trace=link"}, "the output link is a file that is read"},
		{[]string{"--plan=plan", "--frontier=./plan"}, "the output ./plan is a file that is read"},
		{[]string{"--input=v=x", "--write=w=x"}, "the output x is a file that is read"},
		{[]string{"--trace=folder"}, "--trace: folder: expected a regular file or none there, found a directory"},
		{[]string{"--trace=none/new"}, "--trace: none/new: no such file or directory"},
		{[]string{"--trace=x/new"}, "--trace: x/new: not a directory"},
		{[]string{"--dump-dir=x"}, "--dump-dir x: expected a folder, found a file"},
		{[]string{"--data-dir=none"}, "--data-dir: none: no such file or directory"},
	} {
		err := Check(command(t, bad.args...), []string{"graph"})
		if err == nil || !strings.Contains(err.Error(), bad.says) || diag.ExitStatus(err) != diag.ExitUsage {
			t.Errorf("%q: got %v, want %q", bad.args, err, bad.says)
		}
	}
	for _, good := range [][]string{
		nil,
		{"--output=new", "--trace=new2", "--frontier=x"},
		{"--output=folder/new", "--trace=new"},
		{"--output=folder"},       // for the command to say
		{"--output=none/folder/"}, // which it makes
		{"--resume=x", "--frontier=x"},
		{"--trace=/dev/null", "--output=/dev/null"},
		{"--dump-dir=folder"}, {"--dump-dir=none"},
		{"--write=new"},
	} {
		if err := Check(command(t, good...), []string{"graph"}); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	if left, err := os.ReadDir("."); err != nil || len(left) != 5 {
		t.Errorf("there are files now: %v, %v", left, err)
	}
}
