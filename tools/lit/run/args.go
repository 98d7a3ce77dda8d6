package run

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"time"

	"tensortapestry.org/tapc/tools/lit/shell"
)

// settings is a parsed command line.
type settings struct {
	paths    []string
	config   Config
	pick     selection
	workers  int
	failures int // stop after so many; 0 is never
	total    time.Duration
	show     display
	root     string
	json     string // file for the results
}

// selection says which of the tests found are run, and in which order.
type selection struct {
	filter, filterOut *regexp.Regexp
	order             string
	shards, shard     int
	list              bool
}

// display says how much is printed.
type display struct {
	verbosity int // -1 only failures' names, 0 names, 1 output of failures, 2 output of all
	succinct  bool
	quiet     bool
	times     bool
}

// command collects the flags that need work after parsing.
type command struct {
	settings
	choice
	features, defines list
	tools, paths      list
	timeout, maxTime  float64
	verbose, all      bool
}

// choice says, as text, which tests run, and which of them are expected to fail.
type choice struct {
	filter, filterOut string
	xfail, xfailNot   list
}

// list is a flag that may be repeated.
type list []string

func (l *list) String() string     { return strings.Join(*l, ",") }
func (l *list) Set(v string) error { *l = append(*l, v); return nil }

// usageText is the head of --help.
const usageText = `usage: lit [options] path...

Runs the tests in files and directories. A test is a file with lines "RUN: command"; see docs/lit.md.
Options are also read from LIT_OPTS, and a filter from LIT_FILTER and LIT_FILTER_OUT.

`

func (c *command) flags(errors io.Writer) *flag.FlagSet {
	f := flag.NewFlagSet("lit", flag.ContinueOnError)
	f.SetOutput(errors)
	f.Usage = func() { io.WriteString(errors, usageText); f.PrintDefaults() }
	f.IntVar(&c.workers, "j", runtime.NumCPU(), "number of tests that run at the same time")
	f.BoolVar(&c.verbose, "v", false, "show the output of tests that fail")
	f.BoolVar(&c.all, "a", false, "show the output of all tests")
	f.BoolVar(&c.show.succinct, "s", false, "show no line for tests that pass")
	f.BoolVar(&c.show.quiet, "q", false, "show only failures")
	f.BoolVar(&c.show.times, "time-tests", false, "show the slowest tests and a histogram")
	f.StringVar(&c.filter, "filter", os.Getenv("LIT_FILTER"), "run only tests whose name matches the `regexp`")
	f.StringVar(&c.filterOut, "filter-out", os.Getenv("LIT_FILTER_OUT"), "run no tests whose name matches the `regexp`")
	f.Var(&c.xfail, "xfail", "`names`, separated by ';', of tests that are expected to fail")
	f.Var(&c.xfailNot, "xfail-not", "`names` that -xfail shall not hold for")
	f.StringVar(&c.pick.order, "order", "smart", "smart (failed ones first, then the slowest), lexical or random")
	f.IntVar(&c.pick.shards, "num-shards", number("LIT_NUM_SHARDS"), "split the tests into `n` parts")
	f.IntVar(&c.pick.shard, "run-shard", number("LIT_RUN_SHARD"), "run only part `i`, from 1")
	f.BoolVar(&c.pick.list, "show-tests", false, "list the tests and stop")
	f.Float64Var(&c.timeout, "timeout", 0, "limit of one test, in `seconds`")
	f.Float64Var(&c.maxTime, "max-time", 0, "limit of the whole run, in `seconds`")
	f.IntVar(&c.failures, "max-failures", 0, "stop after `n` failures")
	f.Var(&c.features, "feature", "`name` of an available feature; may be repeated")
	f.Var(&c.defines, "D", "`name=value`: replace %{name} by value; may be repeated")
	f.Var(&c.tools, "tool", "`name=path` of a program for RUN lines; may be repeated")
	f.Var(&c.paths, "path", "`directory` to search for programs before PATH; may be repeated")
	f.StringVar(&c.config.OutDir, "output-dir", "", "`directory` for temporary files (default: one that is deleted)")
	f.StringVar(&c.root, "root", "", "`directory` that names of tests are relative to (default: the common one)")
	f.StringVar(&c.json, "o", "", "write the results to a JSON `file`")
	f.BoolVar(&c.config.Rewrite, "rewrite", false, "regenerate the CHECK lines of tests with a BLESS line")
	return f
}

func number(variable string) int {
	n, _ := strconv.Atoi(os.Getenv(variable))
	return n
}

// parseArgs reads LIT_OPTS and the arguments.
func parseArgs(args []string, errors io.Writer) (*settings, error) {
	c := &command{}
	f := c.flags(errors)
	args = separate(append(strings.Fields(os.Getenv("LIT_OPTS")), args...))
	for len(args) > 0 { // paths and options may be mixed
		if err := f.Parse(args); err != nil {
			return nil, err
		}
		if args = f.Args(); len(args) > 0 {
			c.settings.paths = append(c.settings.paths, args[0])
			args = args[1:]
		}
	}
	if err := c.finish(); err != nil {
		return nil, err
	}
	return &c.settings, nil
}

var (
	attachedWorkers = regexp.MustCompile(`^-j([0-9]+)$`)
	joinedSwitches  = regexp.MustCompile(`^-[vasq]{2,}$`)
)

// separate takes apart the short forms "-j4" and "-sv".
func separate(args []string) []string {
	var out []string
	for _, arg := range args {
		switch m := attachedWorkers.FindStringSubmatch(arg); {
		case m != nil:
			out = append(out, "-j", m[1])
		case joinedSwitches.MatchString(arg):
			for _, c := range arg[1:] {
				out = append(out, "-"+string(c))
			}
		default:
			out = append(out, arg)
		}
	}
	return out
}

func (c *command) finish() error {
	if len(c.settings.paths) == 0 {
		return fmt.Errorf("no tests given; see lit -help")
	}
	var err error
	if c.filter != "" {
		if c.pick.filter, err = regexp.Compile(c.filter); err != nil {
			return fmt.Errorf("-filter: %w", err)
		}
	}
	if c.filterOut != "" {
		if c.pick.filterOut, err = regexp.Compile(c.filterOut); err != nil {
			return fmt.Errorf("-filter-out: %w", err)
		}
	}
	if c.pick.shards < 0 || c.pick.shards > 0 && (c.pick.shard < 1 || c.pick.shard > c.pick.shards) {
		return fmt.Errorf("-run-shard must be from 1 to -num-shards")
	}
	switch c.pick.order {
	case "smart", "lexical", "random":
	default:
		return fmt.Errorf("-order must be smart, lexical or random, not %q", c.pick.order)
	}
	switch {
	case c.all:
		c.show.verbosity = 2
	case c.verbose:
		c.show.verbosity = 1
	}
	c.workers = max(c.workers, 1)
	c.total = time.Duration(c.maxTime * float64(time.Second))
	c.config.Timeout = time.Duration(c.timeout * float64(time.Second))
	c.config.Features = c.features
	c.config.XFail = without(split(c.xfail), split(c.xfailNot))
	return c.resolve()
}

func split(names list) []string {
	return strings.FieldsFunc(strings.Join(names, ";"), func(r rune) bool { return r == ';' })
}

func without(names, drop []string) []string {
	gone := map[string]bool{}
	for _, n := range drop {
		gone[n] = true
	}
	var out []string
	for _, n := range names {
		if !gone[n] {
			out = append(out, n)
		}
	}
	return out
}

// resolve turns definitions, tools and paths into configuration.
func (c *command) resolve() error {
	for _, d := range c.defines {
		name, value, ok := strings.Cut(d, "=")
		if !ok {
			return fmt.Errorf("-D needs name=value, found %q", d)
		}
		c.config.Substitutions = append(c.config.Substitutions, Substitution{"%{" + name + "}", value})
	}
	c.config.Tools = map[string]shell.Tool{}
	for _, t := range c.tools {
		name, path, ok := strings.Cut(t, "=")
		if !ok {
			return fmt.Errorf("-tool needs name=path, found %q", t)
		}
		abs, err := filepath.Abs(path)
		if err != nil {
			return err
		}
		c.config.Tools[name] = shell.Tool{Path: abs}
	}
	var dirs []string
	for _, dir := range c.paths {
		abs, err := filepath.Abs(dir)
		if err != nil {
			return err
		}
		dirs = append(dirs, abs)
	}
	if dirs != nil {
		dirs = append(dirs, os.Getenv("PATH"))
		c.config.Env = append(c.config.Env, "PATH="+strings.Join(dirs, string(os.PathListSeparator)))
	}
	return nil
}
