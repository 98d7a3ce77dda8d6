package dot

import (
	"strconv"
	"strings"
)

var htmlEscapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;")

// html writes a text so that Graphviz shows it as it is; what no file of it may hold becomes a question mark.
func html(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0xfffe {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
	return htmlEscapes.Replace(s)
}

// quote writes a Graphviz string.
func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\x00", "?").Replace(strings.ToValidUTF8(s, "?")) + `"`
}

// table is an HTML table on white.
type table struct{ b strings.Builder }

func newTable() *table {
	t := &table{}
	t.b.WriteString(`<table bgcolor="white" border="1" cellborder="0" cellspacing="0" cellpadding="3">`)
	return t
}

// wide adds a row of one cell; text is HTML already.
func (t *table) wide(text string) { t.b.WriteString(`<tr><td colspan="2">` + text + `</td></tr>`) }

// row adds a name and a value.
func (t *table) row(name string, v tree) {
	t.b.WriteString(`<tr><td align="right"><b>` + html(name) + `</b></td><td align="left">` + v.html() + `</td></tr>`)
}

func (t *table) String() string { return t.b.String() + `</table>` }

// html writes a value: a text, or a nested table.
func (v tree) html() string {
	if len(v.members) == 0 {
		return html(v.text)
	}
	var b strings.Builder
	b.WriteString(`<table border="0" cellborder="1" cellspacing="0" cellpadding="2">`)
	for _, m := range v.members {
		b.WriteString(`<tr><td align="right">` + html(m.name) + `</td><td align="left">` + m.value.html() + `</td></tr>`)
	}
	return b.String() + `</table>`
}

// titled starts the table of a node: what it is, its label, its alias and its id.
func (p *picture) titled(it *item) *table {
	t := newTable()
	t.wide("<b>" + html(kindName(it)) + "</b>")
	if it.node.Label != "" {
		t.wide(html(strconv.Quote(it.node.Label)))
	}
	t.wide(html(p.aliases[it.node.ID]))
	if !p.options.NoIDs {
		t.wide(`<font point-size="8"><i>` + it.uuid.String() + `</i></font>`)
	}
	return t
}

// kindName is the last part of the kind's type URI.
func kindName(it *item) string {
	uri := it.node.Body.Kind().URI
	return uri[strings.LastIndexAny(uri, "/#")+1:]
}
