package cputest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"tensortapestry.org/tapc/backends/cpu/isa"
	rt "tensortapestry.org/tapc/backends/cpu/runtime"
	"tensortapestry.org/tapc/backends/cpu/toolchain"
)

// Runs says whether this machine's processor has what a target needs.
func Runs(t *testing.T, cc *toolchain.Compiler, target isa.Target) bool {
	return target.Has == "" || Has(t, cc, target.Has)
}

// probed are the answers of this machine's processor, by compiler and question.
var probed sync.Map

// Has says whether this machine's processor has some features, as programs ask for them.
func Has(t *testing.T, cc *toolchain.Compiler, features string) bool {
	key := cc.Path + " " + features
	if answer, ok := probed.Load(key); ok {
		return answer.(bool)
	}
	answer := exec.Command(CompileC(t, cc, WithFeatures("int main(void) { return !("+features+"); }\n"))).Run() == nil
	probed.Store(key, answer)
	return answer
}

// WithFeatures gives a C program that can ask for features.
func WithFeatures(text string) string {
	files := rt.Files()
	alone := strings.NewReplacer(`#include "`+rt.Header+`"`, "", `#include "`+rt.LibraryHeader+`"`, "", "#define _GNU_SOURCE\n", "")
	return "#define _GNU_SOURCE\n" + alone.Replace(string(files[rt.LibraryHeader])+string(files[rt.Header])+string(files["features.c"])) + text
}

// CompileC makes an executable of a C program.
func CompileC(t *testing.T, cc *toolchain.Compiler, text string, flags ...string) string {
	t.Helper()
	dir := t.TempDir()
	file, exe := filepath.Join(dir, "test.c"), filepath.Join(dir, "test")
	for name, data := range map[string][]byte{file: []byte(text), filepath.Join(dir, rt.LibraryHeader): rt.Files()[rt.LibraryHeader]} {
		if err := os.WriteFile(name, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command(cc.Path, append(flags, file, "-o", exe, "-lm")...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return exe
}
