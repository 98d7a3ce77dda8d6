package tensorfile

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tensortapestry.org/tapc/ir/scalar"
)

func npyBytes(header string, data int) []byte {
	b := []byte(npyMagic + "\x01\x00")
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

func npzBytes(t testing.TB, method uint16, names ...string) []byte {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, name := range names {
		entry, err := w.CreateHeader(&zip.FileHeader{Name: name, Method: method})
		if err != nil {
			t.Fatal(err)
		}
		entry.Write(npyOf("<f4", "(2, 3)", 24))
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// patch overwrites bytes after the last occurrence of a mark.
func patch(data []byte, mark string, at int, with string) []byte {
	data = bytes.Clone(data)
	copy(data[bytes.LastIndex(data, []byte(mark))+at:], with)
	return data
}

// load reads all tensors of a file in memory.
func load(data []byte) error {
	f, err := Read("x", bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return err
	}
	for _, info := range f.Tensors() {
		t, err := f.Load(info.Name)
		if err != nil {
			return err
		}
		if err := t.Check(); err != nil {
			return fmt.Errorf("loaded without an error, but %w", err)
		}
	}
	return nil
}

func TestHostileFiles(t *testing.T) {
	stored, deflated := npzBytes(t, zip.Store, "a.npy"), npzBytes(t, zip.Deflate, "a.npy")
	one := `"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}`
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"empty":                   {nil, "expected a tensor file, found an empty file"},
		"unknown":                 {[]byte("hello world"), "found one that begins with 68 65"},
		"npy magic only":          {[]byte(npyMagic), "truncated: expected a .npy header, found 6 bytes"},
		"npy version":             {[]byte(npyMagic + "\x04\x00\x00\x00\x00\x00"), "expected 1, 2 or 3, found 4.0"},
		"npy header length":       {[]byte(npyMagic + "\x02\x00\xff\xff\xff\xff"), "expected at most 65536 bytes, found 4294967295"},
		"npy header cut":          {[]byte(npyMagic + "\x01\x00\x80\x00{}"), "expected a .npy header of 128 bytes, found 2"},
		"npy no dict":             {npyBytes("descr", 0), `expected "{", found "descr"`},
		"npy empty dict":          {npyBytes("{}", 0), "found 0 of them"},
		"npy open dict":           {npyBytes("{'descr': '<f4'", 0), `expected "," or "}", found the end`},
		"npy twice":               {npyBytes("{'descr': '<f4', 'descr': '<f8'}", 0), "found 'descr' twice"},
		"npy other key":           {npyBytes("{'description': '<f4'}", 0), `found "description"`},
		"npy trailing":            {npyBytes("{'descr': '<f4', 'fortran_order': False, 'shape': ()} x", 4), `nothing after "}", found "x"`},
		"npy flag":                {npyBytes("{'fortran_order': 1}", 0), "expected True or False"},
		"npy shape a number":      {npyOf("<f4", "(3)", 12), `"," or ")" in the shape`},
		"npy shape negative":      {npyOf("<f4", "(-3,)", 12), `expected a dimension, found "-3,)`},
		"npy shape overflow":      {npyOf("<f4", "(4611686018427387904, 4)", 12), "expected fewer than 2^63 bytes"},
		"npy dimension overflow":  {npyOf("<f4", "(99999999999999999999,)", 12), "expected a dimension below 2^63"},
		"npy dimension 2^63":      {npyOf("<f4", "(9223372036854775808,)", 12), "expected a dimension below 2^63"},
		"npy huge":                {npyOf("<f4", "(1000000, 1000000)", 12), "truncated: expected 4000000000000 bytes of data for float32[1000000 1000000], found 12"},
		"npy short":               {npyOf("<f4", "(2, 3)", 20), "expected 24 bytes of data for float32[2 3], found 20"},
		"npy long":                {npyOf("<f4", "(2, 3)", 25), "too long: expected 24 bytes"},
		"npy rank":                {npyOf("<f4", "("+strings.Repeat("1,", 65)+")", 4), "at most 64 dimensions"},
		"npy object":              {npyOf("|O", "(2,)", 16), `found "|O"`},
		"npy unicode":             {npyOf("<U4", "(2,)", 16), `found "<U4"`},
		"npy no type":             {npyOf("", "(2,)", 16), `found ""`},
		"npy bfloat16":            {npyOf("<V2", "(2,)", 4), "raw records '<V2' have no element type"},
		"npy long double":         {npyOf("<f16", "(2,)", 32), `found "<f16"`},
		"npy structure":           {npyBytes("{'descr': [('a', '<i4')], 'fortran_order': False, 'shape': (2,)}", 8), "expected a type string"},
		"npy boolean 2":           {patch(npyOf("|b1", "(1,)", 1), "}\n", 2, "\x02"), "expected a boolean at element 0, found byte 0x02"},
		"npz cut":                 {stored[:len(stored)-30], "truncated or damaged: expected a ZIP archive"},
		"npz of others":           {npzBytes(t, zip.Store, "a.txt"), "expected a name that ends in .npy"},
		"npz twice":               {npzBytes(t, zip.Store, "a.npy", "a.npy"), `found "a" twice`},
		"npz data changed":        {patch(stored, "}\n", 5, "x"), "checksum error"},
		"npz method":              {patch(stored, "PK\x01\x02", 10, "\x63"), "found compression method 99"},
		"npz encrypted":           {patch(stored, "PK\x01\x02", 8, "\x01"), "found an encrypted one"},
		"npz bomb":                {patch(deflated, "PK\x01\x02", 24, "\xff\xff\xff\x7f"), "cannot come from"},
		"npz stored size":         {patch(stored, "PK\x01\x02", 24, "\xff\xff\xff\x7f"), "cannot come from"},
		"npz beyond":              {patch(patch(stored, "PK\x01\x02", 24, "\xff\xff\xff\x7f"), "PK\x01\x02", 20, "\xff\xff\xff\x7f"), "truncated"},
		"npz claims more":         {patch(deflated, "PK\x01\x02", 24, "\xff\x00\x00\x00"), "found 1"},
		"st length":               {append(bytes.Repeat([]byte{0xff}, 8), '{'), "header length: expected at most 1, found 18446744073709551615"},
		"st cut":                  {safetensorsBytes("{"+one+"}", 7), "expected data_offsets within 0 to 7, found 0 to 8"},
		"st long":                 {safetensorsBytes("{"+one+"}", 9), "expected 8 bytes of tensors, found 9"},
		"st not JSON":             {safetensorsBytes("{x", 0), "invalid character 'x'"},
		"st list":                 {safetensorsBytes(`{"a":[]}`, 0), "expected {, found ["},
		"st open":                 {safetensorsBytes("{"+one, 8), "found the end"},
		"st trailing":             {safetensorsBytes("{"+one+"} {}", 8), "nothing after the header's object"},
		"st twice":                {safetensorsBytes(`{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}}`, 2), `found "a" twice`},
		"st key twice":            {safetensorsBytes(`{"a":{"dtype":"U8","dtype":"I8","shape":[1],"data_offsets":[0,1]}}`, 1), `expected one "dtype", found two`},
		"st missing":              {safetensorsBytes(`{"a":{"dtype":"U8","shape":[1]}}`, 1), "found 2 of the three"},
		"st other":                {safetensorsBytes(`{"a":{"dtypes":"U8"}}`, 1), `found "dtypes"`},
		"st dtype":                {safetensorsBytes(`{"a":{"dtype":"F4","shape":[1],"data_offsets":[0,1]}}`, 1), `found "F4"`},
		"st shape negative":       {safetensorsBytes(`{"a":{"dtype":"U8","shape":[-1],"data_offsets":[0,1]}}`, 1), "found -1"},
		"st shape fraction":       {safetensorsBytes(`{"a":{"dtype":"U8","shape":[1.0],"data_offsets":[0,1]}}`, 1), "found 1.0"},
		"st shape overflow":       {safetensorsBytes(`{"a":{"dtype":"F64","shape":[4294967296,4294967296],"data_offsets":[0,1]}}`, 1), "expected fewer than 2^63 bytes"},
		"st size":                 {safetensorsBytes(`{"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}}`, 8), "expected 12 bytes for float32[3], found data_offsets for 8"},
		"st backwards":            {safetensorsBytes(`{"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}}`, 8), "found 8 to 0"},
		"st one offset":           {safetensorsBytes(`{"a":{"dtype":"F32","shape":[2],"data_offsets":[8]}}`, 8), "two data_offsets"},
		"st overlap":              {safetensorsBytes(`{`+one+`,"b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}}`, 12), "expected its bytes to begin at 8, where the tensor before ends, found 4"},
		"st hole":                 {safetensorsBytes(`{`+one+`,"b":{"dtype":"F32","shape":[1],"data_offsets":[12,16]}}`, 16), "expected its bytes to begin at 8, where the tensor before ends, found 12"},
		"st metadata of a number": {safetensorsBytes(`{"__metadata__":{"a":1},`+one+`}`, 8), "expected a string in the metadata, found 1"},
	} {
		t.Run(name, func(t *testing.T) {
			err := load(c.data)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v\nwant an error with %q", err, c.want)
			}
			var known *Error
			if err != nil && (!errors.As(err, &known) || strings.Contains(err.Error(), "\n")) {
				t.Errorf("expected an *Error of one line, found %T: %v", err, err)
			}
		})
	}
}

// A table of hostile files says little if good ones are refused too.
func TestCuriousFilesAreRead(t *testing.T) {
	for name, data := range map[string][]byte{
		"npy any order":      npyBytes(`{"shape":(2L,3,),"fortran_order":True,"descr":"f4"}`, 24),
		"npy huge but empty": npyOf("<f8", "(0, 9223372036854775807)", 0),
		"npy native":         npyOf("=i8", "()", 8),
		"npz empty":          npzBytes(t, zip.Store),
		"npz names":          npzBytes(t, zip.Deflate, "../a.npy", "/b.npy", "c/d.npy"),
		"st empty":           safetensorsBytes("{}", 0),
		"st padded":          safetensorsBytes("{ }   ", 0),
		"st empty tensors":   safetensorsBytes(`{"a":{"dtype":"F32","shape":[0],"data_offsets":[0,0]},"b":{"shape":[],"dtype":"U8","data_offsets":[0,1]}}`, 1),
		"st escaped":         safetensorsBytes(`{"a\u00e4\ud83d\ude00\"":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}`, 1),
	} {
		if err := load(data); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestOpenErrors(t *testing.T) {
	dir := t.TempDir()
	_, err := Open(filepath.Join(dir, "none.npy"))
	if !errors.Is(err, fs.ErrNotExist) || strings.Count(err.Error(), "none.npy") != 1 {
		t.Errorf("a missing file: %v", err)
	}
	if _, err = Open(dir); err == nil || !strings.Contains(err.Error(), "expected a regular file, found a directory") {
		t.Errorf("a directory: %v", err)
	}
	f := open(t, "testdata/plain.npz")
	if _, err = f.Load("float31"); err == nil || !strings.Contains(err.Error(), `expected a tensor "float31", found "boolean", "complex128"`) {
		t.Errorf("a wrong name: %v", err)
	}
	if _, err = f.Load(""); err == nil {
		t.Error("no name, of many: no error")
	}
	if _, err = f.Info("int8"); err != nil {
		t.Error(err)
	}
}

// Nothing is left of a file that cannot be written, and what was there before stays.
func TestWriteErrors(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x")
	if err := os.WriteFile(path, []byte("before"), 0o644); err != nil {
		t.Fatal(err)
	}
	good := Tensor{scalar.UInt8, []int64{1}, []byte{1}}
	for want, err := range map[string]error{
		"expected 4 bytes for int32[1], found 1":            WriteNPY(path, Tensor{scalar.Int32, []int64{1}, []byte{1}}),
		"expected dimensions of at least 0, found -1":       WriteNPY(path, Tensor{scalar.Int32, []int64{-1}, nil}),
		"expected a dtype that .npy can hold, found bfloat": WriteNPY(path, Tensor{scalar.BFloat16, []int64{1}, []byte{1, 2}}),
		"expected a boolean at element 1, found byte 0x03":  WriteNPZ(path, map[string]Tensor{"g": good, "b": {scalar.Bool, []int64{2}, []byte{1, 3}}}),
		"expected a dtype, found invalid":                   WriteNPZ(path, map[string]Tensor{"b": {}}),
		`expected a tensor's name in UTF-8, found "\xff"`:   WriteSafetensors(path, map[string]Tensor{"\xff": good}),
		`found "__metadata__"`:                              WriteSafetensors(path, map[string]Tensor{"__metadata__": good}),
		"that .safetensors can hold, found complex128":      WriteSafetensors(path, map[string]Tensor{"c": {scalar.Complex128, []int64{0}, nil}}),
		"expected a int4 at element 0, found byte 0x08":     WriteSafetensors(path, map[string]Tensor{"i": {scalar.Int4, []int64{1}, []byte{8}}}),
		"no such file or directory":                         WriteNPY(filepath.Join(dir, "none", "x.npy"), good),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
	left, _ := os.ReadDir(dir)
	if data, _ := os.ReadFile(path); len(left) != 1 || string(data) != "before" {
		t.Errorf("left behind: %v, with %q", left, data)
	}
}

func FuzzNPY(f *testing.F) {
	f.Add(npyOf("<f4", "(2, 3)", 24))
	f.Add(npyOf(">c8", "(2,)", 16))
	f.Add(npyBytes(`{"shape":(2L,3,),"fortran_order":True,"descr":"f4"}`, 24))
	f.Fuzz(fuzzOne)
}

func FuzzNPZ(f *testing.F) {
	f.Add(npzBytes(f, zip.Store, "a.npy", "b.npy"))
	f.Add(npzBytes(f, zip.Deflate, "a.npy"))
	f.Fuzz(fuzzOne)
}

func FuzzSafetensors(f *testing.F) {
	f.Add(safetensorsBytes(`{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"U8","shape":[],"data_offsets":[8,9]}}`, 9))
	f.Add(safetensorsBytes(`{"__metadata__":{"a":"b"}}`, 0))
	f.Fuzz(fuzzOne)
}

// fuzzOne: any bytes are read or refused; what is read is well formed.
func fuzzOne(t *testing.T, data []byte) {
	err := load(data)
	var known *Error
	if err != nil && !errors.As(err, &known) {
		t.Fatal(err)
	}
}
