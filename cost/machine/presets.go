package machine

import (
	"embed"
	"fmt"
	"path"
	"slices"
	"strings"

	"tensortapestry.org/tapc/internal/inputfile"
	"tensortapestry.org/tapc/ir/diag"
)

//go:embed presets/*.yaml
var presetFiles embed.FS

// Presets gives the names of the machines that tapc knows, sorted.
func Presets() (names []string) {
	entries, err := presetFiles.ReadDir("presets")
	if err != nil {
		panic(fmt.Sprintf("machine: %v", err)) // the program itself would be damaged
	}
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".yaml"))
	}
	slices.Sort(names)
	return names
}

// Text gives the file of a machine that tapc knows.
func Text(name string) ([]byte, error) {
	data, err := presetFiles.ReadFile(path.Join("presets", name+".yaml"))
	if err != nil || strings.ContainsAny(name, "/.") {
		return nil, diag.Unknown("machine", name, Presets())
	}
	return data, nil
}

// Preset gives a machine that tapc knows.
func Preset(name string) (*Machine, error) {
	data, err := Text(name)
	if err != nil {
		return nil, err
	}
	return Read(data, name)
}

// IsPath says whether a name is the path of a file: it has a dot or a slash.
func IsPath(name string) bool { return strings.ContainsAny(name, "./") }

// Check says what is wrong with a name for Find, before a file is read.
func Check(name string) error {
	if IsPath(name) || slices.Contains(Presets(), name) {
		return nil
	}
	return diag.Unknown("machine", name, Presets())
}

// Find gives a machine by the name of one that tapc knows or, if it has a dot or a slash, by the path of a file: no pipe, as passes and prices find it, each for itself.
func Find(name string) (*Machine, error) {
	if !IsPath(name) {
		return Preset(name)
	}
	if err := inputfile.Again(name); err != nil {
		return nil, err
	}
	data, err := inputfile.ReadText(name, MaxBytes)
	if err != nil {
		return nil, err
	}
	return Read(data, name)
}
