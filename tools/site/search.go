package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"strings"
)

//go:embed search.js
var searchCode []byte

// entry is a part of a page in the index of the search.
type entry struct {
	Page  int    `json:"p"` // its place in the list of pages
	ID    string `json:"i"`
	Title string `json:"t"`
	Text  string `json:"x"`
}

// mostText bounds the text of a part in the index, in bytes.
const mostText = 4000

// searchScript gives the index and the code that searches it, in one file that pages load without a server.
func searchScript(pages []*page) ([]byte, error) {
	names := [][2]string{}
	entries := []entry{}
	for n, p := range pages {
		names = append(names, [2]string{p.file, p.title})
		for i := range p.parts {
			x := &p.parts[i]
			text := strings.Join(strings.Fields(x.text.String()), " ")
			if len(text) > mostText {
				text = strings.ToValidUTF8(text[:mostText], "")
			}
			if x.title != "" || text != "" {
				entries = append(entries, entry{n, x.id, x.title, text})
			}
		}
	}
	var b bytes.Buffer
	for _, v := range []struct {
		name  string
		value any
	}{{"pages", names}, {"parts", entries}} {
		data, err := json.Marshal(v.value)
		if err != nil {
			return nil, err
		}
		b.WriteString("const " + v.name + " = ")
		b.Write(data)
		b.WriteString(";\n")
	}
	b.Write(searchCode)
	return b.Bytes(), nil
}
