package installed

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"tensortapestry.org/tapc/internal/inputfile"
	"tensortapestry.org/tapc/plugins/host"
)

// ManifestSuffix makes the name of a plugin's manifest of the name of its file. The manifest says what the plugin asks for
// beyond its own temporary directory and the system's libraries; a plugin without one asks for nothing.
const ManifestSuffix = ".access.json"

// maxManifest bounds a manifest's size in bytes.
const maxManifest = 64 << 10

// ReadManifest reads what the plugin at path asks for. Relative paths in it are below the manifest's directory.
func ReadManifest(path string) (host.Access, error) {
	var a host.Access
	name := path + ManifestSuffix
	text, err := inputfile.ReadText(name, maxManifest)
	if errors.Is(err, fs.ErrNotExist) {
		return a, nil
	}
	if err == nil {
		err = decodeStrict(text, &a)
	}
	if err != nil {
		return host.Access{}, fmt.Errorf("%s: %w", name, err)
	}
	dir, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return host.Access{}, err
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
