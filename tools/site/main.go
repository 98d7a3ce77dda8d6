// Command site makes a site of the documentation: pages of HTML that need neither a server nor a network, with a search.
//
//	go run ./tools/site -o site
//
// Pages are README.md, docs/ and what menu.go lists besides. Links between them are links between the site's pages, and those that lead nowhere
// are errors; files of the repository that are no pages are named without a link. The same files make the same bytes.
// Read next: menu.go, render.go, search.go.
package main

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"tensortapestry.org/tapc/internal/outputfile"
)

func main() {
	to := flag.String("o", "", "folder to write to")
	root := flag.String("root", ".", "folder of the repository")
	flag.Parse()
	if flag.NArg() > 0 || *to == "" {
		fmt.Fprintln(os.Stderr, "site: expected -o FOLDER and no arguments")
		os.Exit(2)
	}
	files, err := site(*root)
	if err == nil {
		err = write(*to, files)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "site:", err)
		os.Exit(1)
	}
}

func write(to string, files map[string][]byte) error {
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := outputfile.Replace(filepath.Join(to, name), 0o644, func(f *os.File) error { _, err := f.Write(files[name]); return err }); err != nil {
			return err
		}
	}
	return nil
}

// site gives the files of the site by name.
func site(root string) (map[string][]byte, error) {
	pages, err := menu(root)
	if err != nil {
		return nil, err
	}
	r := newRenderer(root, pages)
	for _, p := range pages {
		if err := r.read(p); err != nil {
			return nil, err
		}
	}
	files := map[string][]byte{"style.css": style}
	for _, p := range pages {
		if files[p.file], err = r.page(p); err != nil {
			return nil, err
		}
	}
	maps.Copy(files, r.pictures)
	files["search.js"], err = searchScript(pages)
	return files, err
}
