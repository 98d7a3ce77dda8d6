package report

import (
	"archive/zip"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"tensortapestry.org/tapc/ir/diag"
)

// walk calls f for every regular file of a folder, by its name there, in the order of names.
func walk(folder string, f func(name string) error) error {
	return filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return diag.Fault("%w", err)
		}
		name, err := filepath.Rel(folder, path)
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		return f(name)
	})
}

// pack writes a folder as a ZIP archive, whose bytes depend on the files alone.
func pack(to io.Writer, folder, name string) error {
	z := zip.NewWriter(to)
	err := walk(folder, func(file string) error {
		head := &zip.FileHeader{Name: name + "/" + filepath.ToSlash(file), Method: zip.Deflate, Modified: time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)}
		w, err := z.CreateHeader(head)
		if err != nil {
			return diag.Fault("%w", err)
		}
		in, err := os.Open(filepath.Join(folder, file))
		if err != nil {
			return diag.Fault("%w", err)
		}
		defer in.Close()
		if _, err := io.Copy(w, in); err != nil {
			return diag.Fault("%w", err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return diag.Fault("%w", err)
	}
	return nil
}
