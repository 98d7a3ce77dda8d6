package page

import (
	"os"
	"strings"
	"testing"
)

func TestThePageIsCurrent(t *testing.T) {
	have, err := os.ReadFile("../../../../docs/onnx.md")
	if err != nil {
		t.Fatal(err)
	}
	want, err := Page()
	if err != nil {
		t.Fatal(err)
	}
	if string(have) != want {
		t.Error("docs/onnx.md is not current, run: go run ./tools/onnx/operators docs/onnx.md")
	}
	if strings.Contains(want, "no rule maps it") {
		t.Error("an operator has neither a rule nor a reason")
	}
}
