package host

import (
	"bufio"
	"context"
	"io"
	"os"
	"strings"
	"sync"
	"time"
)

// attached is a started plugin as the handshake library sees it. The library gets the handshake, which has been checked, and
// nothing else of the plugin's output.
type attached struct {
	plugin *Plugin
	child  *child
	stdout io.ReadCloser
}

// drainTime is how long output may still come after the process has ended. Longer, a stranger holds the pipe.
const drainTime = 500 * time.Millisecond

// launch starts the process and waits for its handshake. The error is a *Fault or the context's.
func (p *Plugin) launch(ctx context.Context, env []string, exe *os.File) (*attached, error) {
	c, err := start(&spec{exe: exe, path: p.path, env: env, dir: p.dir, limits: p.opts.Limits, access: p.opts.Access,
		runnable: interpreters(p.head, searchPath)})
	if err != nil {
		return nil, p.fault(CannotStart, "", err.Error())
	}
	p.child = c
	p.tail = newTail(c.stderr, p.opts.Limits.Stderr, p.opts.Log, func() {
		p.flooded.Store(true)
		c.stop()
	})
	drained := &drain{r: c.stdout, done: make(chan struct{})}
	go func() {
		<-c.done
		c.stdin.Close()
		patience, stop := context.WithTimeout(context.Background(), drainTime)
		defer stop()
		for _, done := range []chan struct{}{drained.done, p.tail.done} {
			select {
			case <-done:
			case <-patience.Done(): // a stranger holds the pipe
			}
		}
		c.stdout.Close()
		c.stderr.Close()
	}()
	out := bufio.NewReaderSize(drained, maxLineLen)
	line, err := p.shake(ctx, c, out)
	if err != nil {
		return nil, err
	}
	go io.Copy(io.Discard, out)
	return &attached{plugin: p, child: c, stdout: io.NopCloser(strings.NewReader(line + "\n"))}, nil
}

// drain notes the end of a stream, so that nobody closes it before all of it was read.
type drain struct {
	r    io.Reader
	done chan struct{}
	once sync.Once
}

// Read reads, and notes the end.
func (d *drain) Read(p []byte) (int, error) {
	n, err := d.r.Read(p)
	if err != nil {
		d.once.Do(func() { close(d.done) })
	}
	return n, err
}

// Start does nothing: the process runs already.
func (r *attached) Start(context.Context) error { return nil }

// Diagnose says nothing: faults explain themselves.
func (r *attached) Diagnose(context.Context) string { return "" }

// Stdout gives the handshake.
func (r *attached) Stdout() io.ReadCloser { return r.stdout }

// Stderr gives nothing: the plugin's tail reads it.
func (r *attached) Stderr() io.ReadCloser { return io.NopCloser(strings.NewReader("")) }

// Name gives the plugin's path.
func (r *attached) Name() string { return r.plugin.path }

// Wait waits for the end of the process and all that it started.
func (r *attached) Wait(context.Context) error {
	<-r.child.done
	return nil
}

// Kill ends the process and all that it started.
func (r *attached) Kill(context.Context) error {
	r.plugin.stop()
	<-r.child.done
	return nil
}

// ID gives a word that is not empty.
func (r *attached) ID() string { return "plugin" }

// PluginToHost leaves addresses as they are.
func (r *attached) PluginToHost(network, addr string) (string, string, error) {
	return network, addr, nil
}

// HostToPlugin leaves addresses as they are.
func (r *attached) HostToPlugin(network, addr string) (string, string, error) {
	return network, addr, nil
}
