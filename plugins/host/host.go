package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	gorunner "github.com/hashicorp/go-plugin/runner"
	"google.golang.org/grpc"

	"tensortapestry.org/tapc/plugins"
	"tensortapestry.org/tapc/plugins/confine"
	"tensortapestry.org/tapc/plugins/proto"
	"tensortapestry.org/tapc/plugins/stream"
	"tensortapestry.org/tapc/plugins/supervise"
)

// Plugin is a plugin that runs. It may be used by several goroutines. After a fault it is stopped; so it is after a run that
// was cancelled, as nobody can know whether the plugin has stopped working.
type Plugin struct {
	Description *Description

	path string
	name string // for messages: its own name once it is known
	dir  string // its temporary directory
	head []byte // of the file
	opts Options

	life
	client  *goplugin.Client
	service proto.PluginClient
	closing sync.Once
}

// life is what runs, and how it ends.
type life struct {
	child   *supervise.Child
	tail    *tail
	socket  *os.File    // its socket, if that is kept open; not for reading
	flooded atomic.Bool // it wrote too much to standard error
	stopped atomic.Bool // tapc stopped it
	forced  atomic.Bool // it did not end when it was asked to
}

// searchPath is where a plugin's interpreter is looked for.
const searchPath = "/usr/local/bin:/usr/bin:/bin"

// Start runs the program at path and asks it what it provides. The caller must call Close. An error is a *Fault, or the
// context's; then nothing runs any more and nothing is left behind.
func Start(ctx context.Context, path string, opts Options) (*Plugin, error) {
	opts.Limits = opts.Limits.orDefault()
	p := &Plugin{path: path, name: filepath.Base(path), opts: opts}
	if p.opts.Log == nil {
		p.opts.Log = slog.New(slog.DiscardHandler)
	}
	if abs, err := filepath.Abs(path); err == nil {
		p.path = abs
	}
	exe, err := p.openPlugin()
	if err != nil {
		return nil, err
	}
	defer exe.Close()
	if p.dir, err = temporary(); err != nil {
		return nil, p.fault(CannotStart, "", err.Error())
	}
	if err := p.connect(ctx, exe); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// maxSocketDir bounds the length of a directory for plugins' directories: the path of a socket may have 107 bytes, and behind this one stand
// /tapc-plugin-, /plugin-dir and /plugin, each with a number of up to ten digits.
const maxSocketDir = 107 - (13 + 10) - (11 + 10) - (7 + 10)

// temporary makes a plugin's directory.
func temporary() (string, error) {
	base := os.TempDir()
	if len(base) > maxSocketDir {
		base = "/tmp"
	}
	dir, err := os.MkdirTemp(base, "tapc-plugin-")
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(dir)
}

// connect starts the process, and calls it for the first time.
func (p *Plugin) connect(ctx context.Context, exe *os.File) error {
	ctx, cancel := context.WithTimeoutCause(ctx, p.opts.Limits.Start, errStartLimit)
	defer cancel()
	connection, own, err := secure()
	if err != nil {
		return p.fault(CannotStart, "", err.Error())
	}
	var failure error
	unwatch := func() bool { return true }
	defer func() { unwatch() }()
	p.client = goplugin.NewClient(&goplugin.ClientConfig{
		HandshakeConfig:  plugins.Handshake,
		VersionedPlugins: map[int]goplugin.PluginSet{plugins.ProtocolMajor: {plugins.Service: caller{}}},
		RunnerFunc: func(_ hclog.Logger, cmd *exec.Cmd, dir string) (gorunner.Runner, error) {
			var r *attached
			if r, failure = p.launch(ctx, p.environment(append(cmd.Env, "PLUGIN_CLIENT_CERT="+own)), exe, dir); failure != nil {
				return nil, failure
			}
			unwatch = context.AfterFunc(ctx, p.stop) // from here on nothing else ends a call that hangs
			return r, nil
		},
		UnixSocketConfig: &goplugin.UnixSocketConfig{TempDir: p.dir},
		AllowedProtocols: []goplugin.Protocol{goplugin.ProtocolGRPC},
		TLSConfig:        connection, // the plugin's certificate comes with the handshake
		SkipHostEnv:      true,
		StartTimeout:     p.opts.Limits.Start,
		SyncStdout:       io.Discard,
		SyncStderr:       io.Discard,
		Logger:           hclog.NewNullLogger(),
		GRPCDialOptions: []grpc.DialOption{grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(stream.MaxMessage)),
			grpc.WithInitialWindowSize(4 << 20), grpc.WithInitialConnWindowSize(8 << 20)},
	})
	protocol, err := p.client.Client()
	if failure != nil {
		return failure
	}
	if err == nil {
		var raw any
		if raw, err = protocol.Dispense(plugins.Service); err == nil {
			p.service = raw.(proto.PluginClient)
			return p.describe(ctx)
		}
	}
	return p.explain(ctx, "", err)
}

// environment gives the plugin's variables: what the handshake library says and a few harmless ones, nothing of tapc's own.
func (p *Plugin) environment(handshake []string) []string {
	return append([]string{"PATH=" + searchPath, "HOME=" + p.dir, "TMPDIR=" + p.dir, "LANG=C.UTF-8", "TAPC_PLUGIN_PATH=" + p.path,
		"GOMEMLIMIT=" + strconv.FormatInt(p.opts.Limits.Memory/10*9, 10)}, handshake...)
}

// caller is the service as the handshake library sees it.
type caller struct {
	goplugin.NetRPCUnsupportedPlugin
}

// GRPCServer is the plugin's side, which is not here.
func (caller) GRPCServer(*goplugin.GRPCBroker, *grpc.Server) error {
	return errors.New("this is a host, not a plugin")
}

// GRPCClient gives the service.
func (caller) GRPCClient(_ context.Context, _ *goplugin.GRPCBroker, conn *grpc.ClientConn) (any, error) {
	return proto.NewPluginClient(conn), nil
}

// Path is the plugin's file.
func (p *Plugin) Path() string { return p.path }

// Available finds out how this system confines a plugin that was granted nothing, by doing all of it but for the start of a program.
func Available() (confine.State, error) {
	dir, err := temporary()
	if err != nil {
		return confine.State{}, err
	}
	defer os.RemoveAll(dir)
	p := &Plugin{dir: dir, opts: Options{Limits: DefaultLimits()}}
	return supervise.Probe(p.spec(nil, nil, dir))
}

// Confinement says what keeps the plugin in bounds.
func (p *Plugin) Confinement() confine.State { return p.child.Confine }

// Close asks the plugin to end, makes it end if it does not within its grace, and removes what it left. It may be called
// again.
func (p *Plugin) Close() error {
	var err error
	p.closing.Do(func() {
		if p.child != nil {
			timer := time.AfterFunc(p.opts.Limits.Grace, func() {
				p.forced.Store(true)
				p.stop()
			})
			p.client.Kill()
			timer.Stop()
			p.stop()
			<-p.child.Done
		}
		if p.child != nil {
			p.socket.Close() // nil where there is none, as is the folder
			p.child.Folder.Close()
		}
		err = os.RemoveAll(p.dir)
	})
	return err
}

// Forced says, after Close, whether the plugin had to be killed because it did not end within its grace.
func (p *Plugin) Forced() bool { return p.forced.Load() }

// Abandon ends the plugin's standard input, as the death of tapc does, and says whether the plugin ends by itself within a
// time. It is for tests of plugins; nothing but Close may be called afterwards.
func (p *Plugin) Abandon(patience time.Duration) bool {
	p.child.Stdin.Close()
	select {
	case <-p.child.Done:
		return true
	case <-time.After(patience):
		return false
	}
}

// stop ends the plugin by force, for a reason of tapc's.
func (p *Plugin) stop() {
	p.stopped.Store(true)
	p.child.Stop()
}

// end ends the plugin by force and waits, within bounds, until everything that it wrote was read.
func (p *Plugin) end() {
	p.stop()
	select {
	case <-p.child.Done:
	case <-time.After(supervise.Grace):
	}
	select {
	case <-p.tail.done:
	case <-time.After(drainTime): // a stranger holds the pipe
	}
}

// fault makes a fault of this plugin with the last lines that it wrote.
func (p *Plugin) fault(kind Kind, part, detail string) *Fault {
	f := &Fault{Kind: kind, Plugin: fmt.Sprintf("%s (%s)", p.name, p.path), Part: part, Detail: detail}
	if p.tail != nil {
		f.Stderr = p.tail.last()
	}
	return f
}
