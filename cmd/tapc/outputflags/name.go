package outputflags

import (
	"path/filepath"
	"strings"
)

// ProgramName gives a program's name from its graph's file; "-" is standard input.
func ProgramName(file string) string {
	name := filepath.Base(file)
	for _, suffix := range []string{".json", ".yaml", ".yml", ".loom", ".amanda", ".tap", ".tapb", ".onnx"} {
		name = strings.TrimSuffix(name, suffix)
	}
	if name == "" || name == "-" || name == "." {
		return "program"
	}
	return name
}
