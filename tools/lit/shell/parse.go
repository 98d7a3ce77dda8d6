package shell

import (
	"errors"
	"fmt"
	"strings"
)

// item is a pipeline and the operator before it: "", ";", "&&" or "||".
type item struct {
	op       string
	commands []command
}

type command struct {
	words     []word
	redirects []redirect
}

// word is an argument. In glob, characters that are not to be expanded are escaped; it is empty if none is.
type word struct {
	text string
	glob string
}

// redirect sends descriptor fd to (">", ">>", or from "<") a file, or (">&") to where another descriptor goes. The
// operator "&>" sends both outputs to a file.
type redirect struct {
	op     string
	fd     int
	target word
}

// token is an operator (with the descriptor written before it, or -1) or a word.
type token struct {
	op   string
	fd   int
	word word
}

// maxLine bounds the length of a line.
const maxLine = 1 << 20

// parse reads a line.
func parse(line string) ([]item, error) {
	if len(line) > maxLine {
		return nil, errors.New("line too long")
	}
	tokens, err := lex(line)
	if err != nil {
		return nil, err
	}
	p := &parser{tokens: tokens}
	return p.list()
}

type parser struct {
	tokens []token
	pos    int
}

// peek returns the next operator, "" before a word, or "end".
func (p *parser) peek() string {
	if p.pos == len(p.tokens) {
		return "end"
	}
	return p.tokens[p.pos].op
}

func (p *parser) list() ([]item, error) {
	var out []item
	op := ""
	for {
		commands, err := p.pipeline()
		if err != nil {
			return nil, err
		}
		out = append(out, item{op, commands})
		switch op = p.peek(); op {
		case "end":
			return out, nil
		case ";", "&&", "||":
			p.pos++
			if op == ";" && p.peek() == "end" {
				return out, nil
			}
		default:
			return nil, fmt.Errorf("unsupported operator %q", op)
		}
	}
}

func (p *parser) pipeline() ([]command, error) {
	var out []command
	for {
		c, err := p.command()
		if err != nil {
			return nil, err
		}
		out = append(out, c)
		if p.peek() != "|" {
			return out, nil
		}
		p.pos++
	}
}

func (p *parser) command() (command, error) {
	var c command
	for {
		switch op := p.peek(); op {
		case "":
			c.words = append(c.words, p.tokens[p.pos].word)
			p.pos++
		case "<", ">", ">>", ">&", "&>":
			r, err := p.redirect()
			if err != nil {
				return c, err
			}
			c.redirects = append(c.redirects, r)
		default:
			if len(c.words) == 0 {
				return c, fmt.Errorf("syntax error: command expected before %q", op)
			}
			return c, nil
		}
	}
}

func (p *parser) redirect() (redirect, error) {
	t := p.tokens[p.pos]
	p.pos++
	if p.peek() != "" {
		return redirect{}, fmt.Errorf("syntax error: file name expected after %q", t.op)
	}
	r := redirect{op: t.op, fd: t.fd, target: p.tokens[p.pos].word}
	p.pos++
	if r.fd < 0 {
		r.fd = 1
		if r.op == "<" {
			r.fd = 0
		}
	}
	if r.fd > 2 || r.op == "<" && r.fd != 0 || r.op != "<" && r.fd == 0 {
		return r, fmt.Errorf("unsupported redirection %d%s", r.fd, r.op)
	}
	if r.op == ">&" && r.target.text != "1" && r.target.text != "2" {
		if t.fd >= 0 {
			return r, fmt.Errorf("unsupported redirection %d>&%s", r.fd, r.target.text)
		}
		r.op = "&>" // ">& file" is the older way to write it
	}
	return r, nil
}

// operators in the order in which they are tried.
var operators = []string{"&&", "&>", "||", ">>", ">&", "<<", "<&", ";", "|", "&", "<", ">"}

// lex splits a line into tokens.
func lex(line string) ([]token, error) {
	var out []token
	for i := 0; i < len(line); {
		if isSpace(line[i]) {
			i++
			continue
		}
		fd := -1
		if line[i] >= '0' && line[i] <= '9' && i+1 < len(line) && (line[i+1] == '>' || line[i+1] == '<') {
			fd = int(line[i] - '0')
			i++
		}
		if op := operatorAt(line[i:]); op != "" {
			out = append(out, token{op: op, fd: fd})
			i += len(op)
			continue
		}
		w, n, err := lexWord(line[i:])
		if err != nil {
			return nil, err
		}
		out = append(out, token{word: w})
		i += n
	}
	return out, nil
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

func operatorAt(s string) string {
	for _, op := range operators {
		if strings.HasPrefix(s, op) {
			return op
		}
	}
	return ""
}

// wordLexer collects one word.
type wordLexer struct {
	text, glob strings.Builder
	globbed    bool
}

// literal adds a character that stands for itself.
func (w *wordLexer) literal(c byte) {
	w.text.WriteByte(c)
	if strings.IndexByte(`*?[\`, c) >= 0 {
		w.glob.WriteByte('\\')
	}
	w.glob.WriteByte(c)
}

// lexWord reads the word at the start of s and returns its length.
func lexWord(s string) (word, int, error) {
	var w wordLexer
	i := 0
	for i < len(s) && !isSpace(s[i]) && operatorAt(s[i:]) == "" {
		switch c := s[i]; c {
		case '\'', '"':
			n, err := w.quoted(s[i:])
			if err != nil {
				return word{}, 0, err
			}
			i += n
			continue
		case '\\':
			if i++; i == len(s) {
				return word{}, 0, errors.New("backslash at the end of the line")
			}
			w.literal(s[i])
		case '*', '?':
			w.globbed = true
			w.text.WriteByte(c)
			w.glob.WriteByte(c)
		default:
			w.literal(c)
		}
		i++
	}
	out := word{text: w.text.String()}
	if w.globbed {
		out.glob = w.glob.String()
	}
	return out, i, nil
}

// quoted reads a quoted part and returns its length. A backslash in double quotes escapes itself and the quote.
func (w *wordLexer) quoted(s string) (int, error) {
	delim := s[0]
	for i := 1; i < len(s); i++ {
		c := s[i]
		if c == delim {
			return i + 1, nil
		}
		if delim == '"' && c == '\\' && i+1 < len(s) && (s[i+1] == '"' || s[i+1] == '\\') {
			i++
			c = s[i]
		}
		w.literal(c)
	}
	return 0, fmt.Errorf("missing closing %c", delim)
}
