package installed

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
	"tensortapestry.org/tapc/plugins/host"
	"tensortapestry.org/tapc/plugins/proto"
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
	Access   host.Access       `json:"access"`
	Passes   []lockedPass      `json:"passes,omitempty"`
	host.Texts
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
	for system, digest := range l.SHA256 {
		if len(digest) != 64 || strings.Trim(digest, "0123456789abcdef") != "" {
			return fmt.Errorf("plugin %q: malformed SHA-256 for %q", l.Name, system)
		}
	}
	if _, err := l.Description(); err != nil {
		return fmt.Errorf("plugin %q: %w", l.Name, err)
	}
	return nil
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

// holds gives the plugin that has a digest for this system, or nil.
func (l *Lock) holds(digest string) *Locked {
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
func lockedOf(d *host.Description, digest string, access host.Access) Locked {
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

// Description gives what the plugin provides, as the lock file has it: held to what a plugin may say of itself.
func (l *Locked) Description() (*host.Description, error) {
	m := &proto.Description{Name: l.Name, Version: l.Version, Doc: l.Doc, Sdk: l.SDK}
	fmt.Sscanf(l.Protocol, "1.%d", &m.Minor)
	for _, x := range l.Passes {
		m.Passes = append(m.Passes, &proto.Pass{Name: x.Name, Doc: x.Doc, Needs: x.Needs, Upto: x.Upto, Gives: x.Gives, Options: saidOptions(x.Options)})
	}
	for _, x := range l.Rules {
		m.Rules = append(m.Rules, &proto.Declarations{Name: x.Name, Doc: x.Doc, Text: x.Text})
	}
	for _, x := range l.Kernels {
		m.Kernels = append(m.Kernels, &proto.Declarations{Name: x.Name, Doc: x.Doc, Text: x.Text})
	}
	for _, x := range l.Mutators {
		m.Mutators = append(m.Mutators, &proto.Mutator{Name: x.Name, Doc: x.Doc, On: x.Text})
	}
	for _, x := range l.Terms {
		m.Terms = append(m.Terms, &proto.CostTerm{Name: x.Name, Doc: x.Doc, Objective: x.Text})
	}
	for _, x := range l.Backends {
		m.Backends = append(m.Backends, &proto.Backend{Name: x.Name, Doc: x.Doc, Devices: x.Devices, Options: saidOptions(x.Options)})
	}
	return host.ReadDescription(m)
}

// saidOptions gives options as a plugin says them. A type that there is not is one that no plugin may say.
func saidOptions(list []lockedOption) []*proto.Option {
	var out []*proto.Option
	for _, x := range list {
		t, ok := proto.Option_Type_value[strings.ToUpper(x.Type)]
		if !ok {
			t = -1
		}
		out = append(out, &proto.Option{Name: x.Name, Doc: x.Doc, Type: proto.Option_Type(t), Default: x.Default})
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
	l.Each(func(what string, t *plugins.Text) { out = append(out, what+" "+t.Name+": "+t.Doc) })
	for _, b := range l.Backends {
		out = append(out, "back end "+b.Name+": "+b.Doc)
	}
	return out
}
