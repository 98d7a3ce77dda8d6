package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"html"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	htmlrender "github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
)

//go:embed style.css
var style []byte

// parsed is what was read of a page.
type parsed struct {
	source []byte
	tree   ast.Node
	ids    map[string]bool // of its headings
	parts  []part
}

// part is what is below a heading, for the search and the list of contents.
type part struct {
	id, title string
	level     int
	text      strings.Builder
}

// renderer makes HTML of pages that know each other.
type renderer struct {
	root     string
	markdown goldmark.Markdown
	pages    []*page
	of       map[string]*page // by source
	pictures map[string][]byte
}

func newRenderer(root string, pages []*page) *renderer {
	r := &renderer{root: root, pages: pages, of: map[string]*page{}, pictures: map[string][]byte{}}
	r.markdown = goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithParserOptions(parser.WithAutoHeadingID()),
		goldmark.WithRendererOptions(htmlrender.WithUnsafe())) // what is in the repository is trusted
	for _, p := range pages {
		r.of[p.source] = p
	}
	return r
}

// anchors names headings as repositories' pages do: lower-case words joined by hyphens, with a number where they come again.
type anchors struct{ used map[string]bool }

func (a anchors) Generate(value []byte, _ ast.NodeKind) []byte {
	var b strings.Builder
	for _, c := range strings.ToLower(strings.TrimSpace(string(value))) {
		switch {
		case c == ' ':
			b.WriteByte('-')
		case unicode.IsLetter(c) || unicode.IsDigit(c) || c == '-' || c == '_':
			b.WriteRune(c)
		}
	}
	id := b.String()
	for n := 1; a.used[id]; n++ {
		id = fmt.Sprintf("%s-%d", b.String(), n)
	}
	a.used[id] = true
	return []byte(id)
}

func (a anchors) Put(value []byte) { a.used[string(value)] = true }

// read parses a page.
func (r *renderer) read(p *page) error {
	var err error
	if p.parsed.source, err = p.text(r.root); err != nil {
		return err
	}
	ids := anchors{map[string]bool{}}
	p.tree = r.markdown.Parser().Parse(text.NewReader(p.parsed.source), parser.WithContext(parser.NewContext(parser.WithIDs(ids))))
	p.ids = ids.used
	p.parts = append(p.parts, part{})
	return ast.Walk(p.tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			if n.Type() == ast.TypeBlock {
				p.parts[len(p.parts)-1].text.WriteByte(' ')
			}
			return ast.WalkContinue, nil
		}
		if h, ok := n.(*ast.Heading); ok {
			id, _ := h.AttributeString("id")
			title := plain(h, p.parsed.source)
			p.parts = append(p.parts, part{id: string(id.([]byte)), title: title, level: h.Level})
			if p.title == "" {
				p.title = title
			}
			return ast.WalkSkipChildren, nil
		}
		for _, id := range named.FindAllSubmatch(raw(n, p.parsed.source), -1) {
			p.ids[string(id[1])] = true
		}
		p.parts[len(p.parts)-1].text.WriteString(own(n, p.parsed.source))
		return ast.WalkContinue, nil
	})
}

// named finds places that a page names itself.
var named = regexp.MustCompile(`<a id="([^"]+)">`)

// raw gives the HTML that a node is in the source.
func raw(n ast.Node, source []byte) []byte {
	switch n := n.(type) {
	case *ast.RawHTML:
		return n.Segments.Value(source)
	case *ast.HTMLBlock:
		return n.Lines().Value(source)
	}
	return nil
}

// own gives the text of a node without that of those inside it.
func own(n ast.Node, source []byte) string {
	switch n := n.(type) {
	case *ast.Text:
		end := ""
		if n.SoftLineBreak() || n.HardLineBreak() {
			end = " "
		}
		return string(n.Segment.Value(source)) + end
	case *ast.FencedCodeBlock, *ast.CodeBlock:
		return string(n.Lines().Value(source))
	}
	return ""
}

// plain gives all text in a node.
func plain(n ast.Node, source []byte) string {
	var b strings.Builder
	ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			b.WriteString(own(n, source))
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

// page gives a page's HTML.
func (r *renderer) page(p *page) ([]byte, error) {
	err := ast.Walk(p.tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		var to *[]byte
		switch n := n.(type) {
		case *ast.Link:
			to = &n.Destination
		case *ast.Image:
			to = &n.Destination
		}
		if !entering || to == nil {
			return ast.WalkContinue, nil
		}
		target, err := r.link(p, string(*to), n.Kind() == ast.KindImage)
		*to = []byte(target)
		return ast.WalkContinue, err
	})
	var body bytes.Buffer
	if err == nil {
		err = r.markdown.Renderer().Render(&body, p.parsed.source, p.tree)
	}
	if err != nil {
		return nil, err
	}
	content := strings.ReplaceAll(strings.ReplaceAll(body.String(), "<table>", `<div class="wide"><table>`), "</table>", "</table></div>")
	content = unlinked.Replace(content)
	var b bytes.Buffer
	fmt.Fprintf(&b, pageHead, html.EscapeString(p.title))
	r.menu(&b, p)
	fmt.Fprintf(&b, "<main>\n%s</main>\n", content)
	contents(&b, p)
	b.WriteString(pageFoot)
	return b.Bytes(), nil
}

// nowhere is the target of a link to a file that is no page; unlinked takes such links away.
const nowhere = "#not-a-page"

// link gives the target of a link in the site.
func (r *renderer) link(p *page, to string, picture bool) (string, error) {
	if strings.Contains(to, "://") || strings.HasPrefix(to, "mailto:") {
		return to, nil
	}
	file, anchor, hasAnchor := strings.Cut(to, "#")
	source := p.source
	if file != "" {
		source = path.Join(path.Dir(p.source), file)
	}
	if picture || strings.HasSuffix(source, ".png") || strings.HasSuffix(source, ".svg") {
		data, err := os.ReadFile(filepath.Join(r.root, filepath.FromSlash(source)))
		r.pictures[path.Base(source)] = data
		return path.Base(source), err
	}
	target := r.of[source]
	if target == nil {
		if _, err := os.Stat(filepath.Join(r.root, filepath.FromSlash(source))); err != nil {
			return "", fmt.Errorf("%s: a link to %s, which is not there", p.source, to)
		}
		return nowhere, nil
	}
	if !hasAnchor {
		return target.file, nil
	}
	if !target.ids[anchor] {
		return "", fmt.Errorf("%s: a link to %s, where no heading is called so", p.source, to)
	}
	if target == p {
		return "#" + anchor, nil
	}
	return target.file + "#" + anchor, nil
}

// unlinked takes away links that lead to files of the repository alone; the span keeps the end tag a pair.
var unlinked = strings.NewReplacer(`<a href="`+nowhere+`">`, `<a class="file">`)

const pageHead = `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>%s · tapc</title>
<link rel="stylesheet" href="style.css">
</head>
<body>
`

const pageFoot = `<script src="search.js"></script>
</body>
</html>
`

// menu writes the list of pages, with the search above it.
func (r *renderer) menu(b *bytes.Buffer, p *page) {
	b.WriteString("<nav class=\"menu\" aria-label=\"Pages\">\n<a class=\"name\" href=\"index.html\">tapc</a>\n" +
		"<input id=\"search\" type=\"search\" placeholder=\"Search ( / )\" aria-label=\"Search\" autocomplete=\"off\">\n<div id=\"found\" hidden></div>\n<div id=\"pages\">\n")
	group := ""
	for _, q := range r.pages {
		if q.group != group {
			if group != "" {
				b.WriteString("</ul>\n")
			}
			group = q.group
			fmt.Fprintf(b, "<h2>%s</h2>\n<ul>\n", group)
		}
		here := ""
		if q == p {
			here = ` aria-current="page"`
		}
		fmt.Fprintf(b, "<li><a href=\"%s\"%s>%s</a></li>\n", q.file, here, html.EscapeString(q.title))
	}
	b.WriteString("</ul>\n</div>\n</nav>\n")
}

// mostContents bounds the list of a page's headings; pages with more have those of the second level alone.
const mostContents = 40

// contents writes the list of a page's headings.
func contents(b *bytes.Buffer, p *page) {
	level, n := 3, 0
	for i := range p.parts {
		if l := p.parts[i].level; l == 2 || l == 3 {
			n++
		}
	}
	if n > mostContents {
		level = 2
	}
	b.WriteString("<nav class=\"contents\" aria-label=\"On this page\">\n<ul>\n")
	for i := range p.parts {
		if x := &p.parts[i]; x.level == 2 || x.level == level {
			fmt.Fprintf(b, "<li class=\"level%d\"><a href=\"#%s\">%s</a></li>\n", x.level, x.id, html.EscapeString(x.title))
		}
	}
	b.WriteString("</ul>\n</nav>\n")
}
