package tensorfile

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"strings"
)

// maxDeflate is the most that deflate can pack: 258 bytes in two bits.
const maxDeflate = 1032

func listNPZ(from io.ReaderAt, size int64) ([]entry, error) {
	archive, err := zip.NewReader(from, size)
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) { // names are not used as paths
		return nil, fmt.Errorf("truncated or damaged: expected a ZIP archive: %w", err)
	}
	entries := make([]entry, 0, len(archive.File))
	for _, f := range archive.File {
		e, err := listZipEntry(from, size, f)
		if err != nil {
			return nil, fmt.Errorf("entry %q: %w", f.Name, err)
		}
		entries = append(entries, e)
	}
	return entries, nil
}

func listZipEntry(from io.ReaderAt, size int64, f *zip.File) (entry, error) {
	name, ok := strings.CutSuffix(f.Name, ".npy")
	if !ok || name == "" {
		return entry{}, errors.New("expected a name that ends in .npy")
	}
	offset, err := checkZipEntry(size, f)
	if err != nil {
		return entry{}, err
	}
	r, err := f.Open()
	if err != nil {
		return entry{}, err
	}
	defer r.Close()
	l, err := readNPYHeader(r, int64(f.UncompressedSize64))
	if err != nil {
		return entry{}, err
	}
	info := Info{Name: name, DType: l.dtype, Shape: l.shape, Offset: -1, Length: l.bytes}
	if f.Method == zip.Store && l.direct() {
		info.Offset = offset + l.header
	}
	return entry{info, l, func(data []byte) error { return readZipEntry(f, l, data) }}, nil
}

// checkZipEntry refuses what cannot be read and sizes that the file cannot hold. It gives where the entry's bytes begin.
func checkZipEntry(size int64, f *zip.File) (int64, error) {
	if f.Flags&1 != 0 {
		return 0, errors.New("expected a plain entry, found an encrypted one")
	}
	if f.Method != zip.Store && f.Method != zip.Deflate {
		return 0, fmt.Errorf("expected a stored or deflated entry, found compression method %d", f.Method)
	}
	offset, err := f.DataOffset()
	if err != nil {
		return 0, fmt.Errorf("damaged: expected a ZIP entry: %w", err)
	}
	stored, unpacked := f.CompressedSize64, f.UncompressedSize64
	if offset < 0 || offset > size || stored > uint64(size-offset) {
		return 0, fmt.Errorf("truncated: expected %d bytes at %d, found a file of %d", stored, offset, size)
	}
	if (f.Method == zip.Store && stored != unpacked) || unpacked/maxDeflate > stored {
		return 0, fmt.Errorf("damaged: %d bytes cannot come from %d packed ones", unpacked, stored)
	}
	return offset, nil
}

func readZipEntry(f *zip.File, l layout, data []byte) error {
	r, err := f.Open()
	if err != nil {
		return err
	}
	defer r.Close()
	if _, err = io.CopyN(io.Discard, r, l.header); err == nil {
		_, err = io.ReadFull(r, data)
	}
	if err == nil { // the checksum is compared where the entry ends
		var n int
		if n, err = r.Read(make([]byte, 1)); n > 0 {
			return fmt.Errorf("damaged: expected %d bytes unpacked, found more", f.UncompressedSize64)
		}
	}
	if err != nil && err != io.EOF {
		return fmt.Errorf("damaged: %w", err)
	}
	return nil
}
