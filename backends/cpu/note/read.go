package note

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// maxText bounds what a note, or a table of a file, has in memory. In bytes.
const maxText = 256 << 20

// ErrNone is the error of a file of a known kind that has no note.
var ErrNone = errors.New("it has no note of tapc")

// Kind is what a file is.
type Kind string

// The kinds of files.
const (
	Executable Kind = "an executable"
	Library    Kind = "a shared library"
	Object     Kind = "an object file"
	Archive    Kind = "an archive"
)

// File is what Read finds.
type File struct {
	Kind  Kind
	Texts []string // of notes, in the order of the file: a program into which several were linked has several
}

// Read finds the notes of a file of size bytes. A file that is not as long as its tables say is refused, also where its note is there.
func Read(r io.ReaderAt, size int64) (*File, error) {
	s := &scan{io.NewSectionReader(r, 0, size), size}
	head, err := s.bytes(0, min(size, 64))
	if err != nil {
		return nil, err
	}
	f := &File{}
	switch {
	case bytes.HasPrefix(head, []byte("\x7fELF")):
		err = s.elf(f, head)
	case bytes.HasPrefix(head, []byte("!<arch>\n")):
		err = s.archive(f)
	case bytes.HasPrefix(head, []byte{0xcf, 0xfa, 0xed, 0xfe}):
		err = s.macho(f)
	default:
		return nil, errors.New("it is no executable, library, object or archive that tapc knows: expected ELF, Mach-O of 64 bits, or ar")
	}
	if err == nil && len(f.Texts) == 0 {
		err = ErrNone
	}
	return f, err
}

// scan reads a part of a file as a file.
type scan struct {
	*io.SectionReader
	size int64
}

// bytes reads a part that must be there.
func (s *scan) bytes(at, n int64) ([]byte, error) {
	switch {
	case at < 0 || n < 0 || at > s.size || n > s.size-at:
		return nil, fmt.Errorf("it is truncated or damaged: a part of %d bytes at %d of a file of %d", n, at, s.size)
	case n > maxText:
		return nil, fmt.Errorf("a part of %d bytes at %d: expected at most %d", n, at, maxText)
	}
	data := make([]byte, n)
	if _, err := s.ReadAt(data, at); err != nil && (err != io.EOF || n > 0) {
		return nil, err
	}
	return data, nil
}

// within refuses a part that is not all there, without reading it.
func (s *scan) within(at, n uint64) error {
	if size := uint64(s.size); at > size || n > size-at {
		return fmt.Errorf("it is truncated or damaged: a part of %d bytes at %d of a file of %d", n, at, size)
	}
	return nil
}

// notes reads a sequence of notes, and keeps those of tapc. It ends at what is none: those of others may be aligned otherwise.
func (f *File) notes(data []byte) error {
	for len(data) >= 12 {
		word := func(i int) int { return int(binary.LittleEndian.Uint32(data[4*i:])) }
		name, text, kind := word(0), word(1), word(2)
		if name > len(data)-12 {
			return nil
		}
		at := 12 + align(name)
		if string(data[12:12+name]) == owner+"\x00" {
			switch {
			case kind != Schema:
				return fmt.Errorf("its note is of version %d, which another tapc wrote: expected version %d", kind, Schema)
			case at > len(data) || text > len(data)-at:
				return fmt.Errorf("it is damaged: a note of %d bytes in %d", text, len(data))
			}
			f.Texts = append(f.Texts, string(bytes.TrimSuffix(data[at:at+text], []byte{0})))
		}
		if text > len(data) {
			return nil
		}
		data = data[min(len(data), at+align(text)):]
	}
	return nil
}

// archive reads each member that is an object. Other members, such as an index of symbols, are passed over.
func (s *scan) archive(f *File) error {
	f.Kind = Archive
	for at := int64(8); at < s.size; {
		head, err := s.bytes(at, 60)
		if err != nil {
			return err
		}
		var n int64
		if _, err := fmt.Sscanf(string(head[48:58]), "%d", &n); err != nil || n < 0 || string(head[58:]) != "`\n" {
			return fmt.Errorf("it is damaged: no member of an archive at %d", at)
		}
		if err := s.within(uint64(at)+60, uint64(n)); err != nil {
			return err
		}
		member := &scan{io.NewSectionReader(s, at+60, n), n}
		if first, err := member.bytes(0, min(n, 64)); err == nil && bytes.HasPrefix(first, []byte("\x7fELF")) {
			inside := &File{}
			if err := member.elf(inside, first); err != nil {
				return err
			}
			f.Texts = append(f.Texts, inside.Texts...)
		}
		at += 60 + n + n&1
	}
	return nil
}
