// Package blocks finds the code blocks of Markdown pages, and how a test runs them. A comment in the line before a block says what to do with it:
//
//	<!-- file NAME -->         it is a file that later blocks use
//	<!-- not run: REASON -->   it can not be run by a test
//	<!-- run by PACKAGE -->    the tests of that package run it
//
// Blocks without one are run where their language is sh or console, in whose lines with "$ " are commands and the rest is what they print.
// It imports nothing of tapc. Read next: blocks_test.go, which runs them.
package blocks

import (
	"fmt"
	"strings"
)

// Block is a code block.
type Block struct {
	Line     int    // of its first line in the page, counted from 1
	Language string // "" is not said
	Text     string
	File     string // what it is written to
	Reason   string // why it is not run
	RunBy    string // the package that runs it
}

// Find gives the code blocks of a page.
func Find(page string) ([]Block, error) {
	var list []Block
	var at *Block
	mark, fence := "", ""
	for n, line := range strings.Split(page, "\n") {
		trimmed := strings.TrimSpace(line)
		switch {
		case at != nil && trimmed == fence:
			list, at, mark = append(list, *at), nil, ""
		case at != nil:
			at.Text += line + "\n"
		case strings.HasPrefix(trimmed, "```"):
			language := strings.TrimLeft(trimmed, "`")
			fence = strings.TrimSuffix(trimmed, language)
			at = &Block{Line: n + 2, Language: language}
			if err := at.mark(mark); err != nil {
				return nil, fmt.Errorf("line %d: %w", n+1, err)
			}
		default:
			mark = trimmed
		}
	}
	if at != nil {
		return nil, fmt.Errorf("line %d: the block does not end", at.Line)
	}
	return list, nil
}

// mark reads the comment before a block.
func (b *Block) mark(line string) error {
	inside, ok := strings.CutPrefix(line, "<!-- ")
	if !ok {
		return nil
	}
	inside = strings.TrimSuffix(inside, " -->")
	for prefix, to := range map[string]*string{"file ": &b.File, "not run: ": &b.Reason, "run by ": &b.RunBy} {
		if value, ok := strings.CutPrefix(inside, prefix); ok && value != "" {
			*to = value
			return nil
		}
	}
	return fmt.Errorf("%q says nothing about a block", line)
}

// Command is a line of a console block with what it prints.
type Command struct{ Line, Output string }

// Commands takes a console block apart.
func Commands(text string) []Command {
	var list []Command
	for line := range strings.Lines(text) {
		if command, ok := strings.CutPrefix(line, "$ "); ok {
			list = append(list, Command{Line: strings.TrimSuffix(command, "\n")})
		} else if len(list) > 0 {
			list[len(list)-1].Output += line
		}
	}
	return list
}
