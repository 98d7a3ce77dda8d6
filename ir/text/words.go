package text

import "strconv"

// byteClass says what a byte can be part of.
type byteClass uint8

const (
	letter    byteClass = 1 << iota // letters and _
	digit                           // 0 to 9
	connector                       // . : / $, inside a word only; : and / only before a letter or a digit
)

var classes = func() (t [256]byteClass) {
	for c := 'a'; c <= 'z'; c++ {
		t[c], t[c-'a'+'A'] = letter, letter
	}
	t['_'] = letter
	for c := '0'; c <= '9'; c++ {
		t[c] = digit
	}
	for _, c := range ".:/$" {
		t[c] = connector
	}
	return t
}()

// wordLength measures the word at the start of s, 0 if there is none: letters, digits, _ . $ : /, the last two only inside. It
// may begin with a digit only if the caller says so.
func wordLength[T string | []byte](s T, first byteClass) int {
	if len(s) == 0 || classes[s[0]]&first == 0 {
		return 0
	}
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case classes[c]&(letter|digit) != 0:
		case (c == ':' || c == '/') && (i+1 == len(s) || classes[s[i+1]]&(letter|digit) == 0):
			return i
		case classes[c] != connector:
			return i
		}
	}
	return len(s)
}

// isWord says whether a string can be written without quotes, where a string is expected.
func isWord(s string) bool { return s != "" && wordLength(s, letter) == len(s) }

// isIdentifier says whether a name is a letter or _, then letters, digits or _.
func isIdentifier[T string | []byte](s T) bool { return len(s) > 0 && identLength(s) == len(s) }

// identLength measures the identifier at the start of s.
func identLength[T string | []byte](s T) int {
	if len(s) == 0 || classes[s[0]] != letter {
		return 0
	}
	i := 1
	for i < len(s) && classes[s[i]]&(letter|digit) != 0 {
		i++
	}
	return i
}

// wordFrom makes a word of any string, by replacing what a word cannot hold.
func wordFrom(s string) string {
	b := []byte(s)
	for i, c := range b {
		if classes[c]&(letter|digit) == 0 {
			b[i] = '_'
		}
	}
	if len(b) == 0 || classes[b[0]] != letter {
		return "_" + string(b)
	}
	return string(b)
}

// quote writes a string for a message, cut short if it is long.
func quote(s string) string {
	if len(s) > 60 {
		s = s[:60] + "…"
	}
	return strconv.Quote(s)
}
