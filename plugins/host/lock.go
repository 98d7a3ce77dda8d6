package host

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"

	"tensortapestry.org/tapc/internal/inputfile"
	"tensortapestry.org/tapc/internal/outputfile"
	"tensortapestry.org/tapc/passes/pipeline"
	"tensortapestry.org/tapc/plugins"
)

// LockName is the name of the file that says which plugins a project uses.
const LockName = "tapc.lock"

// lockVersion is the version of the file's form.
const lockVersion = 1

// Lock is the content of a lock file: the plugins of a project or a user, sorted by name, none twice.
type Lock struct {
	Version int      `json:"version"`
	Plugins []Locked `json:"plugins"`
}

// Locked is a plugin as it was installed: what it provides, what it may use, and the digest of its file for each system that
// it was installed on. It holds all that is needed to list its passes without starting it.
type Locked struct {
	Name     string            `json:"name"`
	Version  string            `json:"version"`
	Doc      string            `json:"doc,omitempty"`
	Protocol string            `json:"protocol"` // major.minor
	SDK      string            `json:"sdk,omitempty"`
	SHA256   map[string]string `json:"sha256"` // by GOOS/GOARCH
	Access   Access            `json:"access"`
	Passes   []lockedPass      `json:"passes,omitempty"`
	Texts
	Backends []lockedBackend `json:"backends,omitempty"`
}

type lockedPass struct {
	Name    string         `json:"name"`
	Doc     string         `json:"doc"`
	Needs   string         `json:"needs"`
	Upto    string         `json:"upto"`
	Gives   string         `json:"gives"`
	Options []lockedOption `json:"options,omitempty"`
}

type lockedBackend struct {
	Name    string         `json:"name"`
	Doc     string         `json:"doc,omitempty"`
	Devices []string       `json:"devices,omitempty"`
	Options []lockedOption `json:"options,omitempty"`
}

type lockedOption struct {
	Name    string `json:"name"`
	Doc     string `json:"doc"`
	Type    string `json:"type"`
	Default string `json:"default,omitempty"`
}

// System is this machine's system as lock files name it.
func System() string { return runtime.GOOS + "/" + runtime.GOARCH }

// ReadLock reads a lock file; one that is not there is empty.
func ReadLock(path string) (*Lock, error) {
	text, err := inputfile.ReadText(path, inputfile.MaxText)
	if errors.Is(err, fs.ErrNotExist) {
		return &Lock{Version: lockVersion}, nil
	}
	l := &Lock{}
	if err == nil {
		err = decodeStrict(text, l)
	}
	if err == nil && l.Version != lockVersion {
		err = fmt.Errorf("its form has version %d, and this tapc reads %d", l.Version, lockVersion)
	}
	for i := range l.Plugins {
		if err == nil {
			err = l.Plugins[i].check()
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, strip(err))
	}
	return l, nil
}

// strip takes a file's name off an error that is told with it.
func strip(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

func (l *Locked) check() error {
	if !nameForm.MatchString(l.Name) || !versionForm.MatchString(l.Version) {
		return fmt.Errorf("plugin %q, version %q: malformed", clean(l.Name, 60), clean(l.Version, 60))
	}
	for system, digest := range l.SHA256 {
		if len(digest) != 64 || strings.Trim(digest, "0123456789abcdef") != "" {
			return fmt.Errorf("plugin %s: malformed SHA-256 for %s", l.Name, clean(system, 40))
		}
	}
	_, err := l.Description()
	return err
}

// Write writes the lock file, whole or not at all.
func (l *Lock) Write(path string) error {
	slices.SortFunc(l.Plugins, func(a, b Locked) int { return cmp.Compare(a.Name, b.Name) })
	text, err := json.MarshalIndent(l, "", "  ")
	if err != nil {
		return err
	}
	return outputfile.Replace(path, 0o666, func(f *os.File) error {
		_, err := f.Write(append(text, '\n'))
		return err
	})
}

// Find gives the plugin of a name, or nil.
func (l *Lock) Find(name string) *Locked {
	for i := range l.Plugins {
		if l.Plugins[i].Name == name {
			return &l.Plugins[i]
		}
	}
	return nil
}

// Holds says whether some plugin has a digest for this system.
func (l *Lock) Holds(digest string) *Locked {
	for i := range l.Plugins {
		if l.Plugins[i].SHA256[System()] == digest {
			return &l.Plugins[i]
		}
	}
	return nil
}

// put adds a plugin or replaces the one of its name. Digests for other systems stay if the version is the same.
func (l *Lock) put(p Locked) {
	old := l.Find(p.Name)
	if old == nil {
		l.Plugins = append(l.Plugins, p)
		return
	}
	if old.Version == p.Version {
		for system, digest := range old.SHA256 {
			if system != System() {
				p.SHA256[system] = digest
			}
		}
	}
	*old = p
}

// lockedOf gives what a lock file says of a plugin that was started.
func lockedOf(d *Description, digest string, access Access) Locked {
	l := Locked{Name: d.Name, Version: d.Version, Doc: d.Doc, SDK: d.SDK, SHA256: map[string]string{System(): digest}, Access: access,
		Protocol: fmt.Sprintf("%d.%d", plugins.ProtocolMajor, d.Minor), Texts: d.Texts}
	for _, p := range d.Passes {
		l.Passes = append(l.Passes, lockedPass{p.Name, p.Doc, p.Needs.Word(), p.Upto.Word(), p.Gives.Word(), lockedOptions(p.Options)})
	}
	for _, b := range d.Backends {
		var devices []string
		for _, t := range b.Devices {
			devices = append(devices, t.String())
		}
		l.Backends = append(l.Backends, lockedBackend{b.Name, b.Doc, devices, lockedOptions(b.Options)})
	}
	return l
}

func lockedOptions(list []pipeline.Option) []lockedOption {
	var out []lockedOption
	for _, o := range list {
		out = append(out, lockedOption{o.Name, o.Doc, o.Type.String(), o.Default})
	}
	return out
}

// Description gives what the plugin provides, as the lock file has it.
func (l *Locked) Description() (*Description, error) {
	d := &Description{Name: l.Name, Version: l.Version, Doc: l.Doc, SDK: l.SDK, Texts: l.Texts}
	fmt.Sscanf(l.Protocol, "1.%d", &d.Minor)
	r := reading{seen: map[string]bool{}}
	for _, x := range l.Passes {
		r.name("pass", x.Name, x.Doc)
		p := pipeline.Pass{Name: x.Name, Doc: x.Doc, Plugin: l.Name, Options: r.unlock(x.Name, x.Options)}
		p.Needs = r.stage(x.Name, x.Needs, pipeline.OperationExpression)
		p.Upto = r.stage(x.Name, x.Upto, p.Needs)
		p.Gives = r.stage(x.Name, x.Gives, p.Needs)
		d.Passes = append(d.Passes, p)
	}
	d.each(r.text)
	for _, x := range l.Backends {
		r.name("back end", x.Name, "-")
		d.Backends = append(d.Backends, Backend{x.Name, x.Doc, r.devices(x.Name, x.Devices), r.unlock(x.Name, x.Options)})
	}
	if r.err != nil {
		return nil, fmt.Errorf("plugin %s: %w", l.Name, r.err)
	}
	return d, nil
}

func (r *reading) unlock(of string, list []lockedOption) []pipeline.Option {
	var out []pipeline.Option
	for _, x := range list {
		r.name("option of "+of, x.Name, x.Doc)
		o := pipeline.Option{Name: x.Name, Doc: x.Doc, Default: x.Default}
		for _, t := range optionTypes {
			if t.String() == x.Type {
				o.Type = t
			}
		}
		if o.Type.String() != x.Type {
			r.say("%s: option %s has the unknown type %q", of, x.Name, clean(x.Type, 40))
		}
		out = append(out, o)
	}
	return out
}

// compareLocked gives the name of the first field in which two entries differ, or "".
func compareLocked(a, b *Locked) string {
	fields := func(l *Locked) (m map[string]json.RawMessage) {
		text, _ := json.Marshal(l)
		_ = json.Unmarshal(text, &m)
		return m
	}
	of, other := fields(a), fields(b)
	for _, name := range []string{"version", "protocol", "passes", "kernels", "rules", "mutators", "terms", "backends"} {
		if string(of[name]) != string(other[name]) {
			return name
		}
	}
	return ""
}

// Parts says in plain words what the plugin provides, a line for each thing.
func (l *Locked) Parts() []string {
	var out []string
	for _, p := range l.Passes {
		out = append(out, "pass "+p.Name+": "+p.Doc)
	}
	l.each(func(what string, t *plugins.Text) { out = append(out, what+" "+t.Name+": "+t.Doc) })
	for _, b := range l.Backends {
		out = append(out, "back end "+b.Name+": "+b.Doc)
	}
	return out
}
