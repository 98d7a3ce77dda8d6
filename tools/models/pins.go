package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	_ "embed"
)

//go:embed pins.json
var pinned []byte

// Package is an archive of a registry, or a package that trains models.
type Package struct {
	Registry string  `json:"registry"` // pypi, npm, or trained: by classical/train.py, with the packages of requirements.txt beside it
	Name     string  `json:"name"`
	Version  string  `json:"version"`
	SHA256   string  `json:"sha256"` // of the archive, or of these two files: see recipe
	Models   []Model `json:"models"`
}

// Model is a model in a package.
type Model struct {
	Name   string            `json:"name"` // of the row
	Path   string            `json:"path"` // in the archive
	Does   string            `json:"does"`
	Flags  []string          `json:"flags,omitempty"`  // the sizes and known inputs that are chosen
	Inputs map[string]string `json:"inputs,omitempty"` // what is no random numbers: see picture
}

var (
	digest = regexp.MustCompile(`^[0-9a-f]{64}$`)
	word   = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)
)

// pins reads the list, whose names go into paths and commands.
func pins(data []byte) ([]Package, error) {
	var list []Package
	d := json.NewDecoder(strings.NewReader(string(data)))
	d.DisallowUnknownFields()
	if err := d.Decode(&list); err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for i := range list {
		p := &list[i]
		if p.Registry == trained && p.SHA256 == "" {
			p.SHA256 = recipe()
		}
		name := strings.TrimPrefix(p.Name, "@")
		switch {
		case p.Registry != "pypi" && p.Registry != "npm" && p.Registry != trained:
			return nil, fmt.Errorf("%s: unknown registry %q", p.Name, p.Registry)
		case !word.MatchString(strings.Replace(name, "/", ".", 1)) || !word.MatchString(p.Version):
			return nil, fmt.Errorf("%s %s: no name and version", p.Name, p.Version)
		case !digest.MatchString(p.SHA256):
			return nil, fmt.Errorf("%s: %q is no SHA-256", p.Name, p.SHA256)
		}
		for _, m := range p.Models {
			if !word.MatchString(m.Name) || seen[m.Name] || m.Path == "" || m.Does == "" {
				return nil, fmt.Errorf("%s: %q is not a new name, or lacks a path or what it does", p.Name, m.Name)
			}
			seen[m.Name] = true
		}
	}
	return list, nil
}
