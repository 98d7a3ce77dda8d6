package note

import (
	"bytes"
	"debug/elf"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tensortapestry.org/tapc/internal/testkit"
)

// sample is a text whose length, with its end, is no multiple of 4, and one whose length is.
var samples = []string{"{\"a\": \"ä\\n\"}\n", "{\"b\": 1}", "{\"b\": 12345678}\n", "{\"long\": \"" + strings.Repeat("x", 1000) + "\"}"}

// compiled gives an object file with a note, by a compiler and flags.
func compiled(t testing.TB, cc, dir, text string, flags ...string) string {
	t.Helper()
	source, object := filepath.Join(dir, "a.c"), filepath.Join(dir, "a.o")
	code := "typedef unsigned uint32_t;\n" + C(text) + "const char *describe(void) { return program_description; }\n"
	if err := os.WriteFile(source, []byte(code), 0o644); err != nil {
		t.Fatal(err)
	}
	run(t, cc, append(flags, "-c", source, "-o", object)...)
	return object
}

func run(t testing.TB, command string, args ...string) {
	t.Helper()
	if out, err := exec.Command(command, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %v: %v\n%s", command, args, err, out)
	}
}

func read(t testing.TB, path string) ([]byte, *File, error) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := Read(bytes.NewReader(data), int64(len(data)))
	return data, f, err
}

// TestRead reads notes that compilers and linkers wrote, of every kind of file.
func TestRead(t *testing.T) {
	gcc, clang := testkit.Program(t, testkit.Compilers, "gcc"), testkit.Program(t, testkit.Compilers, "clang")
	for _, text := range samples {
		for _, x := range []struct {
			cc, out string
			kind    Kind
			flags   []string
			link    []string
		}{
			{gcc, "a.o", Object, nil, nil},
			{clang, "a.o", Object, nil, nil},
			{gcc, "a.o", Object, []string{"-m32"}, nil},
			{clang, "a.o", Object, []string{"--target=armv7-linux-gnueabi"}, nil},
			{clang, "a.o", Object, []string{"--target=arm64-apple-darwin"}, nil},
			{gcc, "a.so", Library, []string{"-fPIC"}, []string{"-shared"}},
			{gcc, "a.so", Library, []string{"-fPIC"}, []string{"-shared", "-s", "-Wl,--gc-sections"}},
			{gcc, "a", Executable, nil, []string{"-nostdlib", "-static", "-Wl,-e,describe", "-s"}},
			{gcc, "a", Executable, []string{"-fPIE"}, []string{"-nostdlib", "-pie", "-Wl,-e,describe"}},
		} {
			dir := t.TempDir()
			object := compiled(t, x.cc, dir, text, x.flags...)
			path := filepath.Join(dir, x.out)
			if x.link != nil {
				run(t, x.cc, append(x.link, object, "-o", path)...)
			}
			if _, f, err := read(t, path); err != nil || f.Kind != x.kind || !slices.Equal(f.Texts, []string{text}) {
				t.Errorf("%s %v %v: %+v, %v", x.cc, x.flags, x.link, f, err)
			}
		}
	}
}

// TestSeveral reads an archive, and a library of two objects: each has its text.
func TestSeveral(t *testing.T) {
	gcc, ar := testkit.Program(t, testkit.Compilers, "gcc"), testkit.Program(t, testkit.Compilers, "ar")
	dir := t.TempDir()
	var objects []string
	for i, text := range samples[:2] {
		sub := filepath.Join(dir, []string{"x", "y"}[i])
		if err := os.Mkdir(sub, 0o755); err != nil {
			t.Fatal(err)
		}
		objects = append(objects, compiled(t, gcc, sub, text, "-fPIC", "-Ddescribe=describe"+[]string{"x", "y"}[i]))
	}
	run(t, gcc, append(objects, "-shared", "-o", filepath.Join(dir, "both.so"))...)
	if err := os.Rename(objects[1], filepath.Join(dir, "other.o")); err != nil {
		t.Fatal(err)
	}
	run(t, ar, "rcs", filepath.Join(dir, "both.a"), objects[0], filepath.Join(dir, "other.o"))
	for name, kind := range map[string]Kind{"both.so": Library, "both.a": Archive} {
		if _, f, err := read(t, filepath.Join(dir, name)); err != nil || f.Kind != kind || !slices.Equal(f.Texts, samples[:2]) {
			t.Errorf("%s: %+v, %v", name, f, err)
		}
	}
}

// TestHostile cuts a file at every length and overwrites every byte: what is read is the text or an error, never a panic, and a
// file that is cut off is refused.
func TestHostile(t *testing.T) {
	gcc := testkit.Program(t, testkit.Compilers, "gcc")
	dir := t.TempDir()
	object := compiled(t, gcc, dir, samples[0], "-fPIC")
	library := filepath.Join(dir, "a.so")
	run(t, gcc, "-shared", "-nostdlib", "-Wl,-z,max-page-size=64", object, "-o", library)
	for _, path := range []string{object, library} {
		data, _, err := read(t, path)
		if err != nil {
			t.Fatal(err)
		}
		for n := range data {
			if f, err := Read(bytes.NewReader(data[:n]), int64(n)); err == nil {
				t.Fatalf("%s: cut to %d of %d bytes it is read: %v", path, n, len(data), f)
			}
		}
		for i := range data {
			bad := slices.Clone(data)
			for _, b := range []byte{0xff, 0x80, 0} {
				bad[i] = b
				f, err := Read(bytes.NewReader(bad), int64(len(bad)))
				if err == nil && len(f.Texts) == 0 {
					t.Fatalf("%s: with byte %d as %#x there is no text and no error", path, i, b)
				}
			}
		}
	}
}

// TestRefused says why of files that have no note.
func TestRefused(t *testing.T) {
	gcc := testkit.Program(t, testkit.Compilers, "gcc")
	dir := t.TempDir()
	object := compiled(t, gcc, dir, samples[0])
	newer, _, _ := read(t, object)
	at := bytes.Index(newer, []byte("tapc\x00"))
	newer[at-4] = Schema + 1
	plain := filepath.Join(dir, "plain.o")
	if err := os.WriteFile(filepath.Join(dir, "plain.c"), []byte("int x;\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	run(t, gcc, "-c", filepath.Join(dir, "plain.c"), "-o", plain)
	none, _, err := read(t, plain)
	if !errors.Is(err, ErrNone) {
		t.Error(err)
	}
	big := append([]byte{}, none...)
	big[elf.EI_DATA] = byte(elf.ELFDATA2MSB)
	for want, data := range map[string][]byte{"of version 2": newer, "no note": none, "little-endian": big, "no executable": []byte("hello"), "no member": []byte("!<arch>\n" + strings.Repeat("x", 80))} {
		if _, err := Read(bytes.NewReader(data), int64(len(data))); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("expected %q, found %v", want, err)
		}
	}
}

// FuzzRead: any bytes are read as a file with notes, or refused; what is read of a note is a part of the file.
func FuzzRead(f *testing.F) {
	f.Add([]byte("\x7fELF"))
	f.Add([]byte("!<arch>\n" + strings.Repeat(" ", 48) + "12        `\n\x7fELFabcdefgh"))
	f.Add([]byte{0xcf, 0xfa, 0xed, 0xfe})
	if cc, err := exec.LookPath("cc"); err == nil {
		data, _, err := read(f, compiled(f, cc, f.TempDir(), samples[0]))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := Read(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return
		}
		for _, text := range file.Texts {
			if !bytes.Contains(data, []byte(text)) {
				t.Errorf("%q is not in the file", text)
			}
		}
	})
}
