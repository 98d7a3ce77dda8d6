// Command cpu races what tapc builds for this machine's processor against the frameworks people would use instead: NumPy,
// ONNX Runtime, PyTorch (eager and compiled), OpenVINO, XLA, IREE, TVM (untuned) and oneDNN, side by side in one process with
// interleaved rounds.
//
//	go run ./tools/bench/cpu -threads 1,2 gemm softmax mlp
//
// The arguments choose cases by the beginning of their names; none chooses all. Frameworks come as Python wheels in a folder of
// their own (-venv), which -install makes; those that are not there are left out. race.py holds the cases and does the racing;
// this command is also the compiler that it calls: cpu -compile LIB.so GRAPH.tap [WEIGHTS.npz]. With -beside, this command of another
// commit, what that one compiles takes part too:
//
//	git -C OLD checkout COMMIT && (cd OLD && go build -o cpu-old ./tools/bench/cpu)
//	SKIP=torch,onednn go run ./tools/bench/cpu -beside OLD/cpu-old -threads 1
package main

import (
	"context"
	"embed"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"

	"tensortapestry.org/tapc/ir/permission"
)

//go:embed race.py peers.py native
var scripts embed.FS

// wheels are what -install asks pip for.
var wheels = []string{"numpy", "onnx", "onnxruntime", "torch", "openvino", "jax", "iree-base-compiler", "iree-base-runtime", "apache-tvm",
	"onednn-devel-cpu-gomp"}

type settings struct {
	threads string
	seconds float64
	venv    string
	install bool
	compile string
	beside  string
	cpu     string
	allow   permission.Set
	args    []string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var s settings
	venv := ""
	if cache, err := os.UserCacheDir(); err == nil {
		venv = filepath.Join(cache, "tapc-bench", "venv")
	}
	flag.StringVar(&s.threads, "threads", "1,2", "numbers of threads, with commas; a process each")
	flag.Float64Var(&s.seconds, "seconds", 4, "time for a case")
	flag.StringVar(&s.venv, "venv", venv, "Python environment with the frameworks")
	flag.BoolVar(&s.install, "install", false, "make the Python environment first: "+strings.Join(wheels, ", "))
	flag.StringVar(&s.compile, "compile", "", "compile the graph file given to this library, and do nothing else")
	flag.StringVar(&s.beside, "beside", "", "this command of another commit, to race what both compile")
	flag.StringVar(&s.cpu, "cpu", "native", "processor to compile for")
	flag.Func("allow", "what the compiled graph may do to numbers: permissions, with commas between", func(words string) error {
		set, err := permission.Parse(words)
		s.allow |= set
		return err
	})
	flag.BoolFunc("fast-math", "allow "+permission.FastMath.String(), func(string) error {
		s.allow |= permission.FastMath
		return nil
	})
	flag.Parse()
	s.args = flag.Args()
	if err := run(ctx, s); err != nil {
		fmt.Fprintln(os.Stderr, "cpu:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, s settings) error {
	if s.compile != "" {
		if len(s.args) < 1 || len(s.args) > 2 {
			return fmt.Errorf("-compile LIB.so takes GRAPH.tap and at most one file of weights")
		}
		return compile(ctx, s)
	}
	python := filepath.Join(s.venv, "bin", "python")
	if s.install {
		if err := command(ctx, "python3", "-m", "venv", s.venv).Run(); err != nil {
			return fmt.Errorf("a Python environment: %w", err)
		}
		if err := command(ctx, python, append([]string{"-m", "pip", "install", "-q"}, wheels...)...).Run(); err != nil {
			return fmt.Errorf("pip: %w", err)
		}
	}
	if _, err := os.Stat(python); err != nil {
		return fmt.Errorf("no Python in %s; make it with -install", s.venv)
	}
	dir, err := os.MkdirTemp("", "tapc-race-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if err := os.CopyFS(dir, scripts); err != nil {
		return err
	}
	script := filepath.Join(dir, "race.py")
	if s.beside != "" {
		if s.beside, err = filepath.Abs(s.beside); err != nil {
			return err
		}
	}
	for _, threads := range strings.Split(s.threads, ",") {
		c := command(ctx, python, append([]string{script, self, threads, fmt.Sprint(s.seconds), s.cpu}, s.args...)...)
		c.Dir = dir
		c.Env = append(c.Env, "BESIDE="+s.beside)
		for _, v := range []string{"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"} {
			c.Env = append(c.Env, v+"="+threads)
		}
		if err := c.Run(); err != nil {
			return err
		}
	}
	return nil
}

// command makes a command with this one's streams.
func command(ctx context.Context, name string, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, name, args...)
	c.Stdout, c.Stderr, c.Env = os.Stdout, os.Stderr, os.Environ()
	return c
}
