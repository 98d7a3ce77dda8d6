package host

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"tensortapestry.org/tapc/internal/inputfile"
)

// ManifestSuffix makes the name of a plugin's manifest of the name of its file. The manifest says what the plugin asks for
// beyond its own temporary directory and the system's libraries; a plugin without one asks for nothing.
const ManifestSuffix = ".access.json"

// maxManifest bounds a manifest's size in bytes.
const maxManifest = 64 << 10

// ReadManifest reads what the plugin at path asks for. Relative paths in it are below the manifest's directory.
func ReadManifest(path string) (Access, error) {
	var a Access
	name := path + ManifestSuffix
	text, err := inputfile.ReadText(name, maxManifest)
	if errors.Is(err, fs.ErrNotExist) {
		return a, nil
	}
	if err == nil {
		err = decodeStrict(text, &a)
	}
	if err != nil {
		return Access{}, fmt.Errorf("%s: %w", name, err)
	}
	dir, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return Access{}, err
	}
	for _, list := range [][]string{a.Read, a.Write} {
		for i, p := range list {
			if !filepath.IsAbs(p) {
				list[i] = filepath.Join(dir, p)
			}
		}
	}
	return a, nil
}

// decodeStrict decodes one JSON value that has no unknown fields.
func decodeStrict(text []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if d.More() {
		return errors.New("there is more behind the value")
	}
	return nil
}

// Nothing says whether the access is none at all.
func (a Access) Nothing() bool {
	return len(a.Read) == 0 && len(a.Write) == 0 && !a.Network && !a.Execute
}

// Within says whether everything in a is in b too.
func (a Access) Within(b Access) bool {
	in := func(x, y []string) bool {
		return !slices.ContainsFunc(x, func(s string) bool { return !slices.Contains(y, s) })
	}
	return in(a.Read, b.Read) && in(a.Write, b.Write) && (b.Network || !a.Network) && (b.Execute || !a.Execute)
}

// Lines says in plain words what the access is, a line for each thing.
func (a Access) Lines() []string {
	var lines []string
	for _, p := range a.Read {
		lines = append(lines, "read "+p)
	}
	for _, p := range a.Write {
		lines = append(lines, "read and write "+p)
	}
	if a.Network {
		lines = append(lines, "use the network, and Unix sockets of other programs")
	}
	if a.Execute {
		lines = append(lines, "start programs of the system")
	}
	return lines
}
