package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"tensortapestry.org/tapc/internal/release"
)

// component is a part of a program, as CycloneDX 1.5 has it.
type component struct {
	Type    string   `json:"type"`
	Ref     string   `json:"bom-ref"`
	Name    string   `json:"name"`
	Version string   `json:"version"`
	PURL    string   `json:"purl,omitempty"`
	Hashes  []digest `json:"hashes,omitempty"`
}

type digest struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

// partsOf lists what a program is made of, as the Go build wrote it into the program: modules that are linked, and Go itself.
func partsOf(program, name string) ([]byte, error) {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(program)
	if err != nil {
		return nil, err
	}
	main := component{Type: "application", Ref: name, Name: "tapc", Version: release.Version, PURL: "pkg:golang/" + info.Main.Path + "@" + release.Version,
		Hashes: []digest{{"SHA-256", fmt.Sprintf("%x", sha256.Sum256(data))}}}
	parts := []component{{Type: "library", Ref: "go", Name: "go", Version: strings.TrimPrefix(info.GoVersion, "go")}}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		purl := "pkg:golang/" + m.Path + "@" + m.Version
		parts = append(parts, component{Type: "library", Ref: purl, Name: m.Path, Version: m.Version, PURL: purl})
	}
	text, err := json.MarshalIndent(map[string]any{
		"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
		"metadata":   map[string]any{"component": main, "properties": []map[string]string{{"name": "file", "value": filepath.Base(program)}}},
		"components": parts,
	}, "", "  ")
	return append(text, '\n'), err
}
