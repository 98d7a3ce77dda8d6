package note

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
)

// layout is where fields are in the tables of an ELF file: in files of 64 and of 32 bits.
type layout struct {
	word                                  int // bytes of an address
	segments, sections, counts            int // in the header
	segmentBytes, segmentAt, segmentSize  int
	sectionBytes, sectionAt, sectionCount int
}

var layouts = map[elf.Class]layout{
	elf.ELFCLASS64: {8, 32, 40, 54, 56, 8, 32, 64, 24, 32},
	elf.ELFCLASS32: {4, 28, 32, 42, 32, 4, 16, 40, 16, 20},
}

// number reads an address or offset.
func (l *layout) number(b []byte) uint64 {
	if l.word == 8 {
		return binary.LittleEndian.Uint64(b)
	}
	return uint64(binary.LittleEndian.Uint32(b))
}

// elf reads the notes of an ELF file whose first bytes are given: by its segments or, of an object, by its sections. All parts must be there.
func (s *scan) elf(f *File, head []byte) error {
	if len(head) < 52 {
		return fmt.Errorf("it is truncated: an ELF file of %d bytes", s.size)
	}
	l, ok := layouts[elf.Class(head[elf.EI_CLASS])]
	if !ok || elf.Data(head[elf.EI_DATA]) != elf.ELFDATA2LSB || l.word == 8 && len(head) < 64 {
		return fmt.Errorf("an ELF file of class %d and byte order %d: expected a little-endian one of 64 or 32 bits", head[elf.EI_CLASS], head[elf.EI_DATA])
	}
	count := func(i int) int64 { return int64(binary.LittleEndian.Uint16(head[l.counts+2*i:])) }
	segments, err := s.table(l.number(head[l.segments:]), count(0), count(1), l.segmentBytes)
	if err != nil {
		return err
	}
	sections, err := s.table(l.number(head[l.sections:]), count(2), count(3), l.sectionBytes)
	if err != nil {
		return err
	}
	dynamic, interpreted, err := s.segments(f, &l, segments)
	if err != nil {
		return err
	}
	switch kind := elf.Type(binary.LittleEndian.Uint16(head[16:])); {
	case kind == elf.ET_REL:
		f.Kind = Object
	case kind == elf.ET_DYN && dynamic && !interpreted:
		f.Kind = Library
	case kind == elf.ET_EXEC || kind == elf.ET_DYN:
		f.Kind = Executable
	default:
		return fmt.Errorf("an ELF file of type %v: expected an executable, a library or an object", kind)
	}
	return s.sections(f, &l, sections)
}

// table gives the rows of a table of count rows of each bytes, of which need are known.
func (s *scan) table(at uint64, each, count int64, need int) ([][]byte, error) {
	if count == 0 {
		return nil, nil
	}
	if each < int64(need) {
		return nil, fmt.Errorf("it is damaged: a table with rows of %d bytes, expected %d", each, need)
	}
	if err := s.within(at, uint64(each*count)); err != nil {
		return nil, err
	}
	data, err := s.bytes(int64(at), each*count)
	rows := make([][]byte, 0, count)
	for ; len(data) > 0; data = data[each:] {
		rows = append(rows, data[:each])
	}
	return rows, err
}

// segments reads the notes that are loaded with a program, and says whether it is loaded by a dynamic linker that it names.
func (s *scan) segments(f *File, l *layout, rows [][]byte) (dynamic, interpreted bool, err error) {
	for _, row := range rows {
		kind := elf.ProgType(binary.LittleEndian.Uint32(row))
		dynamic, interpreted = dynamic || kind == elf.PT_DYNAMIC, interpreted || kind == elf.PT_INTERP
		at, n := l.number(row[l.segmentAt:]), l.number(row[l.segmentSize:])
		if err := s.within(at, n); err != nil {
			return false, false, err
		}
		if kind == elf.PT_NOTE {
			if err := s.part(f, at, n); err != nil {
				return false, false, err
			}
		}
	}
	return dynamic, interpreted, nil
}

// sections checks that all are there and, of an object, reads the notes.
func (s *scan) sections(f *File, l *layout, rows [][]byte) error {
	for _, row := range rows {
		kind := elf.SectionType(binary.LittleEndian.Uint32(row[4:]))
		if kind == elf.SHT_NOBITS || kind == elf.SHT_NULL {
			continue
		}
		at, n := l.number(row[l.sectionAt:]), l.number(row[l.sectionCount:])
		if err := s.within(at, n); err != nil {
			return err
		}
		if kind == elf.SHT_NOTE && f.Kind == Object {
			if err := s.part(f, at, n); err != nil {
				return err
			}
		}
	}
	return nil
}

// part reads notes.
func (s *scan) part(f *File, at, n uint64) error {
	data, err := s.bytes(int64(at), int64(n))
	if err != nil {
		return err
	}
	return f.notes(data)
}
