package main

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func made(t *testing.T) map[string][]byte {
	t.Helper()
	files, err := site("../..")
	if err != nil {
		t.Fatal(err)
	}
	return files
}

var (
	target  = regexp.MustCompile(`(?:href|src)="([^"]*)"`)
	defined = regexp.MustCompile(` id="([^"]*)"`)
)

// TestLinks holds every link of every page to the pages and their headings, and pages to load nothing from elsewhere.
func TestLinks(t *testing.T) {
	files := made(t)
	links := 0
	for name, page := range files {
		if !strings.HasSuffix(name, ".html") {
			continue
		}
		if bytes.Contains(page, []byte(`src="http`)) || bytes.Contains(page, []byte(nowhere)) {
			t.Errorf("%s loads something from elsewhere, or has a link to nowhere", name)
		}
		for _, m := range target.FindAllStringSubmatch(string(page), -1) {
			file, anchor, has := strings.Cut(m[1], "#")
			if strings.Contains(m[1], "://") {
				continue
			}
			if links++; file == "" {
				file = name
			}
			if files[file] == nil || has && !bytes.Contains(files[file], []byte(` id="`+anchor+`"`)) {
				t.Errorf("%s: %s is not there", name, m[1])
			}
		}
		seen := map[string]bool{}
		for _, m := range defined.FindAllStringSubmatch(string(page), -1) {
			if seen[m[1]] {
				t.Errorf("%s: two places are called %s", name, m[1])
			}
			seen[m[1]] = true
		}
	}
	if links < 1000 {
		t.Errorf("only %d links", links)
	}
}

func TestSameBytes(t *testing.T) {
	if a, b := made(t), made(t); !maps.EqualFunc(a, b, bytes.Equal) {
		t.Error("the same files make two sites")
	}
}

// TestIndex reads the index as pages do, and looks for what is at the end of a page.
func TestIndex(t *testing.T) {
	files := made(t)
	lines := bytes.SplitN(files["search.js"], []byte("\n"), 3)
	var pages [][2]string
	var parts []entry
	for i, into := range []any{&pages, &parts} {
		_, text, ok := bytes.Cut(lines[i], []byte(" = "))
		if err := json.Unmarshal(bytes.TrimSuffix(text, []byte(";")), into); !ok || err != nil {
			t.Fatal(err)
		}
	}
	found := false
	for _, p := range parts {
		page := files[pages[p.Page][0]]
		if p.ID != "" && !bytes.Contains(page, []byte(` id="`+p.ID+`"`)) {
			t.Errorf("%s has no %s", pages[p.Page][0], p.ID)
		}
		found = found || pages[p.Page][0] == "plugins.html" && p.Title == "What it costs" && strings.Contains(p.Text, "A start with an empty pass")
	}
	if !found {
		t.Error("the end of docs/plugins.md is not in the index")
	}
}

// TestBrokenLinks has links that must be refused, beside those that are right.
func TestBrokenLinks(t *testing.T) {
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "file.go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for text, says := range map[string]string{
		"# A b\n[x](#a-b) [y](file.go) [z](https://example.org)": "",
		"# A\n[x](missing.md)":           "README.md: a link to missing.md",
		"# A\n[x](#b)":                   "where no heading is called so",
		"# A\n[x](README.md#a--b)":       "where no heading is called so",
		"# A\n![x](missing.png)":         "no such file",
		"# A\n<a id=\"q\"></a>\n[x](#q)": "",
	} {
		if err := os.WriteFile(filepath.Join(root, "README.md"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		p := &page{source: "README.md", file: "index.html", group: "Begin"}
		r := newRenderer(root, []*page{p})
		err := r.read(p)
		if err == nil {
			_, err = r.page(p)
		}
		if says == "" && err != nil || says != "" && (err == nil || !strings.Contains(err.Error(), says)) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestMenuHasAllPages finds pages that the menu does not list under rest.
func TestMenuHasAllPages(t *testing.T) {
	pages, err := menu("../..")
	if err != nil {
		t.Fatal(err)
	}
	docs, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]int{}
	for _, p := range pages {
		names[p.source]++
	}
	for _, d := range docs {
		if n := names["docs/"+filepath.Base(d)]; n != 1 {
			t.Errorf("%s is there %d times", d, n)
		}
	}
}
