package run

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"time"
)

// dirConfig is the content of a file lit.json: what holds for the tests of its directory and those below.
type dirConfig struct {
	Suffixes      []string          `json:"suffixes"`      // replaces the suffixes of test files
	Excludes      []string          `json:"excludes"`      // replaces the excluded names
	Features      []string          `json:"features"`      // adds features
	Substitutions map[string]string `json:"substitutions"` // adds substitutions, before the others
	Environment   map[string]string `json:"environment"`   // sets variables
	Unsupported   bool              `json:"unsupported"`   // no test is run
	Requires      []string          `json:"requires"`      // adds to the REQUIRES of every test
	Passes        *int              `json:"passes"`        // replaces Config.Passes
	Timeout       float64           `json:"timeout"`       // replaces Config.Timeout, in seconds
}

// configName is the name of a directory's configuration.
const configName = "lit.json"

// sniff is how much of a file is searched for a RUN line.
const sniff = 8 << 10

// Discover finds the tests in a file or a directory and what is below it, sorted by name. Names are relative to root,
// which must contain path.
func Discover(root, path string, cfg Config) ([]Test, error) {
	cfg.Excludes = append(slices.Clone(cfg.Excludes), "Inputs", "Output")
	var err error
	for _, p := range []*string{&root, &path, &cfg.OutDir} {
		if *p, err = filepath.Abs(*p); err != nil {
			return nil, err
		}
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	d := &discovery{root: root}
	dir := path
	if !info.IsDir() {
		dir = filepath.Dir(path)
	}
	own, local, err := d.above(dir, &cfg, dirConfig{})
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		err = d.walk(path, own, local)
	} else {
		err = d.file(path, own, local, true)
	}
	sort.Slice(d.tests, func(i, j int) bool { return d.tests[i].Name < d.tests[j].Name })
	return d.tests, err
}

type discovery struct {
	root  string
	tests []Test
}

// above applies the configurations of the directories from root down to dir.
func (d *discovery) above(dir string, cfg *Config, local dirConfig) (*Config, dirConfig, error) {
	rel, err := filepath.Rel(d.root, dir)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return nil, local, fmt.Errorf("%s is not inside of %s", dir, d.root)
	}
	at := d.root
	cfg, local, err = configure(at, cfg, local)
	for _, name := range strings.Split(rel, string(filepath.Separator)) {
		if name == "." || err != nil {
			continue
		}
		at = filepath.Join(at, name)
		cfg, local, err = configure(at, cfg, local)
	}
	return cfg, local, err
}

// configure adds the configuration of a directory, if it has one.
func configure(dir string, cfg *Config, local dirConfig) (*Config, dirConfig, error) {
	data, err := os.ReadFile(filepath.Join(dir, configName))
	if errors.Is(err, fs.ErrNotExist) {
		return cfg, local, nil
	}
	if err != nil {
		return nil, local, err
	}
	var own dirConfig
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&own); err != nil {
		return nil, local, fmt.Errorf("%s: %w", filepath.Join(dir, configName), err)
	}
	out := *cfg
	if own.Suffixes != nil {
		out.Suffixes = own.Suffixes
	}
	if own.Excludes != nil {
		out.Excludes = own.Excludes
	}
	if own.Passes != nil {
		out.Passes = *own.Passes
	}
	if own.Timeout > 0 {
		out.Timeout = time.Duration(own.Timeout * float64(time.Second))
	}
	out.Features = slices.Concat(cfg.Features, own.Features)
	out.Substitutions = slices.Concat(sortedPairs(own.Substitutions), cfg.Substitutions)
	out.Env = slices.Clone(cfg.Env)
	for _, e := range sortedPairs(own.Environment) {
		out.Env = append(out.Env, e.From+"="+e.To)
	}
	local.Unsupported = local.Unsupported || own.Unsupported
	local.Requires = slices.Concat(local.Requires, own.Requires)
	return &out, local, nil
}

// sortedPairs returns a map as a list, longer names first so that none hides another.
func sortedPairs(m map[string]string) []Substitution {
	var out []Substitution
	for from, to := range m {
		out = append(out, Substitution{from, to})
	}
	sort.Slice(out, func(i, j int) bool {
		a, b := out[i].From, out[j].From
		if len(a) != len(b) {
			return len(a) > len(b)
		}
		return a < b
	})
	return out
}

// walk adds the tests of a directory whose configuration is applied already, and of those below.
func (d *discovery) walk(dir string, cfg *Config, local dirConfig) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := e.Name()
		if strings.HasPrefix(name, ".") || slices.Contains(cfg.Excludes, name) || name == configName {
			continue
		}
		path := filepath.Join(dir, name)
		if !e.IsDir() {
			if err := d.file(path, cfg, local, false); err != nil {
				return err
			}
			continue
		}
		below, own, err := configure(path, cfg, local)
		if err != nil {
			return err
		}
		if err := d.walk(path, below, own); err != nil {
			return err
		}
	}
	return nil
}

// file adds a file if it is a test. One that was named is a test in any case.
func (d *discovery) file(path string, cfg *Config, local dirConfig, named bool) error {
	is := named || slices.ContainsFunc(cfg.Suffixes, func(s string) bool { return strings.HasSuffix(path, s) })
	if !is && len(cfg.Suffixes) == 0 {
		var err error
		if is, err = hasRun(path); err != nil {
			return err
		}
	}
	if !is {
		return nil
	}
	rel, err := filepath.Rel(d.root, path)
	if err != nil {
		return err
	}
	d.tests = append(d.tests, Test{Name: filepath.ToSlash(rel), Path: path, cfg: cfg, dir: local})
	return nil
}

// hasRun tells whether a regular text file has a RUN line near its start.
func hasRun(path string) (bool, error) {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return false, nil // a dangling link or a device is no test
	}
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	head, err := io.ReadAll(io.LimitReader(f, sniff))
	if err != nil || bytes.IndexByte(head, 0) >= 0 {
		return false, err
	}
	for line := range bytes.Lines(head) {
		if m := keyword.FindSubmatch(line); m != nil && string(m[1]) == "RUN:" {
			return true, nil
		}
	}
	return false, nil
}
