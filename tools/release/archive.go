package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// stamp is the time of every file in an archive, so that archives do not depend on when they were made: the first that zip has.
var stamp = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)

// mode gives the permissions of a file.
func mode(name string) int64 {
	if name == "tapc" || name == "tapc.exe" {
		return 0o755
	}
	return 0o644
}

// tarball packs files below a folder.
func tarball(folder string, files map[string][]byte) ([]byte, error) {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	t := tar.NewWriter(z)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		h := &tar.Header{Name: folder + "/" + name, Mode: mode(name), Size: int64(len(files[name])), ModTime: stamp, Format: tar.FormatUSTAR}
		if err := t.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := t.Write(files[name]); err != nil {
			return nil, err
		}
	}
	if err := cmp.Or(t.Close(), z.Close()); err != nil { // in this order
		return nil, err
	}
	return b.Bytes(), nil
}

// zipped is tarball for Windows.
func zipped(folder string, files map[string][]byte) ([]byte, error) {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		h := &zip.FileHeader{Name: folder + "/" + name, Method: zip.Deflate, Modified: stamp}
		h.SetMode(os.FileMode(mode(name)))
		w, err := z.CreateHeader(h)
		if err != nil {
			return nil, err
		}
		if _, err := w.Write(files[name]); err != nil {
			return nil, err
		}
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// writeSums writes the digests of files as sha256sum -c reads them.
func writeSums(dir string, names []string) error {
	var b strings.Builder
	for _, name := range slices.Sorted(slices.Values(names)) {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%x  %s\n", sha256.Sum256(data), name)
	}
	return os.WriteFile(filepath.Join(dir, "SHA256SUMS"), []byte(b.String()), 0o666)
}
