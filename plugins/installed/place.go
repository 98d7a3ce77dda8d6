package installed

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"tensortapestry.org/tapc/plugins/host"
)

// Place is where plugins are installed: a lock file and a directory for their files.
type Place struct {
	Kind  string // "project" or "user"
	Lock  string // path of the lock file
	Files string // directory of the plugins
}

// ProjectPlace gives the place of the project that a directory is in: that of the nearest lock file above it, or else the
// directory itself.
func ProjectPlace(dir string) Place {
	root := dir
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(at, LockName)); err == nil {
			root = at
			break
		}
		if filepath.Dir(at) == at {
			break
		}
	}
	return Place{"project", filepath.Join(root, LockName), filepath.Join(root, ".tapc", "plugins")}
}

// UserPlace gives the user's place.
func UserPlace() (Place, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return Place{}, err
	}
	dir = filepath.Join(dir, "tapc")
	return Place{"user", filepath.Join(dir, LockName), filepath.Join(dir, "plugins")}, nil
}

// File gives the path of an installed plugin.
func (p Place) File(name string) string { return filepath.Join(p.Files, name) }

// ErrNotGranted says that a plugin asks for access that the user did not grant.
var ErrNotGranted = errors.New("the plugin asks for access that was not granted")

// Install copies a plugin to the place, starts the copy to ask what it provides, and writes the lock file. It may use what
// its manifest asks for if grant says so; without, asking for anything is ErrNotGranted.
func (p Place) Install(ctx context.Context, path string, grant bool, opts host.Options) (*Locked, error) {
	access, err := ReadManifest(path)
	if err != nil {
		return nil, err
	}
	if !access.Nothing() && !grant {
		return nil, ErrNotGranted
	}
	lock, err := ReadLock(p.Lock)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(p.Files, 0o777); err != nil {
		return nil, err
	}
	copied, err := p.copy(path)
	if err != nil {
		return nil, err
	}
	defer os.Remove(copied)
	opts.Access = access
	if opts.Digest, err = host.Digest(copied); err != nil {
		return nil, err
	}
	plugin, err := host.Start(ctx, copied, opts)
	if err != nil {
		var f *host.Fault
		if errors.As(err, &f) {
			f.Plugin = fmt.Sprintf("%s (%s)", filepath.Base(path), path) // not the copy
		}
		return nil, err
	}
	locked := lockedOf(plugin.Description, opts.Digest, access)
	if err := plugin.Close(); err != nil {
		return nil, err
	}
	if err := os.Rename(copied, p.File(locked.Name)); err != nil {
		return nil, err
	}
	lock.put(locked)
	return &locked, lock.Write(p.Lock)
}

// copy copies a plugin into the place under a name of the moment. What is plainly no plugin is refused as Start refuses it.
func (p Place) copy(path string) (string, error) {
	in, err := host.OpenFile(path)
	if err != nil {
		return "", err
	}
	defer in.Close()
	name := filepath.Join(p.Files, fmt.Sprintf(".new-%d-%d", os.Getpid(), time.Now().UnixNano()))
	out, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o777) // less the umask, as no temporary file has it
	if err != nil {
		return "", err
	}
	_, err = io.Copy(out, in)
	if closed := out.Close(); err == nil {
		err = closed
	}
	if err != nil {
		os.Remove(out.Name())
		return "", err
	}
	return out.Name(), nil
}

// Remove takes a plugin out of the place and the lock file.
func (p Place) Remove(name string) error {
	lock, err := ReadLock(p.Lock)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(lock.Plugins, func(l Locked) bool { return l.Name == name })
	if i < 0 {
		return fmt.Errorf("there is no plugin %q in %s", name, p.Lock)
	}
	lock.Plugins = slices.Delete(lock.Plugins, i, i+1)
	if err := lock.Write(p.Lock); err != nil {
		return err
	}
	if err := os.Remove(p.File(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Open starts an installed plugin. Its file must be the one that was locked.
func (p Place) Open(ctx context.Context, l *Locked, opts host.Options) (*host.Plugin, error) {
	path := p.File(l.Name)
	if opts.Digest = l.SHA256[System()]; opts.Digest == "" {
		f := &host.Fault{Kind: host.WrongDigest, Plugin: fmt.Sprintf("%s (%s)", l.Name, path), Detail: "it is locked, but not for " + System()}
		f.Hint = "install it on such a system, too: tapc plugin install"
		return nil, f
	}
	opts.Access = l.Access
	return host.Start(ctx, path, opts)
}

// Verify checks an installed plugin: its file is the one that was locked, it starts, and it says of itself what the lock
// file says.
func (p Place) Verify(ctx context.Context, l *Locked, opts host.Options) error {
	plugin, err := p.Open(ctx, l, opts)
	if err != nil {
		return err
	}
	defer plugin.Close()
	now := lockedOf(plugin.Description, l.SHA256[System()], l.Access)
	now.SHA256 = l.SHA256
	if difference := compareLocked(l, &now); difference != "" {
		return &host.Fault{Kind: host.BadDescription, Plugin: fmt.Sprintf("%s (%s)", l.Name, plugin.Path()),
			Detail: "it says other things of itself than " + LockName + " has: " + difference}
	}
	return nil
}

// Strangers gives the files in the place that no lock knows, which are never run.
func (p Place) Strangers(lock *Lock) []string {
	entries, err := os.ReadDir(p.Files)
	if err != nil {
		return nil
	}
	var names []string
	for _, e := range entries {
		if lock.Find(e.Name()) == nil && e.Name()[0] != '.' {
			names = append(names, e.Name())
		}
	}
	return names
}

// WithDigest gives the plugin whose file has a digest on this system, of the first of some places that has one; nil if none does.
func WithDigest(places []Place, digest string) (*Locked, error) {
	for _, p := range places {
		lock, err := ReadLock(p.Lock)
		if err != nil {
			return nil, err
		}
		if l := lock.holds(digest); l != nil {
			return l, nil
		}
	}
	return nil, nil
}
