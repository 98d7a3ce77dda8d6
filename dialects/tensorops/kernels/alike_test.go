package kernels_test

import (
	"strings"
	"testing"

	"tensortapestry.org/tapc/dialects"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir/text"
)

// Operations that say the same are looked at once, and each that is at fault is named.
func TestFaultsThatSayTheSame(t *testing.T) {
	g, err := text.Read([]byte(`tapc 1
%a = tensor float32 [0:4]
%b = tensor float32 [0:4]
%c = tensor float32 [0:5]
%d = tensor float32 [0:5]
%good = operation op:exp (tensor: %a) -> (result: %b)
%bad = operation op:exp (tensor: %a) -> (result: %c)
%worse = operation op:exp (tensor: %a) -> (result: %d)
`), "g.tap", dialects.Registry())
	if err != nil {
		t.Fatal(err)
	}
	found := kernels.Builtin().CheckOperations(g, false)
	if len(found) != 2 || !strings.Contains(found[0].Message, "bad") || !strings.Contains(found[1].Message, "worse") {
		t.Error(found)
	}
}
