package testkit

import (
	"strings"
	"testing"
)

func TestProbe(t *testing.T) {
	gcc := Program(t, Compilers, "gcc")
	if err := probe(gcc, []string{"-fsanitize=none-such"}); err == nil || !strings.Contains(err.Error(), "none-such") {
		t.Errorf("a sanitizer that there is not: %v", err)
	}
	if err := probe(gcc, []string{"-fno-sanitize-recover=all"}); err != nil {
		t.Error(err)
	}
	NeedSanitizers(t, "no-such-compiler", "-O2") // near miss: flags without a sanitizer ask for nothing
}
