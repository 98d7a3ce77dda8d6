package rt

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/tensorfile"
)

func npyBytes(header string, data int) []byte {
	b := []byte("\x93NUMPY\x01\x00")
	b = binary.LittleEndian.AppendUint16(b, uint16(len(header)))
	return append(append(b, header...), make([]byte, data)...)
}

func npyOf(descr, shape string, data int) []byte {
	return npyBytes(fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': %s, }\n", descr, shape), data)
}

func safetensorsBytes(header string, data int) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(b, header...), make([]byte, data)...)
}

// npzBytes is an archive with one entry.
func npzBytes(t testing.TB, method uint16, name string, data []byte) []byte {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	entry, err := w.CreateHeader(&zip.FileHeader{Name: name, Method: method})
	must(t, err)
	_, err = entry.Write(data)
	must(t, err)
	must(t, w.Close())
	return b.Bytes()
}

// patch overwrites bytes after the last occurrence of a mark.
func patch(data []byte, mark string, at int, with string) []byte {
	data = bytes.Clone(data)
	copy(data[bytes.LastIndex(data, []byte(mark))+at:], with)
	return data
}

type hostile struct {
	data []byte
	want string
}

// hostileFiles are files for input "a" of add.c, int32 [2, 3]; the flat table says what each must be told.
func hostileFiles(t testing.TB) map[string]hostile {
	good := npyOf("<i4", "(2, 3)", 24)
	deflated, stored := npzBytes(t, zip.Deflate, "a.npy", good), npzBytes(t, zip.Store, "a.npy", good)
	directory, max := "PK\x01\x02", "\xff\xff\xff\x7f"
	return map[string]hostile{
		"empty.npy":        {nil, "expected a tensor file, found an empty file"},
		"text.npy":         {[]byte("a,b,c\n1,2,3\n"), "expected a .npy, .npz or .safetensors file, found one that begins with 61 2c 62 2c"},
		"magic.npy":        {[]byte("\x93NUMPY"), "truncated: expected a .npy header, found 6 bytes"},
		"version.npy":      {[]byte("\x93NUMPY\x07\x00\x00\x00\x00\x00"), ".npy version: expected 1, 2 or 3, found 7.0"},
		"length.npy":       {[]byte("\x93NUMPY\x02\x00\xff\xff\xff\xff"), "expected at most 65536 bytes, found 4294967295"},
		"cut.npy":          {good[:40], "truncated: expected a .npy header of"},
		"short.npy":        {good[:len(good)-1], "truncated: expected 24 bytes of data for int32[2, 3], found 23"},
		"long.npy":         {append(good, 0), "too long: expected 24 bytes of data for int32[2, 3], found 25"},
		"dtype.npy":        {npyOf("<f8", "(2, 3)", 48), "dtype: expected int32, found float64"},
		"shape.npy":        {npyOf("<i4", "(3, 2)", 24), "shape: expected [2, 3], found [3, 2]"},
		"rank.npy":         {npyOf("<i4", "(6,)", 24), "shape: expected [2, 3], found [6]"},
		"scalar.npy":       {npyOf("<i4", "()", 4), "shape: expected [2, 3], found []"},
		"huge.npy":         {npyOf("<i4", "(1000000, 1000000)", 24), "shape: expected [2, 3], found [1000000, 1000000]"},
		"overflow.npy":     {npyOf("<i4", "(4611686018427387904, 4)", 24), "shape: expected fewer than 2^63 bytes, found [4611686018427387904, 4]"},
		"digits.npy":       {npyOf("<i4", "(99999999999999999999,)", 24), "expected a dimension below 2^63"},
		"negative.npy":     {npyOf("<i4", "(-2, 3)", 24), "expected a dimension, found \"-2, 3), }"},
		"dimensions.npy":   {npyOf("<i4", "("+strings.Repeat("1,", 65)+")", 4), "at most 64 dimensions"},
		"bfloat16.npy":     {npyOf("<V2", "(2, 3)", 12), "raw records '<V2' have no element type (bfloat16 and float8 are kept so); use .safetensors"},
		"object.npy":       {npyOf("|O", "(2, 3)", 48), "dtype: expected a boolean, integer, float or complex type such as '<f4', found '|O'"},
		"record.npy":       {npyBytes("{'descr': [('a', '<i4')], 'fortran_order': False, 'shape': (2,)}", 8), "expected a type string"},
		"brace.npy":        {npyBytes("descr", 0), `expected "{", found "descr"`},
		"nothing.npy":      {npyBytes("{}", 0), "one is missing"},
		"open.npy":         {npyBytes("{'descr': '<i4'", 0), `expected "," or "}", found the end`},
		"twice.npy":        {npyBytes("{'descr': '<i4', 'descr': '<i4'}", 0), "found 'descr' twice"},
		"key.npy":          {npyBytes("{'dscr': '<i4'}", 0), "found 'dscr'"},
		"after.npy":        {npyBytes("{'descr': '<i4', 'fortran_order': False, 'shape': (2,3)} x", 24), `expected nothing after "}", found "x"`},
		"flag.npy":         {npyBytes("{'fortran_order': Maybe}", 0), "expected True or False"},
		"quote.npy":        {npyBytes("{'descr': '<i4", 0), "expected a type string"},
		"escape.npy":       {npyBytes(`{'de\x73cr': '<i4'}`, 0), "expected a key"},
		"line\nbreak.npy":  {nil, "line?break.npy: expected a tensor file"},
		"cut.npz":          {stored[:len(stored)-30], "truncated or damaged: expected a ZIP end record, found none"},
		"other.npz":        {npzBytes(t, zip.Store, "a.pkl", good), "expected only .npy entries, found \"a.pkl\""},
		"damaged.npz":      {patch(stored, "}\n", 5, "x"), "damaged: expected checksum"},
		"crc.npz":          {patch(deflated, directory, 16, "\x00\x00"), "damaged: expected checksum"},
		"method.npz":       {patch(stored, directory, 10, "\x63"), "expected a stored or deflated entry, found compression method 99"},
		"encrypted.npz":    {patch(stored, directory, 8, "\x01"), "expected a plain entry, found an encrypted one"},
		"bomb.npz":         {patch(deflated, directory, 24, max), "cannot come from"},
		"sizes.npz":        {patch(stored, directory, 24, max), "cannot come from"},
		"beyond.npz":       {patch(patch(stored, directory, 24, max), directory, 20, max), "truncated or damaged: expected 2147483647 bytes"},
		"more.npz":         {patch(deflated, directory, 24, "\xff\x00\x00\x00"), "too long: expected 24 bytes"},
		"entries.npz":      {patch(stored, "PK\x05\x06", 10, "\xfe\xff"), "65534 entries in"},
		"directory.npz":    {patch(stored, "PK\x05\x06", 16, "\xff\xff\xff\x00"), "do not fit before the end record"},
		"deflate.npz":      {patch(deflated, "PK\x03\x04", 35, "\xff\xff\xff"), "damaged: the deflate stream is not valid"},
		"nested.npz":       {npzBytes(t, zip.Store, "a.npy", []byte("PK")), "truncated: expected a .npy header, found 2 bytes"},
		"entry dtype.npz":  {npzBytes(t, zip.Deflate, "a.npy", npyOf("<u4", "(2, 3)", 24)), "dtype: expected int32, found uint32"},
		"entry short.npz":  {npzBytes(t, zip.Deflate, "a.npy", good[:len(good)-4]), "truncated: expected 24 bytes"},
		"none.npz":         {npzBytes(t, zip.Store, "b.npy", good)[:0], "found an empty file"},
		"length.st":        {append(bytes.Repeat([]byte{0xff}, 8), '{'), ".safetensors header length: expected at most 1, found 18446744073709551615"},
		"cut.st":           {safetensorsBytes(`{"a":{"dtype":"I32","shape":[2,3],"data_offsets":[0,24]}}`, 20), "expected data_offsets within 0 to 20, found 0 to 24"},
		"long.st":          {safetensorsBytes(`{"a":{"dtype":"I32","shape":[2,3],"data_offsets":[0,24]}}`, 25), "expected 24 bytes of tensors, found 25"},
		"json.st":          {safetensorsBytes(`{a:1}`, 0), "bad .safetensors header at byte 9"},
		"twice.st":         {safetensorsBytes(`{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}}`, 2), `found "a" twice`},
		"overlap.st":       {safetensorsBytes(`{"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}}`, 3), "expected its bytes to begin at 2, where the tensor before ends, found 1"},
		"hole.st":          {safetensorsBytes(`{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"b":{"dtype":"U8","shape":[1],"data_offsets":[2,3]}}`, 3), "expected its bytes to begin at 1, where the tensor before ends, found 2"},
		"size.st":          {safetensorsBytes(`{"a":{"dtype":"I32","shape":[7],"data_offsets":[0,24]}}`, 24), "expected 28 bytes for its dtype and shape, found data_offsets for 24"},
		"overflow.st":      {safetensorsBytes(`{"a":{"dtype":"I32","shape":[4294967296,4294967296],"data_offsets":[0,24]}}`, 24), "expected fewer than 2^63 bytes"},
		"dtype.st":         {safetensorsBytes(`{"a":{"dtype":"F4","shape":[1],"data_offsets":[0,1]}}`, 1), "found \"F4\""},
		"other.st":         {safetensorsBytes(`{"b":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"aa":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}}`, 2), `expected an entry "a", found none among 2; did you mean "aa"?`},
		"shape.st":         {safetensorsBytes(`{"a":{"dtype":"I32","shape":[24],"data_offsets":[0,96]}}`, 96), "shape: expected [2, 3], found [24]"},
		"surrogate.st":     {safetensorsBytes(`{"a\ud800":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}`, 1), "expected a valid escape"},
		"unterminated.st":  {safetensorsBytes(`{"a`, 0), "expected a string that ends"},
		"unterminated2.st": {safetensorsBytes(`{"a\`, 0), "expected a string that ends"},
	}
}

func TestHostileFiles(t *testing.T) {
	each(t, func(t *testing.T, c toolchain) {
		add, dir := build(t, c, "add.c", true), t.TempDir()
		for name, h := range hostileFiles(t) {
			write(t, filepath.Join(dir, name), h.data)
			fail(t, dir, add, 1, h.want, "--random", "1", "--input", "a="+name, "--output", "c=out.npy")
		}
		noPartFiles(t, dir)
		if _, err := os.Stat(filepath.Join(dir, "out.npy")); err == nil {
			t.Error("an output was written")
		}
	})
}

func TestWrongInputs(t *testing.T) {
	each(t, func(t *testing.T, c toolchain) {
		add, dir := build(t, c, "add.c", true), t.TempDir()
		writeInputs(t, dir)
		must(t, os.Mkdir(filepath.Join(dir, "dir.npy"), 0o755))
		must(t, tensorfile.WriteNPZ(filepath.Join(dir, "typo.npz"), map[string]tensorfile.Tensor{"A": addInputs()["a"]}))
		bools := npyOf("|b1", "(4,)", 0)
		write(t, filepath.Join(dir, "bool.npy"), append(bools, 0, 1, 2, 0))
		copies := build(t, c, "copy.c", true, "-DWIDE")
		four := npyBytes("{'descr': '|i1', 'fortran_order': False, 'shape': (3, 5, 7)}", 105)
		four[len(four)-1] = 0xf7 // -9
		write(t, filepath.Join(dir, "int4.npy"), four)
		for want, args := range map[string][]string{
			`no input is named "aa"; did you mean "a"? (inputs: a, b, x, y)`:                    {"--input", "aa=a.npy"},
			`no input is named "weights" (inputs: a, b, x, y)`:                                  {"--input", "weights=a.npy"},
			`no output is named "cc"; did you mean "c"? (outputs: c, z, less)`:                  {"--output", "cc=c.npy"},
			`input "b" is missing: expected --input b=FILE with int32 [2, 3], or --random SEED`: {"--input", "a=a.npy"},
		} {
			fail(t, dir, add, 2, want, args...)
		}
		long, err := os.ReadFile(filepath.Join(dir, "x.npy"))
		must(t, err)
		write(t, filepath.Join(dir, "long.npy"), append(long, 0))
		for want, args := range map[string][]string{
			`input "a": none.npy: cannot open: No such file or directory`:                       {"--input", "a=none.npy"},
			`input "a": dir.npy: expected a regular file, found a directory`:                    {"--input", "a=dir.npy"},
			`input "a": other.npz: expected an entry "a", found none among 2`:                   {"--input", "a=other.npz"},
			`input "a": all.npz:zz: expected an entry "zz", found none among 4`:                 {"--input", "a=all.npz:zz"},
			`input "a": a.npy:k: a .npy file has no entries`:                                    {"--input", "a=a.npy:k"},
			`typo.npz: no input is named "A"; did you mean "a"? (the program has 4)`:            {"--inputs", "typo.npz"},
			`a .npy file holds one input without a name: expected NAME=a.npy`:                   {"--inputs", "a.npy"},
			`input "y": long.npy: too long: expected 16 bytes of data for float32[4], found 17`: {"--input", "y=long.npy"},
		} {
			fail(t, dir, add, 1, want, args...)
		}
		fail(t, dir, copies, 1, "expected -8 to 7 in a tensor of int4, found -9 at element 104", "--random", "1", "--input", "int4=int4.npy")
		fail(t, dir, build(t, c, "copy.c", true, "-DFLAGS"), 1, "expected 0 to 1 in a tensor of boolean, found 2 at element 2", "--input", "flags=bool.npy")
	})
}

// Files from NumPy and the safetensors library, with big-endian, Fortran-ordered and deflated tensors.
func TestFixturesOfOthers(t *testing.T) {
	fixtures, err := filepath.Abs("../../../ir/tensorfile/testdata")
	must(t, err)
	each(t, func(t *testing.T, c toolchain) {
		dir := t.TempDir()
		program := build(t, c, "copy.c", true, "-DFIXTURE")
		for _, file := range []string{"plain.npz", "turned.npz", "all.safetensors"} {
			want, err := tensorfile.Open(filepath.Join(fixtures, file))
			must(t, err)
			var args []string
			for _, info := range want.Tensors() {
				if info.DType <= scalar.Float64 && info.DType != scalar.BFloat16 || info.DType == scalar.Complex64 {
					args = append(args, "--input", info.Name+"="+filepath.Join(fixtures, file))
				}
			}
			succeed(t, dir, program, append(args, "--outputs", "o.npz")...)
			got, err := tensorfile.Open(filepath.Join(dir, "o.npz"))
			must(t, err)
			for _, info := range got.Tensors() {
				g, err := got.Load(info.Name)
				must(t, err)
				w, err := want.Load(info.Name)
				must(t, err)
				if !bytes.Equal(g.Data, w.Data) {
					t.Errorf("%s: %s differs", file, info.Name)
				}
			}
		}
	})
}

// mutate changes a few bytes, or cuts, or repeats a piece.
func mutate(random *rand.Rand, data []byte) []byte {
	data = bytes.Clone(data)
	for range 1 + random.IntN(3) {
		at := random.IntN(len(data))
		switch random.IntN(8) {
		case 0:
			data = append(data[:at:at], data[min(len(data), at+1+random.IntN(4)):]...)
		case 1:
			data = append(data[:at:at], append([]byte{data[at]}, data[at:]...)...)
		case 2:
			data[at] = []byte("0123456789{}[]()'\":,<>=|\\fiubc \x00\xff")[random.IntN(33)]
		default:
			data[at] ^= 1 << random.IntN(8)
		}
		if len(data) == 0 {
			return []byte{0}
		}
	}
	return data
}

// The readers in C and in Go accept the same damaged files and read the same from them; C never does worse than refuse.
func TestReadersAgree(t *testing.T) {
	each(t, func(t *testing.T, c toolchain) {
		dir := t.TempDir()
		random := rand.New(rand.NewPCG(1, 2))
		good := npyOf("<f4", "(2, 3)", 24)
		for i := range 24 {
			good[len(good)-1-i] = byte(37 * i)
		}
		big := npyBytes("{'descr': '>f4', 'fortran_order': True, 'shape': (2, 3)}", 24)
		st := safetensorsBytes(`{"__metadata__":{"k":"v"},"a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},"b":{"dtype":"U8","shape":[],"data_offsets":[24,25]}}`, 25)
		seeds := [][]byte{good, big, st, npzBytes(t, zip.Store, "a.npy", good), npzBytes(t, zip.Deflate, "a.npy", good)}
		const each = 300
		var files [][]byte
		var paths strings.Builder
		for _, seed := range seeds {
			for range each {
				path := filepath.Join(dir, fmt.Sprint(len(files)))
				files = append(files, mutate(random, seed))
				write(t, path, files[len(files)-1])
				fmt.Fprintln(&paths, path)
			}
		}
		cmd := command(build(t, c, "readmany.c", false))
		cmd.Stdin = strings.NewReader(paths.String())
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
		if len(lines) != len(files) {
			t.Fatalf("%d files, %d lines", len(files), len(lines))
		}
		accepted := 0
		for i, line := range lines {
			want, err := readInGo(files[i])
			zipped := i >= 3*each // archive/zip knows other variants of the container: only values must agree
			if err == nil && strings.HasPrefix(line, "ok") {
				accepted++
			}
			if (err == nil) != strings.HasPrefix(line, "ok") && !zipped || err == nil && strings.HasPrefix(line, "ok") && line != want {
				t.Errorf("file %d: C says %q, Go says %q, %v\n%q", i, line, want, err, files[i])
			}
		}
		if accepted < 50 || accepted > len(files)*3/4 {
			t.Errorf("%d of %d damaged files are accepted: the test compares too little", accepted, len(files))
		}
	})
}

// readInGo is readmany.c in Go.
func readInGo(data []byte) (string, error) {
	f, err := tensorfile.Read("x", bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return "", err
	}
	a, err := f.Load("a")
	if err != nil && len(f.Tensors()) == 1 {
		a, err = f.Load("")
	}
	if err != nil {
		return "", err
	}
	if a.DType != scalar.Float32 || len(a.Shape) != 2 || a.Shape[0] != 2 || a.Shape[1] != 3 {
		return "", fmt.Errorf("found %s%v", a.DType, a.Shape)
	}
	line := "ok"
	for i := range 6 {
		line += fmt.Sprintf(" %08x", binary.LittleEndian.Uint32(a.Data[4*i:]))
	}
	return line, nil
}
