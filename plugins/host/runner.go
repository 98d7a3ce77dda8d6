package host

import (
	"bufio"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"tensortapestry.org/tapc/plugins/confine"
	"tensortapestry.org/tapc/plugins/supervise"
)

// attached is a started plugin as the handshake library sees it. The library gets the handshake, which has been checked, and
// nothing else of the plugin's output.
type attached struct {
	plugin *Plugin
	child  *supervise.Child
	stdout io.ReadCloser
	socket string // an address of its socket
}

// drainTime is how long output may still come after the process has ended. Longer, a stranger holds the pipe.
const drainTime = 500 * time.Millisecond

// spec says how the process is started. Its sockets are to be in a directory of its folder.
func (p *Plugin) spec(exe *os.File, env []string, sockets string) *supervise.Spec {
	l, a := &p.opts.Limits, &p.opts.Access
	return &supervise.Spec{Exe: exe, Env: env, Processes: l.Processes, Patience: l.Start, Task: confine.Task{Path: p.path, Folder: p.dir, Sockets: sockets,
		Runnable: interpreters(p.head, searchPath), Read: a.Read, Write: a.Write, Network: a.Network, Execute: a.Execute,
		Limits: confine.Limits{Memory: l.Memory, FileSize: l.FileSize, CPU: l.CPU, Files: l.Files}, Off: p.opts.off}}
}

// launch starts the process and waits for its handshake. The error is a *Fault or the context's.
func (p *Plugin) launch(ctx context.Context, env []string, exe *os.File, sockets string) (*attached, error) {
	c, err := supervise.Start(p.spec(exe, env, sockets))
	if err != nil {
		return nil, p.fault(CannotStart, "", err.Error())
	}
	p.child = c
	p.tail = newTail(c.Stderr, p.opts.Limits.Stderr, p.opts.Log, func() {
		p.flooded.Store(true)
		c.Stop()
	})
	drained := &drain{r: c.Stdout, done: make(chan struct{})}
	go func() {
		<-c.Done
		c.Stdin.Close()
		patience, stop := context.WithTimeout(context.Background(), drainTime)
		defer stop()
		for _, done := range []chan struct{}{drained.done, p.tail.done} {
			select {
			case <-done:
			case <-patience.Done(): // a stranger holds the pipe
			}
		}
		c.Stdout.Close()
		c.Stderr.Close()
	}()
	out := bufio.NewReaderSize(drained, maxLineLen)
	line, err := p.shake(ctx, c, out)
	if err != nil {
		return nil, err
	}
	go io.Copy(io.Discard, out)
	address, err := p.open(handshakeForm.FindStringSubmatch(line)[4])
	if err != nil {
		p.end()
		return nil, p.fault(Garbage, "", "its address can not be used: "+err.Error())
	}
	return &attached{plugin: p, child: c, stdout: io.NopCloser(strings.NewReader(line + "\n")), socket: address}, nil
}

// open opens the socket at a path, which is in the plugin's folder, and gives an address for it.
func (p *Plugin) open(path string) (string, error) {
	inside, err := filepath.Rel(p.dir, path)
	if err != nil {
		return "", err
	}
	folder := p.child.Folder
	if folder == nil {
		if folder, err = os.Open(p.dir); err != nil {
			return "", err
		}
		defer folder.Close()
	}
	var address string
	p.socket, address, err = openSocket(folder, inside)
	return address, err
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
	<-r.child.Done
	return nil
}

// Kill ends the process and all that it started.
func (r *attached) Kill(context.Context) error {
	r.plugin.stop()
	<-r.child.Done
	return nil
}

// ID gives a word that is not empty.
func (r *attached) ID() string { return "plugin" }

// PluginToHost gives the address of the socket that was checked.
func (r *attached) PluginToHost(network, _ string) (string, string, error) {
	return network, r.socket, nil
}

// HostToPlugin leaves addresses as they are.
func (r *attached) HostToPlugin(network, addr string) (string, string, error) {
	return network, addr, nil
}
