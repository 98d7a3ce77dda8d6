// Command predict holds the prices of tapc to reality: it measures this machine, prices programs on it, runs them, and says how far off the prices
// were. None of the programs has a shape that the machine is measured by.
//
//	go run ./tools/bench/predict [-machine FILE] [-rounds 5] [NAME...]
//
// Programs run in turns, on one thread; a time is the best of the rounds' 10th percentiles. With them it prints how far the even and the odd rounds
// are apart: no price can be held to less.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tensortapestry.org/tapc/cost/calibrate"
)

type settings struct {
	machine string
	tapc    string
	rounds  int
	threads int64
	names   []string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var s settings
	flag.StringVar(&s.machine, "machine", "", "machine file (default: this machine is measured first)")
	flag.StringVar(&s.tapc, "tapc", "", "compiler (default: that of this tree is built)")
	flag.IntVar(&s.rounds, "rounds", 5, "rounds, at least 2")
	flag.Int64Var(&s.threads, "threads", 1, "threads that programs run on")
	flag.Parse()
	s.names = flag.Args()
	if err := s.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "predict:", err)
		os.Exit(1)
	}
}

func (s *settings) run(ctx context.Context) error {
	if s.rounds < 2 || s.threads < 1 {
		return errors.New("there are at least 2 rounds and 1 thread")
	}
	dir, err := os.MkdirTemp("", "tapc-predict-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if s.tapc == "" {
		s.tapc = filepath.Join(dir, "tapc")
		if _, err := output(ctx, "go", "build", "-o", s.tapc, "./cmd/tapc"); err != nil {
			return err
		}
	}
	list, err := s.build(ctx, dir)
	if err != nil {
		return err
	}
	if s.machine == "" {
		s.machine = filepath.Join(dir, "machine.yaml")
		if _, err := output(ctx, s.tapc, "calibrate", "-o", s.machine); err != nil {
			return err
		}
	}
	for i := range list {
		if err := s.price(ctx, &list[i]); err != nil {
			return err
		}
	}
	if err := s.measure(ctx, list); err != nil {
		return err
	}
	print(list)
	return nil
}

// output runs a command, and gives what it writes.
func output(ctx context.Context, name string, args ...string) ([]byte, error) {
	c := exec.CommandContext(ctx, name, args...)
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	if err := c.Run(); err != nil {
		return nil, fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, &errs)
	}
	return out.Bytes(), nil
}

// build makes the programs, or those of the names.
func (s *settings) build(ctx context.Context, dir string) (list []result, err error) {
	for _, g := range programs() {
		if len(s.names) > 0 && !slices.Contains(s.names, g.Name) {
			continue
		}
		r := result{name: g.Name, program: filepath.Join(dir, g.Name)}
		if err := calibrate.Build(ctx, s.tapc, g, r.program); err != nil {
			return nil, err
		}
		list = append(list, r)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("there are no programs of the names %q", s.names)
	}
	return list, nil
}

// price asks tapc for the time of a program.
func (s *settings) price(ctx context.Context, r *result) error {
	out, err := output(ctx, s.tapc, "cost", r.program+".tap", "--machine="+s.machine, fmt.Sprintf("--threads=%d", s.threads), "--json")
	if err != nil {
		return err
	}
	var said struct {
		Seconds struct{ Value, Low, High float64 } `json:"seconds"`
	}
	err = json.Unmarshal(out, &said)
	r.predicted = said.Seconds.Value
	return err
}

// perRun is how long a program runs in a round.
const perRun = 20 * time.Millisecond

// measure runs the programs in turns.
func (s *settings) measure(ctx context.Context, list []result) error {
	for range s.rounds {
		for i := range list {
			r := &list[i]
			runs := min(max(int(perRun.Seconds()/r.predicted), 5), 20000)
			t, err := calibrate.Time(ctx, r.program, runs, s.threads)
			if err != nil {
				return err
			}
			r.times = append(r.times, t)
		}
	}
	return nil
}
