// Package symbols makes hidden symbols of an object file local, so that several object files that each have the run-time library inside go
// into one program.
//
// Linking objects to one object leaves hidden symbols global in it: two such objects then define them twice. Only 64-bit little-endian ELF is
// changed; the linker of macOS makes hidden symbols local itself. Source of the format: System V ABI, "Object Files".
package symbols

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"io"
)

// File is an object file whose bytes can be written over.
type File interface {
	io.ReaderAt
	io.WriterAt
}

const (
	headerBytes  = 64
	sectionBytes = 64
	symbolBytes  = 24
	// SHT_LLVM_ADDRSIG names symbols by number, as a hint to linkers, which do without where the section is not linked to symbols.
	addressHint = 0x6fff4c03
)

// object is an object file with its table of sections.
type object struct {
	File
	header   elf.Header64
	sections []elf.Section64
	table    int      // which section holds the symbols
	symbols  []byte   // as the file has them
	at       []uint32 // the new number of each symbol
}

// Localize makes all hidden symbols that an object file defines local. Files of other formats stay as they are.
func Localize(f File) error {
	o, err := open(f)
	if err != nil || o == nil {
		return err
	}
	if err := o.reorder(); err != nil {
		return err
	}
	for i := range o.sections {
		if err := o.renumber(&o.sections[i]); err != nil {
			return err
		}
	}
	return o.write(int64(o.header.Shoff), o.sections)
}

// open reads the tables of an object file, or gives nil for what is none.
func open(f File) (_ *object, err error) {
	head := make([]byte, headerBytes)
	if _, err := f.ReadAt(head, 0); err != nil {
		return nil, err
	}
	if string(head[:4]) != elf.ELFMAG || elf.Class(head[elf.EI_CLASS]) != elf.ELFCLASS64 || elf.Data(head[elf.EI_DATA]) != elf.ELFDATA2LSB {
		return nil, nil
	}
	o := &object{File: f, table: -1}
	if err := binary.Read(bytes.NewReader(head), binary.LittleEndian, &o.header); err != nil {
		return nil, err
	}
	if o.header.Shentsize != sectionBytes || elf.Machine(o.header.Machine) == elf.EM_MIPS { // whose relocations are written otherwise
		return nil, fmt.Errorf("an object file with sections of %d bytes, for %v", o.header.Shentsize, elf.Machine(o.header.Machine))
	}
	count := uint64(o.header.Shnum)
	if count == 0 { // too many for the header
		var first elf.Section64
		if err := o.read(int64(o.header.Shoff), &first); err != nil {
			return nil, err
		}
		count = first.Size
	}
	if count > 1<<20 {
		return nil, fmt.Errorf("an object file of %d sections", count)
	}
	o.sections = make([]elf.Section64, count)
	if err := o.read(int64(o.header.Shoff), o.sections); err != nil {
		return nil, err
	}
	for i, s := range o.sections {
		if elf.SectionType(s.Type) == elf.SHT_SYMTAB {
			o.table = i
			o.symbols, err = o.content(&s)
			return o, err
		}
	}
	return nil, nil
}

// reorder writes the symbols again: local ones before all others.
func (o *object) reorder() error {
	s := &o.sections[o.table]
	count := len(o.symbols) / symbolBytes
	o.at = make([]uint32, count)
	var local, global []byte
	hidden := func(i int) bool {
		symbol := o.symbols[i*symbolBytes:]
		visibility := elf.ST_VISIBILITY(symbol[5])
		section := elf.SectionIndex(binary.LittleEndian.Uint16(symbol[6:]))
		return (visibility == elf.STV_HIDDEN || visibility == elf.STV_INTERNAL) && section != elf.SHN_UNDEF && section != elf.SHN_COMMON
	}
	isLocal := func(i int) bool { return i < int(s.Info) || hidden(i) }
	for i := range count {
		symbol := o.symbols[i*symbolBytes : (i+1)*symbolBytes]
		if !isLocal(i) {
			continue
		}
		o.at[i] = uint32(len(local) / symbolBytes)
		if i >= int(s.Info) {
			symbol[4] = elf.ST_INFO(elf.STB_LOCAL, elf.ST_TYPE(symbol[4]))
			symbol[5] &^= 3 // its visibility
		}
		local = append(local, symbol...)
	}
	locals := uint32(len(local) / symbolBytes)
	for i := range count {
		if bind := elf.ST_BIND(o.symbols[i*symbolBytes+4]); bind == elf.STB_LOCAL {
			continue
		}
		o.at[i] = locals + uint32(len(global)/symbolBytes)
		global = append(global, o.symbols[i*symbolBytes:(i+1)*symbolBytes]...)
	}
	s.Info = locals
	_, err := o.WriteAt(append(local, global...), int64(s.Off))
	return err
}

// renumber changes the numbers of symbols in a section.
func (o *object) renumber(s *elf.Section64) error {
	if int(s.Link) != o.table {
		return nil
	}
	switch elf.SectionType(s.Type) {
	case elf.SHT_RELA:
		return o.relocations(s, 24)
	case elf.SHT_REL:
		return o.relocations(s, 16)
	case elf.SHT_GROUP:
		if int(s.Info) >= len(o.at) {
			return fmt.Errorf("a group of sections names symbol %d of %d", s.Info, len(o.at))
		}
		s.Info = o.at[s.Info]
	case elf.SHT_SYMTAB_SHNDX:
		old := make([]uint32, len(o.at))
		if err := o.read(int64(s.Off), old); err != nil {
			return err
		}
		moved := make([]uint32, len(old))
		for i, x := range old {
			moved[o.at[i]] = x
		}
		return o.write(int64(s.Off), moved)
	case addressHint:
		s.Link = 0
	}
	return nil
}

// relocations renumbers those of a section, which are of so many bytes each.
func (o *object) relocations(s *elf.Section64, each uint64) error {
	data, err := o.content(s)
	if err != nil {
		return err
	}
	for at := uint64(0); at+each <= uint64(len(data)); at += each {
		symbol := data[at+12 : at+16] // the upper half of r_info
		n := binary.LittleEndian.Uint32(symbol)
		if int(n) >= len(o.at) {
			return fmt.Errorf("a relocation names symbol %d of %d", n, len(o.at))
		}
		binary.LittleEndian.PutUint32(symbol, o.at[n])
	}
	_, err = o.WriteAt(data, int64(s.Off))
	return err
}

// content reads a section, once it is known that the file is as long.
func (o *object) content(s *elf.Section64) ([]byte, error) {
	end := s.Off + s.Size
	if s.Size == 0 {
		return nil, nil
	}
	if end < s.Off || end > 1<<62 {
		return nil, fmt.Errorf("a section of %d bytes at %d", s.Size, s.Off)
	}
	if _, err := o.ReadAt(make([]byte, 1), int64(end-1)); err != nil {
		return nil, err
	}
	data := make([]byte, s.Size)
	_, err := o.ReadAt(data, int64(s.Off))
	return data, err
}

func (o *object) read(at int64, into any) error {
	return binary.Read(io.NewSectionReader(o.File, at, int64(binary.Size(into))), binary.LittleEndian, into)
}

func (o *object) write(at int64, from any) error {
	return binary.Write(io.NewOffsetWriter(o.File, at), binary.LittleEndian, from)
}
