package check

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"unicode"
)

// Command is one invocation of the filecheck command. Paths are relative to Dir; Getenv reads the environment, of
// which FILECHECK_OPTS gives options that come before Args.
type Command struct {
	Name   string // for messages; empty means FileCheck
	Args   []string
	Dir    string
	Getenv func(string) string
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
}

// maxInput bounds what is read of a file or a pipe.
const maxInput = 1 << 30

// Main runs the command and returns its exit status.
func Main(c Command) int {
	if c.Name == "" {
		c.Name = "FileCheck"
	}
	inv, err := parseArgs(c)
	if err != nil {
		fmt.Fprintf(c.Stderr, "%s: %s\n", c.Name, err)
		return 1 // the status of LLVM's option parser, unlike the other kinds of wrong usage
	}
	switch {
	case inv.help:
		fmt.Fprint(c.Stdout, usage(c.Name))
		return 0
	case inv.version:
		fmt.Fprintln(c.Stdout, versionText)
		return 0
	case inv.opts.Dump.Mode == dumpHelp:
		fmt.Fprint(c.Stdout, dumpHelpText)
		return 0
	case inv.checkFile == "":
		fmt.Fprintln(c.Stderr, "<check-file> not specified")
		return StatusError
	}
	report := inv.execute(c)
	io.WriteString(c.Stderr, report.Text)
	return report.Status
}

// Invocation is what a command line asks for. "-" is standard input; CheckFile is empty if there is nothing to check.
type Invocation struct {
	Options   Options
	CheckFile string
	InputFile string
}

// Inspect parses a command line as Main would, without running it.
func Inspect(c Command) (Invocation, error) {
	inv, err := parseArgs(c)
	if err != nil {
		return Invocation{}, err
	}
	return Invocation{inv.opts, inv.checkFile, inv.inputFile}, nil
}

// invocation is a parsed command line.
type invocation struct {
	opts      Options
	checkFile string
	inputFile string
	help      bool
	version   bool
	modeRank  int // of the strongest --dump-input so far
	context   int // the greatest --dump-input-context so far
}

func (inv *invocation) execute(c Command) Report {
	checks, err := c.read(inv.checkFile)
	if err != nil {
		return refusal(fmt.Sprintf("Could not open check file '%s': %s", inv.checkFile, err))
	}
	if inv.checkFile == "-" {
		checks.Name = "<stdin>"
	}
	load := func() (Text, error) {
		input, err := c.read(inv.inputFile)
		if inv.inputFile == "-" {
			input.Name = "<stdin>"
		}
		if err != nil {
			return input, fmt.Errorf("Could not open input file '%s': %s", input.Name, err)
		}
		return input, nil
	}
	line := strings.Join(append([]string{c.Name}, c.Args...), " ")
	return run(inv.opts, checks, load, line)
}

func refusal(text string) Report {
	return Report{StatusError, text + "\n", []Diagnostic{{Severity: "error", Message: text}}}
}

// read reads a file, or standard input for "-".
func (c Command) read(name string) (Text, error) {
	if name == "-" {
		data, err := readAll(c.Stdin)
		return Text{name, data}, err
	}
	path := name
	if !filepath.IsAbs(path) {
		path = filepath.Join(c.Dir, path)
	}
	f, err := os.Open(path)
	if err != nil {
		return Text{Name: name}, reason(err)
	}
	defer f.Close()
	data, err := readAll(f)
	return Text{name, data}, reason(err)
}

func readAll(r io.Reader) ([]byte, error) {
	if r == nil {
		return nil, nil
	}
	data, err := io.ReadAll(io.LimitReader(r, maxInput+1))
	if len(data) > maxInput {
		return nil, errors.New("File too large")
	}
	return data, err
}

// reason reduces a file error to the operating system's words.
func reason(err error) error {
	var errno syscall.Errno
	if !errors.As(err, &errno) {
		return err
	}
	text := []rune(errno.Error())
	text[0] = unicode.ToUpper(text[0])
	return errors.New(string(text))
}
