package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"

	"tensortapestry.org/tapc/cost/machine"
	"tensortapestry.org/tapc/tools/bench/search/graphs"
)

// large is a graph that is planned for many devices.
type large struct {
	name    string
	graph   graphs.Transformer
	devices int64 // eight in each node
}

// larges are the rows of the table of docs/performance.md.
var larges = []large{
	{"8B", graphs.Llama8B(32, 1, 4096), 128},
	{"8B", graphs.Llama8B(128, 1, 4096), 128},
	{"8B, batch of 8", graphs.Llama8B(32, 8, 4096), 128},
	{"8B", graphs.Llama8B(32, 1, 4096), 1024},
	{"70B", graphs.Llama70B(80, 1, 4096), 128},
	{"70B", graphs.Llama70B(80, 1, 4096), 1024},
	{"70B", graphs.Llama70B(100, 1, 4096), 10_000},
}

// sizes runs tapc plan on large graphs, once to prove the fastest plan and once for ten seconds, and writes what that took.
func sizes(ctx context.Context, to io.Writer, tapc, only string) error {
	dir, err := os.MkdirTemp("", "search")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if tapc == "" {
		tapc = filepath.Join(dir, "tapc")
		if out, err := exec.CommandContext(ctx, "go", "build", "-o", tapc, "tensortapestry.org/tapc/cmd/tapc").CombinedOutput(); err != nil {
			return fmt.Errorf("building tapc: %w\n%s", err, out)
		}
	}
	fmt.Fprintln(to, "| layers as of Llama | layers | devices | meshes | processor, s | memory, MiB | the fastest plan | points after 10 s |")
	fmt.Fprintln(to, "|---|---:|---:|---:|---:|---:|---|---:|")
	for _, l := range larges {
		if !strings.Contains(l.name, only) {
			continue
		}
		if err := l.measure(ctx, to, tapc, dir); err != nil {
			return fmt.Errorf("%s, %d devices: %w", l.name, l.devices, err)
		}
	}
	return nil
}

// What is read of what tapc plan prints.
var (
	meshesOf  = regexp.MustCompile(`, (\d+) mesh`)
	fastestOf = regexp.MustCompile(`(?m)^time: ([^,]+), and no plan of this space below [^,:]+[,:] (.*)$`)
	pointOf   = regexp.MustCompile(`(?m)^ *\d+  .*$`)
)

func (l *large) measure(ctx context.Context, to io.Writer, tapc, dir string) error {
	graph, nodes := filepath.Join(dir, "graph.tap"), filepath.Join(dir, "machine.yaml")
	if err := os.WriteFile(graph, []byte(l.graph.Text()), 0o600); err != nil {
		return err
	}
	m, err := machine.Preset("16x8xh100")
	if err != nil {
		return err
	}
	m.Localities[0].Members[0].Count = (l.devices + 7) / 8
	var b bytes.Buffer
	if err := m.Write(&b); err != nil {
		return err
	}
	if err := os.WriteFile(nodes, b.Bytes(), 0o600); err != nil {
		return err
	}
	run := func(flags ...string) (string, *os.ProcessState, error) {
		args := append([]string{"plan", graph, "--machine=" + nodes, fmt.Sprintf("--devices=%d", l.devices), "--allow=reassociate"}, flags...)
		c := exec.CommandContext(ctx, tapc, args...)
		var out bytes.Buffer
		c.Stdout, c.Stderr = &out, &out
		if err := c.Run(); err != nil {
			return "", nil, fmt.Errorf("%w: %s", err, out.String())
		}
		return out.String(), c.ProcessState, nil
	}
	proof, state, err := run("--rounds=0")
	if err != nil {
		return err
	}
	searched, _, err := run("--time-budget=10s")
	if err != nil {
		return err
	}
	meshes, fastest := meshesOf.FindStringSubmatch(proof), fastestOf.FindStringSubmatch(proof)
	usage, ok := state.SysUsage().(*syscall.Rusage)
	if meshes == nil || fastest == nil || !ok {
		return fmt.Errorf("no time is in %q", proof)
	}
	fmt.Fprintf(to, "| %s | %d | %d | %s | %.2f | %d | %s, %s | %d |\n", l.name, l.graph.Layers, l.devices, meshes[1],
		(state.UserTime() + state.SystemTime()).Seconds(), usage.Maxrss>>10, fastest[1], fastest[2], len(pointOf.FindAllString(searched, -1)))
	return nil
}
