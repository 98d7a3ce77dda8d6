package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"tensortapestry.org/tapc/backends"
	"tensortapestry.org/tapc/cmd/tapc/flagnames"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/internal/release"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/passes/pipeline"
	"tensortapestry.org/tapc/passes/standard"
	"tensortapestry.org/tapc/plugins/explore"
	"tensortapestry.org/tapc/plugins/host"
	"tensortapestry.org/tapc/plugins/installed"
)

// PluginFlags are the flags of commands that use plugins.
type PluginFlags struct {
	paths   []string
	locked  bool
	timeout time.Duration
	memory  int64
}

func (f *PluginFlags) Add(fs *pflag.FlagSet) {
	d := host.DefaultLimits()
	fs.StringArrayVar(&f.paths, "plugin", nil, "use the plugin at this path besides those that are installed (repeatable)")
	flagnames.Texts(fs, "plugin")
	fs.BoolVar(&f.locked, "locked", false, "use no plugin whose file is not the one in tapc.lock")
	fs.DurationVar(&f.timeout, "plugin-timeout", d.Run, "time that a pass or back end of a plugin may take")
	fs.Int64Var(&f.memory, "plugin-memory", d.Memory>>20, "memory that a plugin may use, in MiB")
}

// Arguments gives the flags again, for a file that repeats a fault.
func (f *PluginFlags) Arguments() []string {
	var args []string
	for _, path := range f.paths {
		args = append(args, "--plugin="+path)
	}
	d := host.DefaultLimits()
	if f.timeout != d.Run {
		args = append(args, "--plugin-timeout="+f.timeout.String())
	}
	if f.memory != d.Memory>>20 {
		args = append(args, fmt.Sprintf("--plugin-memory=%d", f.memory))
	}
	return args
}

// pluginSet is what the plugins of a run provide.
type pluginSet struct {
	base     *kernels.Library // tapc's kernels and those of --kernels
	lib      *kernels.Library // and those of the plugins
	rows     []pipeline.Pass
	backends backends.List
	running  []*host.Plugin

	Searching []explore.Source // those that take part in searches
	mu        sync.Mutex       // of running
}

// StartPlugins makes known what the plugins of the project, the user and the command line provide; of two with one name, the
// last counts. Those of the command line are started to ask them; those that are installed, when they are used.
func (a *App) StartPlugins(ctx context.Context, f *PluginFlags, log *slog.Logger) error {
	if f.timeout <= 0 {
		return diag.Usage("--plugin-timeout=%v: expected more than 0", f.timeout)
	}
	if f.memory < 64 || f.memory > math.MaxInt64>>20 {
		return diag.Usage("--plugin-memory=%d: expected 64 MiB or more", f.memory)
	}
	opts := host.Options{Version: release.Version, Log: log, Limits: host.Limits{Run: f.timeout, Memory: f.memory << 20}}
	if log != nil {
		opts.Progress = func(plugin, part string, done, total uint64, text string) {
			log.Debug("progress", "plugin", plugin, "part", part, "done", done, "total", total, "of", text)
		}
	}
	found, err := fromLocks(opts)
	if err != nil {
		return err
	}
	for _, path := range f.paths {
		s, err := a.development(ctx, path, f.locked, found, opts)
		if err != nil {
			return err
		}
		found = slices.DeleteFunc(found, func(old Usable) bool { return old.About.Name == s.About.Name })
		found = append(found, *s)
	}
	return a.Plugins.Provide(found, a.Report)
}

// Usable is a plugin that can be used: what it provides and how to get it running.
type Usable struct {
	About *host.Description
	Open  func(context.Context) (*host.Plugin, error)
	from  string // of the lock file; "" for one that runs already
}

// Places gives where plugins are installed, the user's place first.
func Places() ([]installed.Place, error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, diag.Fault("%w", err)
	}
	list := []installed.Place{installed.ProjectPlace(dir)}
	if user, err := installed.UserPlace(); err == nil {
		list = slices.Insert(list, 0, user)
	}
	return list, nil
}

// fromLocks gives the plugins of the lock files.
func fromLocks(opts host.Options) ([]Usable, error) {
	all, err := Places()
	if err != nil {
		return nil, err
	}
	var found []Usable
	for _, place := range all {
		lock, err := installed.ReadLock(place.Lock)
		if err != nil {
			return nil, err
		}
		for i := range lock.Plugins {
			l := &lock.Plugins[i]
			about, err := l.Description()
			if err != nil {
				return nil, err
			}
			found = slices.DeleteFunc(found, func(old Usable) bool { return old.About.Name == l.Name })
			open := func(ctx context.Context) (*host.Plugin, error) { return place.Open(ctx, l, opts) }
			found = append(found, Usable{about, open, place.Lock})
		}
	}
	return found, nil
}

// development starts a plugin of the command line. If it stands for one that is installed, it says so.
func (a *App) development(ctx context.Context, path string, locked bool, found []Usable, opts host.Options) (*Usable, error) {
	same, err := lockedAs(path)
	switch {
	case err != nil && !errors.Is(err, os.ErrNotExist):
		return nil, err
	case locked && same == nil:
		return nil, &host.Fault{Kind: host.WrongDigest, Plugin: path, Detail: "no lock file has its digest", Hint: "tapc plugin install " + path}
	case same != nil:
		opts.Digest, opts.Access = same.SHA256[installed.System()], same.Access
	default:
		if opts.Access, err = installed.ReadManifest(path); err != nil {
			return nil, err
		}
	}
	p, err := host.Start(ctx, path, opts)
	if err != nil {
		return nil, err
	}
	a.Plugins.keep(p)
	if i := slices.IndexFunc(found, func(old Usable) bool { return old.About.Name == p.Description.Name }); i >= 0 && same == nil {
		d := diag.Diagnostic{Severity: diag.Remark, Message: fmt.Sprintf("plugin %s: %s is used in place of version %s, which %s has (development override)",
			p.Description.Name, path, found[i].About.Version, found[i].from)}
		for _, line := range opts.Access.Lines() {
			d = d.WithNote(diag.Location{}, "it may %s, as its manifest asks", line)
		}
		a.Report(diag.List{d})
	}
	return &Usable{About: p.Description, Open: func(context.Context) (*host.Plugin, error) { return p, nil }}, nil
}

// lockedAs gives the entry of a lock file that has a file's digest, or nil.
func lockedAs(path string) (*installed.Locked, error) {
	digest, err := host.Digest(path)
	if err != nil {
		return nil, err
	}
	all, err := Places()
	if err != nil {
		return nil, err
	}
	return installed.WithDigest(all, digest)
}

// Provide makes the rows, kernels and back ends of plugins.
func (s *pluginSet) Provide(found []Usable, report func(diag.List)) error {
	s.lib, s.rows, s.backends = nil, nil, OwnBackends()
	s.lib = s.Library()
	for _, x := range found {
		var err error
		if s.lib, err = host.Library(x.About, s.lib); err != nil {
			return err
		}
	}
	for _, x := range found {
		open := s.once(x.Open)
		rows, err := host.Rows(x.About, open, s.lib)
		if err != nil {
			return err
		}
		s.rows, s.Searching = append(s.rows, rows...), append(s.Searching, explore.Source{About: x.About, Open: open})
		for _, b := range x.About.Backends {
			s.backends = append(s.backends, pluginBackend(b, x.About.Name, open, report))
		}
	}
	if err := s.Table().Validate(); err != nil {
		return diag.Fault("the passes of the plugins do not go with tapc's: %v", err)
	}
	if err := s.backends.Validate(); err != nil {
		return diag.Fault("the back ends of the plugins do not go with tapc's: %v", err)
	}
	return nil
}

// List gives tapc's back ends, and those of the plugins.
func (s *pluginSet) List() backends.List {
	if s.backends == nil {
		s.backends = OwnBackends()
	}
	return s.backends
}

// once makes an opener that starts a plugin when it is first called, and keeps it for the end of the run.
func (s *pluginSet) once(open func(context.Context) (*host.Plugin, error)) host.Opener {
	var mu sync.Mutex
	var p *host.Plugin
	return func(ctx context.Context) (*host.Plugin, error) {
		mu.Lock()
		defer mu.Unlock()
		if p != nil {
			return p, nil
		}
		started, err := open(ctx)
		if err == nil {
			p = started
			s.keep(p)
		}
		return started, err
	}
}

// keep notes a plugin that runs.
func (s *pluginSet) keep(p *host.Plugin) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Contains(s.running, p) {
		s.running = append(s.running, p)
	}
}

// Stop ends the plugins that run.
func (s *pluginSet) Stop() {
	for _, p := range s.running {
		p.Close() // an error is about a temporary directory that could not be removed
	}
	s.running = nil
}

// Library gives tapc's kernels, those of --kernels and those of the plugins.
func (s *pluginSet) Library() *kernels.Library {
	switch {
	case s.lib != nil:
		return s.lib
	case s.base != nil:
		return s.base
	}
	return kernels.Builtin()
}

// Table is the pass table with the rows of the plugins.
func (s *pluginSet) Table() *pipeline.Table {
	t := standard.Table(s.Library(), OwnBackends().Choosers()...)
	t.Passes = append(t.Passes, s.rows...)
	return t
}
