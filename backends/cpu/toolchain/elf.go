package toolchain

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"io"
	"strings"

	"tensortapestry.org/tapc/backends/cpu/isa"
)

// Object is what an object file has in memory where a program has it.
type Object struct {
	Bytes int64    // instructions and constants, without what debuggers and unwinding need
	Calls []string // what it needs of others
}

// ReadObject reads an object file; ok says that it is one of ELF, whose instructions no linker writes anew (-flto).
func ReadObject(path string) (o Object, ok bool) {
	f, err := elf.Open(path)
	if err != nil {
		return o, false
	}
	defer f.Close()
	for _, s := range f.Sections {
		if strings.HasPrefix(s.Name, ".gnu.lto_") {
			return o, false
		}
		if s.Flags&elf.SHF_ALLOC != 0 && !strings.HasPrefix(s.Name, ".eh_frame") {
			o.Bytes += int64(s.Size)
		}
	}
	symbols, err := f.Symbols()
	for _, s := range symbols {
		if s.Section == elf.SHN_UNDEF {
			o.Calls = append(o.Calls, s.Name)
		}
	}
	return o, err == nil
}

// WriteObject writes an object file of a kind of processor, of little-endian numbers of 64 bits, whose read-only data is size bytes, as write gives them, under the hidden symbol tapc_constants. The
// bytes go through once. Source of the format: System V ABI, "Object Files".
func WriteObject(to io.Writer, machine elf.Machine, size int64, write func(io.Writer) error) error {
	const align = 4096
	names := "\x00.rodata\x00.symtab\x00.strtab\x00.shstrtab\x00.note.GNU-stack\x00"
	symbols := "\x00tapc_constants\x00"
	at := func(name string) uint32 { return uint32(bytes.Index([]byte(names), []byte("\x00"+name+"\x00"))) + 1 }
	var table bytes.Buffer
	put(&table, elf.Sym64{})
	put(&table, elf.Sym64{Name: 1, Info: elf.ST_INFO(elf.STB_GLOBAL, elf.STT_OBJECT), Other: byte(elf.STV_HIDDEN), Shndx: 1, Size: uint64(size)})
	symtab := align + isa.Align(size, 8)
	strtab := symtab + int64(table.Len())
	shstrtab := strtab + int64(len(symbols))
	headers := isa.Align(shstrtab+int64(len(names)), 8)
	sections := []elf.Section64{
		{},
		{Name: at(".rodata"), Type: uint32(elf.SHT_PROGBITS), Flags: uint64(elf.SHF_ALLOC), Off: align, Size: uint64(size), Addralign: align},
		{Name: at(".symtab"), Type: uint32(elf.SHT_SYMTAB), Off: uint64(symtab), Size: uint64(table.Len()), Link: 3, Info: 1, Addralign: 8, Entsize: elf.Sym64Size},
		{Name: at(".strtab"), Type: uint32(elf.SHT_STRTAB), Off: uint64(strtab), Size: uint64(len(symbols)), Addralign: 1},
		{Name: at(".shstrtab"), Type: uint32(elf.SHT_STRTAB), Off: uint64(shstrtab), Size: uint64(len(names)), Addralign: 1},
		{Name: at(".note.GNU-stack"), Type: uint32(elf.SHT_PROGBITS), Off: uint64(shstrtab), Addralign: 1},
	}
	var head bytes.Buffer
	h := elf.Header64{Type: uint16(elf.ET_REL), Machine: uint16(machine), Version: uint32(elf.EV_CURRENT), Shoff: uint64(headers), Ehsize: 64,
		Shentsize: 64, Shnum: uint16(len(sections)), Shstrndx: 4}
	copy(h.Ident[:], elf.ELFMAG)
	h.Ident[elf.EI_CLASS], h.Ident[elf.EI_DATA], h.Ident[elf.EI_VERSION] = byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)
	put(&head, h)
	head.Write(make([]byte, align-head.Len()))
	if _, err := to.Write(head.Bytes()); err != nil {
		return err
	}
	if err := write(to); err != nil {
		return err
	}
	var tail bytes.Buffer
	tail.Write(make([]byte, symtab-align-size))
	tail.Write(table.Bytes())
	tail.WriteString(symbols + names)
	tail.Write(make([]byte, headers-shstrtab-int64(len(names))))
	for _, s := range sections {
		put(&tail, s)
	}
	_, err := to.Write(tail.Bytes())
	return err
}

// put writes a record as WriteObject has them. A buffer takes all that it is given.
func put(b *bytes.Buffer, record any) { _ = binary.Write(b, binary.LittleEndian, record) }
