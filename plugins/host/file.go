package host

import (
	"bytes"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"tensortapestry.org/tapc/internal/inputfile"
)

// OpenFile opens a file that is to be a plugin's, and says what is plainly wrong with it. The error is a *Fault.
func OpenFile(path string) (*os.File, error) {
	return (&Plugin{path: path, name: filepath.Base(path)}).openPlugin()
}

// openPlugin opens the file that will be run and says what is plainly wrong with it. The error is a *Fault.
func (p *Plugin) openPlugin() (*os.File, error) {
	f, err := inputfile.Open(p.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, p.fault(CannotStart, "", "there is no such file")
	case err != nil:
		return nil, p.fault(CannotStart, "", errors.Unwrap(err).Error())
	}
	if fault := p.checkFile(f); fault != nil {
		f.Close()
		return nil, fault
	}
	return f, nil
}

func (p *Plugin) checkFile(f *os.File) *Fault {
	info, err := f.Stat()
	switch {
	case err != nil:
		return p.fault(CannotStart, "", err.Error())
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o111 == 0:
		fault := p.fault(CannotStart, "", fmt.Sprintf("it is not executable (mode %v)", info.Mode().Perm()))
		fault.Hint = "chmod +x " + p.path
		return fault
	}
	p.head = make([]byte, 256)
	n, _ := f.ReadAt(p.head, 0)
	p.head = p.head[:n]
	if system := builtFor(f, p.head); system != "" && system != runtime.GOOS+"/"+runtime.GOARCH {
		return p.fault(CannotStart, "", fmt.Sprintf("it is built for %s, and this is %s/%s", system, runtime.GOOS, runtime.GOARCH))
	}
	if p.opts.Digest == "" {
		return nil
	}
	digest, err := digestOf(f)
	if err != nil {
		return p.fault(CannotStart, "", err.Error())
	}
	if digest != p.opts.Digest {
		fault := p.fault(WrongDigest, "", fmt.Sprintf("expected SHA-256 %s, found %s", p.opts.Digest, digest))
		fault.Hint = fmt.Sprintf("if you trust the new file, run: tapc plugin install %s", p.path)
		return fault
	}
	return nil
}

// machines are the names of architectures in Go, by their numbers in ELF. Only little-endian ones are named that have a twin.
var machines = map[elf.Machine]string{elf.EM_X86_64: "amd64", elf.EM_AARCH64: "arm64", elf.EM_386: "386", elf.EM_ARM: "arm",
	elf.EM_RISCV: "riscv64", elf.EM_PPC64: "ppc64le", elf.EM_S390: "s390x", elf.EM_LOONGARCH: "loong64"}

// builtFor tells the system that a program is built for, as GOOS/GOARCH, or "" if that does not show.
func builtFor(f io.ReaderAt, head []byte) string {
	switch {
	case bytes.HasPrefix(head, []byte(elf.ELFMAG)):
		program, err := elf.NewFile(f)
		if err != nil {
			return "an unknown system (its ELF header is damaged)"
		}
		defer program.Close()
		system := "linux"
		if program.OSABI == elf.ELFOSABI_FREEBSD {
			system = "freebsd"
		}
		if name := machines[program.Machine]; name != "" {
			return system + "/" + name
		}
		return fmt.Sprintf("%s/%v", system, program.Machine)
	case bytes.HasPrefix(head, []byte("MZ")):
		return "windows"
	case bytes.HasPrefix(head, []byte("\xcf\xfa\xed\xfe\x07\x00\x00\x01")):
		return "darwin/amd64"
	case bytes.HasPrefix(head, []byte("\xcf\xfa\xed\xfe\x0c\x00\x00\x01")):
		return "darwin/arm64"
	}
	return ""
}

// digestOf gives the SHA-256 of an open file in hex.
func digestOf(f io.ReaderAt) (string, error) {
	h := sha256.New()
	if _, err := io.Copy(h, io.NewSectionReader(f, 0, 1<<62)); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// Digest gives the SHA-256 of a file in hex.
func Digest(path string) (string, error) {
	f, err := inputfile.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	return digestOf(f)
}
