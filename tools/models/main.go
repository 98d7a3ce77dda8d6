// Command models compiles models out of packages of registries and holds the programs beside ONNX Runtime: docs/models.md is what it found.
//
//	go run ./tools/models -python PYTHON            all of it, PYTHON having onnxruntime, numpy and pip
//	go run ./tools/models -run silero -rounds 5     only the models whose names match, and the page with what is known of the others
//
// pins.json names packages by version and digest; nothing of them is in the repository. Models of the registry "trained" are made by classical/train.py. Each model is fetched, described by "tapc info", built
// and compared; what was found is kept in the folder of -cache, as JSON, so that a machine can be measured in portions. What tapc refuses, or
// what differs, is a row of the page with the reason, and the exit status is 1 if values part.
// Read next: pins.go, fetch.go, measure.go, page.go.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"

	"tensortapestry.org/tapc/internal/outputfile"
)

// settings are the flags.
type settings struct {
	cache, tapc, python, npm, page string
	only                           *regexp.Regexp
	rounds                         int
}

func main() {
	var s settings
	var only string
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	flag.StringVar(&s.cache, "cache", filepath.Join(cache, "tapc-models"), "folder for packages, models and what was found")
	flag.StringVar(&s.tapc, "tapc", "", "tapc; default: built from this source")
	flag.StringVar(&s.python, "python", "python3", "Python with onnxruntime, numpy and pip")
	flag.StringVar(&s.npm, "npm", "npm", "npm")
	flag.StringVar(&s.page, "o", "", "write the page to this file, docs/models.md in the repository")
	flag.StringVar(&only, "run", "", "regular expression: only models with such names")
	flag.IntVar(&s.rounds, "rounds", 5, "rounds in which both sides are timed; 0 compares values alone, and keeps the times known")
	flag.Parse()
	if s.only, err = regexp.Compile(only); err == nil && flag.NArg() > 0 {
		err = fmt.Errorf("unexpected argument %q", flag.Arg(0))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "models:", err)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	parted, err := s.all(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, "models:", err)
		os.Exit(1)
	}
	if parted {
		os.Exit(1)
	}
}

// all goes through the models, and says whether values part.
func (s *settings) all(ctx context.Context) (parted bool, err error) {
	list, err := pins(pinned)
	if err != nil {
		return false, err
	}
	if err := os.MkdirAll(s.cache, 0o700); err != nil {
		return false, err
	}
	if s.tapc == "" {
		s.tapc = filepath.Join(s.cache, "tapc")
		if _, err := command(ctx, "go", "build", "-o", s.tapc, "tensortapestry.org/tapc/cmd/tapc"); err != nil {
			return false, err
		}
	}
	for _, p := range list {
		for _, m := range p.Models {
			if !s.only.MatchString(m.Name) {
				continue
			}
			f, err := s.model(ctx, &p, &m)
			if err != nil {
				return parted, fmt.Errorf("%s: %w", m.Name, err)
			}
			fmt.Printf("%s: %s\n", m.Name, f.summary())
			parted = parted || f.Parts
		}
	}
	if s.page == "" {
		return parted, nil
	}
	rows, err := s.known(list)
	if err != nil {
		return parted, err
	}
	return parted, outputfile.Replace(s.page, 0o644, func(f *os.File) error { _, err := f.Write(page(rows)); return err })
}
