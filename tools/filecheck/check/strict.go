package check

import "strings"

// strict refuses lines that look like a directive but are not one, which FileCheck passes over in silence: a missing
// colon (CHECK-NEXT y), a space before it (CHECK :), a mistyped suffix (CHECK-NXT:) or prefix (CHEKC:). It reports
// all of them and returns false if there are any.
func (f *fileParser) strict() bool {
	good := true
	src := f.prog.src
	for i, start := range src.lines {
		end := len(src.text)
		if i+1 < len(src.lines) {
			end = src.lines[i+1] - 1
		}
		line := span{src, start, end}
		if f.marked[i+1] {
			continue
		}
		if at, want, found := f.likelyTypo(line); found {
			good = false
			f.out.message(at, sevError, "possible misspelled directive '"+at.String()+"'; did you mean '"+want+"'?", at)
		}
	}
	return good
}

// likelyTypo returns the first word of a line that is nearly a directive, and the directive.
func (f *fileParser) likelyTypo(line span) (at span, want string, found bool) {
	text := line.String()
	for i := 0; i < len(text); {
		if !wordByte(text[i]) {
			i++
			continue
		}
		n := i
		for n < len(text) && wordByte(text[n]) {
			n++
		}
		for _, prefix := range f.opts.Prefixes {
			if want, found = nearDirective(prefix, text[i:n], text[n:]); found {
				return line.slice(i, n), want, true
			}
		}
		i = n
	}
	return line, "", false
}

// nearDirective compares a word, and the text after it, with the directives of a prefix.
func nearDirective(prefix, word, after string) (want string, found bool) {
	colon := strings.HasPrefix(after, ":")
	spaced := strings.HasPrefix(strings.TrimLeft(after, blank), ":")
	if word == prefix {
		return prefix + ":", spaced && !colon
	}
	if !strings.HasPrefix(word, prefix) {
		near := len(prefix) >= 4 && colon && slipped(word, prefix)
		return prefix + ":", near
	}
	suffix := strings.TrimLeft(word[len(prefix):], "-_")
	if len(suffix) == len(word)-len(prefix) {
		return "", false
	}
	for _, s := range suffixes {
		exact := suffix == s.name
		if exact && !colon || !exact && spaced && len(s.name) > 2 && within1(suffix, s.name) {
			return prefix + "-" + s.name + ":", true
		}
	}
	return "", false
}

// slipped tells whether got is want with one letter left out or two neighbours exchanged.
func slipped(got, want string) bool {
	i := 0
	for i < len(got) && i < len(want) && got[i] == want[i] {
		i++
	}
	switch len(want) - len(got) {
	case 1:
		return got[i:] == want[i+1:]
	case 0:
		return i+2 <= len(want) && got[i] == want[i+1] && got[i+1] == want[i] && got[i+2:] == want[i+2:]
	}
	return false
}

// within1 tells whether a and b differ by at most one letter added, left out, replaced or exchanged.
func within1(a, b string) bool {
	return editDistance(a, b, 1) <= 1 || len(a) == len(b) && slipped(a, b)
}
