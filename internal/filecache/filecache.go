// Package filecache keeps files that can be made again, such as compiled objects, in a folder of the user's, and gives back only what it
// put there: an entry ends with a digest of its key and its content, and neither the folder nor an entry counts that anybody else could have
// written. What does not hold is as if it were not there, so a cache never makes anything fail. It imports nothing of tapc.
package filecache

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// Variable is the environment variable that names the folder, or says "off".
const Variable = "TAPC_CACHE"

// What a cache holds at most; more is dropped, the longest unused first, until a quarter is free.
const (
	MaxEntries = 4096
	MaxBytes   = 1 << 30
)

// maxEntry is how many bytes one entry has at most.
const maxEntry = 256 << 20

// abandoned is the age at which the part of an entry belongs to no program that still writes it.
const abandoned = time.Hour

// Key says what an entry is made of: a digest of all that decides about its content.
type Key [sha256.Size]byte

// Cache is a folder of entries. A nil Cache holds nothing.
type Cache struct {
	path       string
	root       *os.Root // so that nobody can put another folder in its place
	maxEntries int
	maxBytes   int64
	grown      atomic.Bool
	lock       *os.File // of TryLock
}

// Open gives the cache of objects that the environment asks for. Without one the error says why; building goes on without.
func Open() (*Cache, error) {
	path, err := folder()
	if err != nil {
		return nil, err
	}
	return At(path)
}

// OpenTuned gives the cache of what was measured: a folder in that of objects.
func OpenTuned() (*Cache, error) {
	objects, err := Open() // whose folder must be private, too
	if err != nil {
		return nil, err
	}
	defer objects.Close()
	return At(filepath.Join(objects.path, "tuned"))
}

// folder gives the place of the cache.
func folder() (string, error) {
	switch path := os.Getenv(Variable); path {
	case "off":
		return "", fmt.Errorf("%s is off", Variable)
	case "":
	default:
		return filepath.Abs(path)
	}
	base, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(base, "tapc", "objects"), nil
}

// At opens a cache in a folder, which is made if it is not there.
func At(path string) (*Cache, error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, err
	}
	named, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !named.IsDir() {
		return nil, &fs.PathError{Op: "open", Path: path, Err: errors.New("expected a folder of its own, found something else")}
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	opened, err := root.Stat(".")
	if err == nil && !os.SameFile(named, opened) {
		err = errors.New("it is replaced by another")
	}
	if err == nil {
		err = Private(opened)
	}
	if err != nil {
		root.Close()
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return &Cache{path: path, root: root, maxEntries: MaxEntries, maxBytes: MaxBytes}, nil
}

// Close ends the use of a cache, and drops what is too much if anything was added.
func (c *Cache) Close() {
	if c == nil {
		return
	}
	if c.grown.Load() {
		for _, e := range c.surplus() {
			c.root.Remove(e.name)
		}
	}
	if c.lock != nil {
		c.lock.Close()
	}
	c.root.Close()
}

// Get gives the content of an entry, if it is there and as Put wrote it. Being asked for keeps it longer.
func (c *Cache) Get(key Key) ([]byte, bool) {
	content, err := c.Look(key)
	return content, err == nil
}

// Look is Get with an error that wraps fs.ErrNotExist if there is no entry, and otherwise names it and says why it does not count.
func (c *Cache) Look(key Key) ([]byte, error) {
	if c == nil {
		return nil, fs.ErrNotExist
	}
	refused := func(err error) error {
		return &fs.PathError{Op: "read", Path: filepath.Join(c.path, entryName(key)), Err: err}
	}
	data, err := c.read(entryName(key))
	if err != nil {
		return nil, refused(err)
	}
	if len(data) < sha256.Size {
		return nil, refused(errDamaged)
	}
	content, sum := data[:len(data)-sha256.Size], data[len(data)-sha256.Size:]
	if want := digest(key, content); !bytes.Equal(sum, want[:]) {
		return nil, refused(errDamaged)
	}
	now := time.Now()
	c.root.Chtimes(entryName(key), now, now) // it may be another's to keep by now
	return content, nil
}

var errDamaged = errors.New("expected the content that was written")

// read reads a private regular file of the folder.
func (c *Cache) read(name string) ([]byte, error) {
	if info, err := c.root.Lstat(name); err != nil || !info.Mode().IsRegular() {
		return nil, cmp.Or(err, fs.ErrInvalid)
	}
	f, err := c.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // it may have become a pipe
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil && (!info.Mode().IsRegular() || info.Size() > maxEntry) {
		err = fs.ErrInvalid
	}
	if err == nil {
		err = Private(info)
	}
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(f, maxEntry))
}

// Put keeps a file whole, or leaves what was there. Who can make it again need not look at the error, which says why it is not kept.
func (c *Cache) Put(key Key, content []byte) error {
	switch {
	case c == nil:
		return nil
	case len(content) > maxEntry-sha256.Size:
		return fmt.Errorf("%d bytes: expected at most %d", len(content), maxEntry-sha256.Size)
	}
	sum := digest(key, content)
	part, err := c.write(entryName(key), content, sum[:])
	if err == nil {
		err = c.root.Rename(part, entryName(key))
	}
	if err != nil && part != "" {
		c.root.Remove(part)
	}
	c.grown.Store(true)
	return err
}

// write writes a new file of the folder and gives its name.
func (c *Cache) write(entry string, pieces ...[]byte) (part string, err error) {
	part = entry + "." + strconv.Itoa(os.Getpid()) + "-" + strconv.FormatInt(time.Now().UnixNano(), 36) + ".part"
	f, err := c.root.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	for _, p := range pieces {
		if err == nil {
			_, err = f.Write(p)
		}
	}
	return part, errors.Join(err, f.Close())
}

// digest ties content to the key that it is kept under, so that no entry stands for another.
func digest(key Key, content []byte) [sha256.Size]byte {
	h := sha256.New()
	h.Write(key[:])
	h.Write(content)
	return [sha256.Size]byte(h.Sum(nil))
}

// Name is that of an entry's file.
func Name(key Key) string { return entryName(key) }

func entryName(key Key) string { return hex.EncodeToString(key[:16]) + ".o" }

// entryNames are those of entries and of their parts while they are written.
var entryNames = regexp.MustCompile(`^[0-9a-f]{32}\.o(\.[0-9]+-[0-9a-z]+\.part)?$`)

// entry is a file of the cache's in its folder.
type entry struct {
	name  string
	bytes int64
	used  time.Time
}

// entries lists what is the cache's in its folder, the longest unused first.
func (c *Cache) entries() []entry {
	dir, err := c.root.Open(".")
	if err != nil {
		return nil
	}
	defer dir.Close()
	files, _ := dir.ReadDir(-1) // those that it could read
	var out []entry
	for _, f := range files {
		info, err := f.Info()
		if err == nil && info.Mode().IsRegular() && entryNames.MatchString(f.Name()) {
			out = append(out, entry{f.Name(), info.Size(), info.ModTime()})
		}
	}
	slices.SortFunc(out, func(a, b entry) int {
		if order := a.used.Compare(b.used); order != 0 {
			return order
		}
		return strings.Compare(a.name, b.name)
	})
	return out
}

// surplus gives the entries that are to go: what is abandoned and, if there is too much, the longest unused.
func (c *Cache) surplus() []entry {
	list := c.entries()
	var gone []entry
	old := time.Now().Add(-abandoned)
	list = slices.DeleteFunc(list, func(e entry) bool {
		drop := strings.HasSuffix(e.name, ".part") && e.used.Before(old)
		if drop {
			gone = append(gone, e)
		}
		return drop
	})
	count, bytes := len(list), size(list)
	if count <= c.maxEntries && bytes <= c.maxBytes {
		return gone
	}
	for _, e := range list {
		if count <= c.maxEntries*3/4 && bytes <= c.maxBytes/4*3 {
			break
		}
		gone = append(gone, e)
		count, bytes = count-1, bytes-e.bytes
	}
	return gone
}

func size(list []entry) int64 {
	var bytes int64
	for _, e := range list {
		bytes += e.bytes
	}
	return bytes
}

// Info is what a cache holds.
type Info struct {
	Folder      string
	Entries     int
	Bytes       int64
	Surplus     int // entries that go when the next has been added
	SurplusSize int64
}

// Info counts what a cache holds.
func (c *Cache) Info() Info {
	list, gone := c.entries(), c.surplus()
	return Info{c.path, len(list), size(list), len(gone), size(gone)}
}

// Clean removes the entries, and no other files. It gives how many it removed, and their bytes.
func (c *Cache) Clean() (removed int, bytes int64, err error) {
	for _, e := range c.entries() {
		if failed := c.root.Remove(e.name); failed != nil && !errors.Is(failed, fs.ErrNotExist) {
			err = errors.Join(err, failed)
			continue
		}
		removed, bytes = removed+1, bytes+e.bytes
	}
	return removed, bytes, err
}
