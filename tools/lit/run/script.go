package run

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// script is what the keywords in a test file say.
type script struct {
	lines       []scriptLine // RUN, DEFINE and REDEFINE in their order
	xfail       []string     // boolean expressions
	requires    []string
	unsupported []string
	retries     *int // nil if not given
	bless       []blessMark
}

// scriptLine is a command or the definition of a substitution, at a line of the file.
type scriptLine struct {
	keyword string
	text    string
	line    int
}

// keyword finds the first keyword on a line. It must not be part of a longer word.
var keyword = regexp.MustCompile(
	`(?:^|[^-_a-zA-Z0-9])(RUN:|XFAIL:|REQUIRES:|UNSUPPORTED:|ALLOW_RETRIES:|DEFINE:|REDEFINE:|BLESS:|END\.)`)

// parseScript reads the keywords of a test file, up to "END.".
func parseScript(text string) (*script, error) {
	s := &script{}
	open := "" // the keyword whose last line ended in a backslash
	for i, line := range strings.Split(text, "\n") {
		m := keyword.FindStringSubmatchIndex(line)
		if m == nil {
			continue
		}
		word := line[m[2]:m[3]]
		if word == "END." {
			break
		}
		value := strings.TrimRight(unstring(line[:m[2]], line[m[3]:]), " \t\r")
		continues := open == word
		if open != "" && !continues && word != "BLESS:" {
			return nil, fmt.Errorf("line %d: expected a continuation of %q, found %q", i+1, open, word)
		}
		if word == "BLESS:" {
			s.bless = append(s.bless, blessMark{line: i, leader: line[:m[2]], text: value})
			continue
		}
		if err := s.add(word, value, i+1, continues); err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
		open = ""
		if strings.HasSuffix(value, `\`) {
			open = word
		}
	}
	if open != "" {
		return nil, fmt.Errorf("test has unterminated %q lines (with '\\')", open)
	}
	return s, s.check()
}

// unstring returns the text behind a keyword. Where the keyword opens a JSON string, that is the string's value.
func unstring(before, after string) string {
	before = strings.TrimRight(before, " \t/#")
	if !strings.HasSuffix(before, `"`) {
		return after
	}
	for end := 0; end < len(after); end++ {
		switch after[end] {
		case '\\':
			end++
		case '"':
			var value string
			if json.Unmarshal([]byte(`"`+after[:end]+`"`), &value) == nil {
				return value
			}
			return after
		}
	}
	return after
}

func (s *script) check() error {
	for _, l := range s.lines {
		if l.keyword == "RUN:" {
			return nil
		}
	}
	return errors.New("test has no 'RUN:' line")
}

var lineNumber = regexp.MustCompile(`%\(line *(?:([-+]) *(\d+))? *\)`)

// numberLines replaces %(line), %(line+n) and %(line-n).
func numberLines(text string, line int) string {
	return lineNumber.ReplaceAllStringFunc(text, func(m string) string {
		g := lineNumber.FindStringSubmatch(m)
		n, _ := strconv.Atoi("0" + g[2])
		if g[1] == "-" {
			n = -n
		}
		return strconv.Itoa(line + n)
	})
}

func (s *script) add(word, value string, line int, continues bool) error {
	switch word {
	case "RUN:", "DEFINE:", "REDEFINE:":
		return s.addLine(word, numberLines(value, line), line, continues)
	case "XFAIL:":
		return addList(&s.xfail, value, continues)
	case "REQUIRES:":
		return addList(&s.requires, value, continues)
	case "UNSUPPORTED:":
		return addList(&s.unsupported, value, continues)
	default:
		n, err := strconv.Atoi(strings.TrimSpace(value))
		if err != nil || n < 0 || n > 100 {
			return fmt.Errorf("ALLOW_RETRIES needs a number from 0 to 100, found %q", strings.TrimSpace(value))
		}
		if s.retries != nil {
			return errors.New("more than one ALLOW_RETRIES")
		}
		s.retries = &n
		return nil
	}
}

func (s *script) addLine(word, value string, line int, continues bool) error {
	if !continues {
		s.lines = append(s.lines, scriptLine{word, strings.TrimLeft(value, " \t"), line})
		return nil
	}
	last := &s.lines[len(s.lines)-1]
	head := strings.TrimSuffix(last.text, `\`)
	if word != "RUN:" {
		if strings.TrimSpace(value) == "" {
			return fmt.Errorf("empty continuation of %q", word)
		}
		head, value = strings.TrimRight(head, " \t")+" ", strings.TrimLeft(value, " \t")
	}
	last.text = head + value
	return nil
}

// addList adds the expressions of a comma-separated list.
func addList(list *[]string, value string, continues bool) error {
	parts := strings.Split(value, ",")
	if continues {
		last := strings.TrimSuffix((*list)[len(*list)-1], `\`)
		*list = (*list)[:len(*list)-1]
		parts[0] = last + " " + parts[0]
	}
	for _, part := range parts {
		if part = strings.TrimSpace(part); part != "" {
			*list = append(*list, part)
		}
	}
	return nil
}
