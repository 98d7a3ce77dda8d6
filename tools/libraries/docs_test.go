//go:build linux

package libraries_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"tensortapestry.org/tapc/frontends/onnx/onnxtest"
)

// docsModel is the model of docs/libraries.md.
const docsModel = `<ir_version: 8, opset_import: ["": 17]>
g (float["batch", 3] image) => (float["batch", 3] scores)
{
  scores = Relu(image)
}
`

// caller calls what the page's C gives.
const caller = `#include <stdio.h>
int infer(const float *image, float *scores);
int main(void) {
  const float image[6] = {-1, 2, -3, 4, -5, 6};
  float scores[6];
  int status = infer(image, scores);
  return printf("%d %g %g\n", status, (double)scores[0], (double)scores[5]) < 0;
}
`

// both is a program of two models.
const both = `#include <stdio.h>
#include "encoder.h"
#include "decoder.h"
int main(void) {
  float a[3] = {-1, 2, 3}, b[3], c[3];
  tapc_instance *encoder = encoder_create(1, NULL, 0), *decoder = decoder_create(1, NULL, 0);
  int status = encoder_run(encoder, (const void *const[]){a}, (void *const[]){b}, NULL, 0);
  status += decoder_run(decoder, (const void *const[]){b}, (void *const[]){c}, NULL, 0);
  return printf("%d %g\n", status, (double)c[2]) < 0;
}
`

// TestReadmes runs the blocks of Python of README.md and of the package's page.
func TestReadmes(t *testing.T) {
	dir := t.TempDir()
	model, err := onnxtest.Model(docsModel)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "model.onnx"), string(model))
	for _, page := range []string{"README.md", "python/README.md"} {
		text, err := os.ReadFile(absolute(t, page))
		if err != nil {
			t.Fatal(err)
		}
		ran := 0
		for _, block := range fence.FindAllStringSubmatch(string(text), -1) {
			if block[1] != "python" || !strings.Contains(block[2], "import tapc") {
				continue
			}
			ran++
			out := do(t, dir, pythonEnvironment(t), python(t), "-c", "import numpy\nx = numpy.ones([8, 3], numpy.float32)\n"+block[2]+"print(y.shape)\n")
			if out != "(8, 3)\n" {
				t.Errorf("%s prints %s", page, out)
			}
		}
		if ran != 1 {
			t.Errorf("%s has %d blocks that use the package, expected 1", page, ran)
		}
	}
}

var fence = regexp.MustCompile("(?ms)^```([a-z]+)\n(.*?)^```$")

// TestDocs runs every code block of docs/libraries.md.
func TestDocs(t *testing.T) {
	page, err := os.ReadFile(absolute(t, "docs/libraries.md"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	model, err := onnxtest.Model(docsModel)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "model.onnx"), string(model))
	do(t, dir, nil, tapc(t), "build", "model.onnx", "--dim", "batch=2", "--emit=lib", "-o", "libmodel.so")
	path := "PATH=" + filepath.Dir(tapc(t)) + string(os.PathListSeparator) + os.Getenv("PATH")
	run := map[string]func(t *testing.T, block string){
		"c": func(t *testing.T, block string) {
			write(t, filepath.Join(dir, "infer.c"), block)
			write(t, filepath.Join(dir, "caller.c"), caller)
			do(t, dir, nil, "cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "infer.c", "caller.c", filepath.Join(dir, "libmodel.so"), "-o", "caller")
			if out := do(t, dir, nil, filepath.Join(dir, "caller")); out != "0 0 6\n" {
				t.Errorf("it prints %s", out)
			}
		},
		"sh": func(t *testing.T, block string) {
			for _, name := range []string{"encoder", "decoder"} {
				write(t, filepath.Join(dir, name+".onnx"), string(model))
			}
			write(t, filepath.Join(dir, "program.c"), both)
			do(t, dir, []string{path}, "sh", "-ec", strings.ReplaceAll(block, ".onnx --", ".onnx --dim batch=1 --"))
			if out := do(t, dir, nil, filepath.Join(dir, "program")); out != "0 3\n" {
				t.Errorf("it prints %s", out)
			}
		},
		"python": func(t *testing.T, block string) {
			out := do(t, dir, pythonEnvironment(t), python(t), "-c", block+"print(scores.shape)\n")
			if out != "(2, 3)\n" {
				t.Errorf("it prints %s", out)
			}
		},
		"go": func(t *testing.T, block string) {
			write(t, filepath.Join(dir, "main.go"), block)
			at := absolute(t, "docsexample")
			overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(at, "main.go"): filepath.Join(dir, "main.go"),
				filepath.Join(at, "libmodel.so"): filepath.Join(dir, "libmodel.so")}})
			if err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(dir, "overlay.json"), string(overlay))
			do(t, root, nil, "go", "build", "-overlay", filepath.Join(dir, "overlay.json"), "-o", filepath.Join(dir, "goprogram"), "./docsexample")
			if out := do(t, dir, nil, filepath.Join(dir, "goprogram")); out != "[0 0 0 0 0 0]\n" {
				t.Errorf("it prints %s", out)
			}
		},
	}
	ran := map[string]int{}
	for _, block := range fence.FindAllStringSubmatch(string(page), -1) {
		language := block[1]
		if run[language] == nil {
			t.Errorf("nothing runs a block of %s", language)
			continue
		}
		ran[language]++
		t.Run(language, func(t *testing.T) { run[language](t, block[2]) })
	}
	for language := range run {
		if ran[language] == 0 {
			t.Errorf("the page has no block of %s", language)
		}
	}
}
