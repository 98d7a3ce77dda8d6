// Command predict holds the prices of tapc to reality: it measures this machine, prices programs on it, runs them, and says how far off the prices
// were. None of the programs has a shape that the machine is measured by.
//
//	go run ./tools/bench/predict [-models FOLDER] [-dir FOLDER] [-rounds 10] [-often 0.1] [-wait 5m] [-threads 1] [-devices] [-plans] [NAME...]
//
// Beside small programs it takes the examples, random graphs, some of all cut into shards, and the ONNX models of a folder. With -devices it takes programs on two devices
// instead, cut and placed by plans. With -plans it takes some graphs, each with several plans, and says of each graph whether prices order its plans as times do.
// With -dir programs, the probes', the measured machine and times stay in that folder, and programs that are there are not made again; -build ends when programs are, and -rounds 0 prices programs
// again beside the machine and the times that are there.
//
// The machine's probes and the programs run in turns, on as many threads as -threads says (two with -devices and -plans); a time is the lower quartile of the rounds' 10th percentiles, and no less than the second least (of two rounds the least). With them it
// prints how far the even and the odd rounds are apart: no price can be held to less. Before and behind each time the cores are looked at: how long each takes for some arithmetic, as a virtual machine whose processor others use, too, is now a slower and now a faster one, and
// how far they are from each other, as one whose cores are moved is another one. Usual is the fastest state of at least so many of all looks as -often says. Until -wait is used up, it is waited for, and what was disturbed is measured
// again; then such times are left out, and made up for by more rounds where a program has less than half of its times.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tensortapestry.org/tapc/backends/cpu"
	"tensortapestry.org/tapc/cost/calibrate"
	"tensortapestry.org/tapc/cost/machine"
)

type settings struct {
	machines       [2]string // files: of the machine as one device, and as two
	tapc           string
	models, dir    string
	build          bool // and no more
	devices, plans bool // what is taken
	rounds         int
	often          float64
	wait           time.Duration
	threads        int64
	names          []string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var s settings
	flag.BoolVar(&s.devices, "devices", false, "programs on two devices")
	flag.BoolVar(&s.plans, "plans", false, "several plans of each of some graphs")
	flag.StringVar(&s.tapc, "tapc", "", "compiler (default: that of this tree is built)")
	flag.StringVar(&s.models, "models", "", "folder of ONNX models")
	flag.StringVar(&s.dir, "dir", "", "folder where programs stay (default: none)")
	flag.BoolVar(&s.build, "build", false, "build the programs alone")
	flag.IntVar(&s.rounds, "rounds", 10, "rounds, at least 2; 0 takes the times of the folder")
	flag.Float64Var(&s.often, "often", 0.1, "part of the time that cores must be in a state for it to be the usual one, if it is the fastest such")
	flag.DurationVar(&s.wait, "wait", 5*time.Minute, "time to wait at most for cores to be as fast as they usually are")
	flag.Int64Var(&s.threads, "threads", 1, "threads that programs run on")
	flag.Parse()
	s.names = flag.Args()
	if err := s.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "predict:", err)
		os.Exit(1)
	}
}

func (s *settings) run(ctx context.Context) error {
	if s.devices || s.plans {
		s.threads = 2
	}
	if s.often <= 0 || s.often > 1 {
		return errors.New("-often is more than 0, and 1 at most")
	}
	if s.rounds == 1 || s.rounds < 0 || s.rounds == 0 && s.dir == "" || s.threads < 1 {
		return errors.New("there are at least 2 rounds, or 0 of a folder with times, and 1 thread")
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
	if err != nil {
		return err
	}
	if s.build {
		_, err = s.probes(ctx)
		return err
	}
	s.machines = [2]string{filepath.Join(s.dir, "machine.yaml"), filepath.Join(s.dir, "machine2.yaml")}
	if s.rounds == 0 {
		list, err = s.read(list)
	} else {
		list, err = s.measure(ctx, list)
	}
	if err != nil {
		return err
	}
	for i := range list {
		if err := s.price(ctx, &list[i]); err != nil {
			return err
		}
	}
	if s.plans {
		printPlans(list)
		return nil
	}
	print(list)
	return nil
}

// probes builds what the machine is measured by.
func (s *settings) probes(ctx context.Context) (*calibrate.Run, error) {
	dir := filepath.Join(s.dir, "probes")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	b := cpu.Backend()
	target, err := b.Native(ctx)
	if err != nil {
		return nil, err
	}
	return calibrate.Begin(ctx, calibrate.Options{Dir: dir, Tapc: s.tapc, Target: target, Devices: 2, Together: int(s.threads), Reuse: true, Often: s.often, Wait: s.wait})
}

// save writes the files of the machine.
func (s *settings) save(run *calibrate.Run) error {
	one, two, err := run.Conclude()
	if err != nil {
		return err
	}
	for i, m := range []*machine.Machine{one, two} {
		var text bytes.Buffer
		if err := m.Write(&text); err != nil {
			return err
		}
		if err := os.WriteFile(s.machines[i], text.Bytes(), 0o666); err != nil {
			return err
		}
	}
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
	if s.devices || s.plans {
		return s.planned()
	}
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
	out, err := output(ctx, s.tapc, append([]string{"cost", r.graph, "--machine=" + s.machines[r.devices/2], fmt.Sprintf("--threads=%d", s.threads), "--json"}, r.flags...)...)
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

// How long a program runs in a round, alone and on several threads.
const (
	perRun   = 6 * time.Millisecond
	together = 40 * time.Millisecond
)

// moreRounds is how many times as many rounds there are at most as are asked for, where more than half of the times of a program are left out.
const moreRounds = 2

// measure runs the probes and the programs in turns, and leaves the times of each in the folder. It gives the programs of which there are times of one machine.
func (s *settings) measure(ctx context.Context, list []result) (measured []result, err error) {
	run, err := s.probes(ctx)
	if err != nil {
		return nil, err
	}
	unusual := func(state calibrate.State) bool { return run.Unusual(state, s.threads) }
	for round := 0; round < s.rounds || round < moreRounds*s.rounds && fewest(list, unusual) < (s.rounds+1)/2; round++ {
		if err := run.Round(ctx); err != nil {
			return nil, err
		}
		for i := range list {
			if err := list[i].run(ctx, run, s.threads); err != nil {
				return nil, err
			}
		}
	}
	if err := s.save(run); err != nil {
		return nil, err
	}
	all, left := 0, 0
	for i := range list {
		r := &list[i]
		n := len(r.times)
		r.keep(unusual)
		all, left = all+n, left+n-len(r.times)
		if len(r.times) < 2 {
			fmt.Printf("%s is left out: only %d of its %d times are of one machine\n", r.name, len(r.times), n)
			continue
		}
		text, err := json.Marshal(r.times)
		if err == nil {
			err = os.WriteFile(s.timesOf(r), text, 0o666)
		}
		if err != nil {
			return nil, err
		}
		measured = append(measured, *r)
	}
	fmt.Printf("%d of %d times are left out: the cores were otherwise apart, or slower or faster\n", left, all)
	if len(measured) == 0 {
		return nil, errors.New("the cores were moved or slower and faster all the time: no program has two times of one machine")
	}
	return measured, nil
}

// run runs a program for a round, the first time to know its time, too.
func (r *result) run(ctx context.Context, run *calibrate.Run, threads int64) error {
	known := calibrate.Best(r.times)
	if known == 0 {
		var err error
		if known, err = run.Time(ctx, r.program, 10, threads); err != nil {
			return err
		}
	}
	t, states, err := run.Sample(ctx, r.program, calibrate.Runs(known, threads, perRun, together), threads)
	if err == nil {
		r.times, r.states = append(r.times, t), append(r.states, states)
	}
	return err
}

// fewest is how many times that count the program has that has fewest.
func fewest(list []result, unusual func(calibrate.State) bool) int {
	least := len(list[0].times)
	for i := range list {
		r := list[i]
		r.keep(unusual)
		least = min(least, len(r.times))
	}
	return least
}

// timesOf is the file of a program's times.
func (s *settings) timesOf(r *result) string {
	return fmt.Sprintf("%s.threads%d.json", r.program, s.threads)
}

// read reads the times of programs.
func (s *settings) read(list []result) (kept []result, err error) {
	for _, r := range list {
		text, err := os.ReadFile(s.timesOf(&r))
		switch {
		case errors.Is(err, fs.ErrNotExist): // it was left out
			continue
		case err == nil:
			err = json.Unmarshal(text, &r.times)
		}
		if err != nil {
			return nil, err
		}
		kept = append(kept, r)
	}
	return kept, nil
}
