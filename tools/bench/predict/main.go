// Command predict holds the prices of tapc to reality: it measures this machine, prices programs on it, runs them, and says how far off the prices
// were. None of the programs has a shape that the machine is measured by.
//
//	go run ./tools/bench/predict [-machine FILE] [-models FOLDER] [-dir FOLDER] [-rounds 5] [NAME...]
//
// Beside small programs it takes the examples, some of the small programs cut into shards, and the ONNX models of a folder. With -dir programs stay in that folder, and
// those that are there are not built again; -build ends when they are.
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
	machine, tapc string
	models, dir   string
	build         bool // and no more
	rounds        int
	threads       int64
	names         []string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var s settings
	flag.StringVar(&s.machine, "machine", "", "machine file (default: this machine is measured first)")
	flag.StringVar(&s.tapc, "tapc", "", "compiler (default: that of this tree is built)")
	flag.StringVar(&s.models, "models", "", "folder of ONNX models")
	flag.StringVar(&s.dir, "dir", "", "folder where programs stay (default: none)")
	flag.BoolVar(&s.build, "build", false, "build the programs alone")
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
	if s.dir == "" {
		dir, err := os.MkdirTemp("", "tapc-predict-")
		if err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(dir) }()
		s.dir = dir
	}
	if s.tapc == "" {
		s.tapc = filepath.Join(s.dir, "tapc")
		if _, err := output(ctx, "go", "build", "-o", s.tapc, "./cmd/tapc"); err != nil {
			return err
		}
	}
	list, err := s.programs(ctx)
	if err != nil || s.build {
		return err
	}
	if s.machine == "" {
		s.machine = filepath.Join(s.dir, "machine.yaml")
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

// programs makes the programs, or those of the names.
func (s *settings) programs(ctx context.Context) (list []result, err error) {
	all, err := s.all()
	if err != nil {
		return nil, err
	}
	for _, r := range all {
		if len(s.names) > 0 && !slices.Contains(s.names, r.name) {
			continue
		}
		r.program = filepath.Join(s.dir, r.name)
		if _, err := os.Stat(r.program); err != nil {
			if _, err := output(ctx, s.tapc, append([]string{"build", r.graph, "-o", r.program}, r.flags...)...); err != nil {
				return nil, err
			}
		}
		list = append(list, r)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("there are no programs of the names %q", s.names)
	}
	return list, nil
}

// all lists the programs, and writes the graphs of those that are made here.
func (s *settings) all() (list []result, err error) {
	for _, g := range programs() {
		graph := filepath.Join(s.dir, g.Name+".tap")
		if err := os.WriteFile(graph, []byte(g.Text()), 0o666); err != nil {
			return nil, err
		}
		list = append(list, result{name: g.Name, group: "small", graph: graph})
		if c := shards[g.Name]; c != "" {
			list = append(list, result{name: g.Name + "-shards", group: "cut", graph: graph, flags: []string{"--shard=" + c}})
		}
	}
	for _, file := range examples {
		list = append(list, result{name: "example-" + strings.Split(filepath.Base(file), ".")[0], group: "example", graph: file})
	}
	models, err := filepath.Glob(filepath.Join(s.models, "*.onnx"))
	for _, file := range models {
		if s.models != "" {
			list = append(list, result{name: strings.TrimSuffix(filepath.Base(file), ".onnx"), group: "network", graph: file})
		}
	}
	return list, err
}

// price asks tapc for the time of a program.
func (s *settings) price(ctx context.Context, r *result) error {
	out, err := output(ctx, s.tapc, append([]string{"cost", r.graph, "--machine=" + s.machine, fmt.Sprintf("--threads=%d", s.threads), "--json"}, r.flags...)...)
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
