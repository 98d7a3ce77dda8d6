package note

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

// Of <mach-o/loader.h>, in bytes.
const (
	machoHeader, machoCommand, machoSegmentBytes, machoSectionBytes = 32, 8, 72, 80
	machoSegment64                                                  = 0x19 // LC_SEGMENT_64
)

var machoKinds = map[uint32]Kind{1: Object, 2: Executable, 6: Library, 8: Library}

// macho reads the note of a Mach-O file of 64 bits. All segments must be there.
func (s *scan) macho(f *File) error {
	head, err := s.bytes(0, machoHeader)
	if err != nil {
		return err
	}
	word := binary.LittleEndian.Uint32
	var known bool
	if f.Kind, known = machoKinds[word(head[12:])]; !known {
		return fmt.Errorf("a Mach-O file of type %d: expected an executable, a library or an object", word(head[12:]))
	}
	commands, err := s.bytes(machoHeader, int64(word(head[20:])))
	if err != nil {
		return err
	}
	for range word(head[16:]) {
		if len(commands) < machoCommand || word(commands[4:]) < machoCommand || int64(word(commands[4:])) > int64(len(commands)) {
			return errors.New("it is damaged: a load command is cut off")
		}
		one := commands[:word(commands[4:])]
		commands = commands[len(one):]
		if word(one) == machoSegment64 {
			if err := s.machoSegment(f, one); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *scan) machoSegment(f *File, command []byte) error {
	if len(command) < machoSegmentBytes {
		return errors.New("it is damaged: a segment is cut off")
	}
	if err := s.within(binary.LittleEndian.Uint64(command[40:]), binary.LittleEndian.Uint64(command[48:])); err != nil {
		return err
	}
	for rows := command[machoSegmentBytes:]; len(rows) >= machoSectionBytes; rows = rows[machoSectionBytes:] {
		if name, _, _ := bytes.Cut(rows[:16], []byte{0}); string(name) != machoSection {
			continue
		}
		at, n := uint64(binary.LittleEndian.Uint32(rows[48:])), binary.LittleEndian.Uint64(rows[40:])
		if err := s.within(at, n); err != nil {
			return err
		}
		data, err := s.bytes(int64(at), int64(n))
		if err != nil {
			return err
		}
		if err := f.notes(data); err != nil {
			return err
		}
	}
	return nil
}
