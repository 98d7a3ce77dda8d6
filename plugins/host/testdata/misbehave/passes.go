package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"tensortapestry.org/tapc/dialects/application"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/passes/pipeline"
	"tensortapestry.org/tapc/plugins"
)

// well gives a pass that serves well and then does what the name says.
func well(name string) plugins.Pass {
	return plugins.Pass{Name: "pass", Doc: "Do the wrong thing.", Upto: pipeline.ScheduledKernels,
		Options: []pipeline.Option{{Name: "at", Doc: "what is meant", Type: pipeline.String}},
		Run: func(ctx context.Context, p *plugins.Context) error {
			f := runs[name]
			if f == nil {
				return fmt.Errorf("there is no way of misbehaving %q", name)
			}
			return f(ctx, p)
		}}
}

// runs are the things done wrong in the middle of a pass.
var runs = map[string]func(ctx context.Context, p *plugins.Context) error{
	"good":   func(context.Context, *plugins.Context) error { return nil },
	"panics": func(context.Context, *plugins.Context) error { panic("index out of tapestry") },
	"panics-elsewhere": func(context.Context, *plugins.Context) error {
		go func() { panic("in another goroutine") }()
		select {}
	},
	"exits":   func(context.Context, *plugins.Context) error { os.Exit(4); return nil },
	"killed":  func(context.Context, *plugins.Context) error { return syscall.Kill(os.Getpid(), syscall.SIGKILL) },
	"fails":   func(context.Context, *plugins.Context) error { return errors.New("no table for this target") },
	"hangs":   func(ctx context.Context, _ *plugins.Context) error { <-ctx.Done(); return ctx.Err() },
	"deaf":    func(context.Context, *plugins.Context) error { select {} },
	"stopped": func(context.Context, *plugins.Context) error { syscall.Kill(os.Getpid(), syscall.SIGSTOP); select {} },
	"allocates": func(context.Context, *plugins.Context) error {
		var all [][]byte
		for {
			b := make([]byte, 8<<20)
			for i := range b {
				b[i] = byte(i)
			}
			all = append(all, b)
			if len(all) > 1<<20 {
				return errors.New("there is no end to memory")
			}
		}
	},
	"computes": func(context.Context, *plugins.Context) error {
		for x := 1; ; x++ {
			if x == 0 {
				return nil
			}
		}
	},
	"floods": func(context.Context, *plugins.Context) error {
		forever(func() { fmt.Fprintln(os.Stderr, strings.Repeat("x", 1000)) })
		return nil
	},
	"long-line": func(context.Context, *plugins.Context) error {
		forever(func() { fmt.Fprint(os.Stderr, strings.Repeat("x", 1000)) })
		return nil
	},
	"prints-to-stdout": func(context.Context, *plugins.Context) error {
		fmt.Println("1|1|tcp|127.0.0.1:1|grpc|")
		return nil
	},
	"forks": func(_ context.Context, p *plugins.Context) error {
		p.Unchanged()
		return offspring()
	},
	"forks-and-exits": func(context.Context, *plugins.Context) error {
		if err := offspring(); err != nil {
			return err
		}
		os.Exit(0)
		return nil
	},
	"forks-and-waits": func(context.Context, *plugins.Context) error {
		if err := offspring(); err != nil {
			return err
		}
		select {}
	},
	"forks-often": func(context.Context, *plugins.Context) error {
		for {
			if err := offspring(); err != nil {
				return err
			}
		}
	},
	"reports":      report,
	"no-graph-set": func(_ context.Context, p *plugins.Context) error { p.Graph = nil; return nil },

	"reads-file": func(_ context.Context, p *plugins.Context) error { _, err := os.ReadFile(p.Text("at")); return err },
	"writes": func(_ context.Context, p *plugins.Context) error {
		return os.WriteFile(p.Text("at"), []byte("x"), 0o600)
	},
	"network": func(context.Context, *plugins.Context) error {
		c, err := net.Dial("udp", "127.0.0.1:53")
		if err == nil {
			c.Close()
		}
		return err
	},
	"connects": func(_ context.Context, p *plugins.Context) error {
		p.Unchanged()
		_, err := net.Dial("unix", p.Text("at"))
		return err
	},
	"assaults":       assault,
	"fills":          filler(true),
	"fills-nameless": filler(false),
	"executes": func(_ context.Context, p *plugins.Context) error {
		p.Unchanged()
		return exec.Command(p.Text("at")).Run()
	},
	"environment": func(_ context.Context, p *plugins.Context) error {
		return fmt.Errorf("the environment is %s", strings.Join(os.Environ(), " "))
	},

	"bad-dtype": eachNode(func(_ *ir.Graph, t *tensorops.Tensor) bool { t.DType = "float31"; return true }),
	"bad-range": eachNode(func(_ *ir.Graph, o *tensorops.Operation) bool {
		box := o.Inputs.At(0).Sel[0].Range().Clone()
		box.End[0] += 1000
		o.Inputs.At(0).Sel[0].SetRange(box)
		return true
	}),
	"bad-signature": eachNode(func(_ *ir.Graph, o *tensorops.Operation) bool { o.Inputs.SetName(0, "other"); return true }),
	"bad-shard": eachNode(func(_ *ir.Graph, a *application.Application) bool {
		box := a.Outputs.At(0).Sel[0].Range().Clone()
		box.End[0]--
		a.Outputs.At(0).Sel[0].SetRange(box)
		return true
	}),
	"bad-schedule": eachNode(func(_ *ir.Graph, k *schedule.Kernel) bool { k.Loops[0].End--; return true }),
	"bad-order": eachNode(func(_ *ir.Graph, k *schedule.Kernel) bool {
		done := len(k.After) > 0
		k.After = nil
		return done
	}),
	"random": func(_ context.Context, p *plugins.Context) error {
		p.Graph.Add(&tensorops.Note{Message: rand.Text()}, "")
		return nil
	},
	"drops-output": func(_ context.Context, p *plugins.Context) error {
		for n := range p.Graph.Nodes() {
			if o, ok := n.Body.(*tensorops.Operation); ok && o.Kernel == "op:relu" {
				out := o.Outputs.At(0).Sel[0].Tensor
				p.Graph.Remove(n.ID)
				p.Graph.Remove(out)
			}
		}
		return nil
	},
	"other-values": eachNode(func(_ *ir.Graph, o *tensorops.Operation) bool {
		if o.Kernel != "op:relu" {
			return false
		}
		o.Kernel = "op:neg"
		return true
	}),
}

// eachNode changes the first body of a type that the function says yes to.
func eachNode[B ir.Body](change func(*ir.Graph, B) bool) func(context.Context, *plugins.Context) error {
	return func(_ context.Context, p *plugins.Context) error {
		for n := range p.Graph.Nodes() {
			if b, ok := n.Own().(B); ok && change(p.Graph, b) {
				return nil
			}
		}
		return errors.New("the graph has no such node")
	}
}

// report uses every way to report.
func report(_ context.Context, p *plugins.Context) error {
	for n := range p.Graph.Nodes() {
		if _, ok := n.Body.(*tensorops.Operation); !ok {
			continue
		}
		d := diag.Errorf("MIS001", "", p.Graph.At(n, "/body/kernel"), "this \x1b[31mkernel\x1b[0m is not to my taste").Want("beauty", "this")
		d.Severity = diag.Warning
		p.Report(d.WithHint("write a better one"))
	}
	p.Log.With("a", 1).WithGroup("g").Info("half way", "b", "two")
	for i := range 5 {
		p.Progress(i+1, 5, "steps")
		time.Sleep(time.Millisecond)
	}
	p.Count("steps", 5)
	p.Unchanged()
	return nil
}
