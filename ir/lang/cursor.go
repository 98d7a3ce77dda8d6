package lang

import (
	"fmt"
	"strings"
)

// Cursor walks over tokens. Its methods leave it at the token that is not what they expected, so that the place of an error is
// the next token's.
type Cursor struct {
	tokens []Token
	at     int
	depth  int
}

// Cursor gives a cursor at the first token of a text.
func (l *Lexicon) Cursor(text string) (Cursor, error) {
	tokens, err := l.Scan(text)
	return Cursor{tokens: tokens}, err
}

// Peek gives the next token.
func (c *Cursor) Peek() Token { return c.tokens[c.at] }

// Second gives the token behind the next one.
func (c *Cursor) Second() Token { return c.tokens[min(c.at+1, len(c.tokens)-1)] }

// Rest gives the tokens from the next one on.
func (c *Cursor) Rest() []Token { return c.tokens[c.at:] }

// Next takes the next token; the end stays where it is.
func (c *Cursor) Next() Token {
	t := c.tokens[c.at]
	if t.Kind != End {
		c.at++
	}
	return t
}

// Back gives the last token back, for an error that is its fault.
func (c *Cursor) Back() { c.at = max(0, c.at-1) }

// Continues says whether the next token stands on the line of the last one.
func (c *Cursor) Continues() bool { return c.at > 0 && c.tokens[c.at-1].Line == c.Peek().Line }

// Is says whether a name or a symbol is next.
func (c *Cursor) Is(text string) bool {
	t := c.Peek()
	return t.Text == text && (t.Kind == Symbol || t.Kind == Name)
}

// Accept takes a name or a symbol if it is next.
func (c *Cursor) Accept(text string) bool {
	if !c.Is(text) {
		return false
	}
	c.at++
	return true
}

// Expect takes a name or a symbol that must be next.
func (c *Cursor) Expect(text string) error {
	if !c.Accept(text) {
		return fmt.Errorf("expected %q, found %v", text, c.Peek())
	}
	return nil
}

// Want takes a token of a kind, which messages call what, and gives its text.
func (c *Cursor) Want(what string, kinds ...Kind) (string, error) {
	t := c.Peek()
	for _, k := range kinds {
		if t.Kind == k {
			return c.Next().Text, nil
		}
	}
	return "", fmt.Errorf("expected %s, found %v", what, t)
}

// List reads items with commas between them up to a closing symbol, and takes that. A comma may follow the last item.
func (c *Cursor) List(closing string, item func() error) error {
	for !c.Accept(closing) {
		if err := item(); err != nil {
			return err
		}
		if !c.Accept(",") && !c.Is(closing) {
			return fmt.Errorf("expected \",\" or %q, found %v", closing, c.Peek())
		}
	}
	return nil
}

// Enter goes one level deeper into what nests, at most so many; Leave comes back.
func (c *Cursor) Enter(most int) error {
	if c.depth++; c.depth > most {
		return fmt.Errorf("nested deeper than %d", most)
	}
	return nil
}

// Leave is the end of what Enter began.
func (c *Cursor) Leave() { c.depth-- }

// At gives an error the file and the place of the next token.
func (c *Cursor) At(file string, err error) error {
	return fmt.Errorf("%s:%v: %w", file, c.Peek().Place, err)
}

// PlaceOf gives the place that an error of Scan begins with, and what it says of it.
func PlaceOf(err error) (p Place, message string) {
	text := err.Error()
	if n, _ := fmt.Sscanf(text, "%d:%d:", &p.Line, &p.Column); n < 2 {
		return Place{}, text
	}
	return p, strings.TrimPrefix(text, p.String()+": ")
}
