package tensorfile

import (
	"archive/zip"
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"tensortapestry.org/tapc/internal/outputfile"
	"tensortapestry.org/tapc/ir/diag"
)

// WriteNPY writes one tensor as .npy, version 1, row-major, exactly as NumPy does. Bfloat16, 8-bit floats and 4-bit
// integers are refused: the format has no name for them.
func WriteNPY(path string, t Tensor) error {
	return writeFile(path, func(w io.Writer) error { return encodeNPY(w, t) })
}

// WriteNPZ writes tensors as an .npz archive of stored entries in the order of their names. The dtypes are WriteNPY's.
func WriteNPZ(path string, tensors map[string]Tensor) error {
	return writeFile(path, func(w io.Writer) error { return encodeNPZ(w, tensors) })
}

// WriteSafetensors writes tensors as .safetensors, larger elements first and then by name, so that each is aligned to its
// element. Complex128 and 4-bit integers are refused: the format has no name for them.
func WriteSafetensors(path string, tensors map[string]Tensor) error {
	return writeFile(path, func(w io.Writer) error { return encodeSafetensors(w, tensors) })
}

// writeFile makes a file appear complete or not at all: it is written beside its place and renamed.
// NPY gives the bytes of a .npy file of a tensor.
func NPY(t Tensor) ([]byte, error) {
	var b bytes.Buffer
	err := encodeNPY(&b, t)
	return b.Bytes(), err
}

// Safetensors gives the bytes of a .safetensors file of tensors.
func Safetensors(tensors map[string]Tensor) ([]byte, error) {
	var b bytes.Buffer
	err := encodeSafetensors(&b, tensors)
	return b.Bytes(), err
}

func writeFile(path string, encode func(io.Writer) error) error {
	err := outputfile.Replace(path, 0o666, func(f *os.File) error {
		buffer := bufio.NewWriterSize(f, 1<<16)
		if err := encode(buffer); err != nil {
			return err
		}
		return buffer.Flush()
	})
	var placed *diag.StatusError // of the place, and not of what is written
	if err == nil || errors.As(err, &placed) {
		return err
	}
	return wrap(path, "", err)
}

func encodeNPY(w io.Writer, t Tensor) error {
	if err := t.Check(); err != nil {
		return err
	}
	header, err := npyHeader(t)
	if err != nil {
		return err
	}
	if _, err := w.Write(header); err != nil {
		return err
	}
	_, err = w.Write(t.Data)
	return err
}

// checkName refuses names that a file could not give back.
func checkName(name string) error {
	if name == "" || !utf8.ValidString(name) || strings.ContainsRune(name, 0) || name == "__metadata__" {
		return fmt.Errorf("expected a tensor's name in UTF-8, found %q", name)
	}
	return nil
}

func encodeNPZ(w io.Writer, tensors map[string]Tensor) error {
	archive := zip.NewWriter(w)
	for _, name := range slices.Sorted(maps.Keys(tensors)) {
		if err := addZipEntry(archive, name, tensors[name]); err != nil {
			return fmt.Errorf("tensor %q: %w", name, err)
		}
	}
	return archive.Close()
}

func addZipEntry(archive *zip.Writer, name string, t Tensor) error {
	if err := checkName(name); err != nil {
		return err
	}
	if err := t.Check(); err != nil {
		return err
	}
	header, err := npyHeader(t)
	if err != nil {
		return err
	}
	size := uint64(len(header)) + uint64(len(t.Data))
	// Sizes and checksum are known, so no data descriptor is needed; midnight of 1980-01-01 is ZIP's first moment.
	entry, err := archive.CreateRaw(&zip.FileHeader{
		Name: name + ".npy", Method: zip.Store, Flags: 1 << 11, CreatorVersion: 20, ReaderVersion: 20,
		//lint:ignore SA1019 CreateRaw writes ModifiedDate as it is and ignores Modified
		ModifiedDate: 1<<5 | 1,
		CRC32:        crc32.Update(crc32.ChecksumIEEE(header), crc32.IEEETable, t.Data), CompressedSize64: size, UncompressedSize64: size,
	})
	if err != nil {
		return err
	}
	if _, err := entry.Write(header); err != nil {
		return err
	}
	_, err = entry.Write(t.Data)
	return err
}

// description is a tensor in the header of a .safetensors.
type description struct {
	DType   string   `json:"dtype"`
	Shape   []int64  `json:"shape"`
	Offsets [2]int64 `json:"data_offsets"`
}

func encodeSafetensors(w io.Writer, tensors map[string]Tensor) error {
	names := slices.Sorted(maps.Keys(tensors))
	slices.SortStableFunc(names, func(a, b string) int { return tensors[b].DType.Size() - tensors[a].DType.Size() })
	header, at := bytes.NewBufferString("{"), int64(0)
	for i, name := range names {
		t := tensors[name]
		err := errors.Join(checkName(name), t.Check())
		tag, known := safetensorsTags[held(t.DType)]
		if err == nil && !known {
			err = fmt.Errorf("expected a dtype that .safetensors can hold, found %s", t.DType)
		}
		if err != nil {
			return fmt.Errorf("tensor %q: %w", name, err)
		}
		if i > 0 {
			header.WriteByte(',')
		}
		end := at + int64(len(t.Data))
		appendMember(header, name, description{tag, append([]int64{}, t.Shape...), [2]int64{at, end}})
		at = end
	}
	header.WriteByte('}')
	header.WriteString(strings.Repeat(" ", (8-header.Len()%8)%8))
	if _, err := w.Write(binary.LittleEndian.AppendUint64(nil, uint64(header.Len()))); err != nil {
		return err
	}
	if _, err := w.Write(header.Bytes()); err != nil {
		return err
	}
	for _, name := range names {
		if _, err := w.Write(tensors[name].Data); err != nil {
			return err
		}
	}
	return nil
}

func appendMember(header *bytes.Buffer, name string, d description) {
	encoder := json.NewEncoder(header)
	encoder.SetEscapeHTML(false)
	for i, value := range []any{name, d} {
		if i > 0 {
			header.WriteByte(':')
		}
		if err := encoder.Encode(value); err != nil {
			panic(fmt.Sprintf("tensorfile: %v", err)) // strings and numbers always encode
		}
		header.Truncate(header.Len() - 1) // Encode ends with a newline
	}
}
