package ir

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
)

// UUID identifies a node or a graph in interchange files. Equality is by value, so letter case in a file does not matter.
type UUID [16]byte

// ParseUUID reads the 36-character form, 8-4-4-4-12 hex digits in any letter case. Any version and variant is accepted, the
// nil UUID too; braces, "urn:uuid:" and shortened forms are errors.
func ParseUUID(s string) (UUID, error) {
	u, ok := UUIDFromText(s)
	if !ok {
		return u, fmt.Errorf("malformed UUID %q: expected 8-4-4-4-12 hex digits", clip(s))
	}
	return u, nil
}

// UUIDFromText is ParseUUID for readers that make their own message; it allocates nothing.
func UUIDFromText[T string | []byte](s T) (u UUID, ok bool) {
	if len(s) != 36 || s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
		return UUID{}, false
	}
	for i, at := range places {
		high, low := hexDigits[s[at]], hexDigits[s[at+1]]
		if high|low > 15 {
			return UUID{}, false
		}
		u[i] = high<<4 | low
	}
	return u, true
}

// hexDigits gives the value of a hex digit, 255 for any other byte.
var hexDigits = func() (t [256]byte) {
	for i := range t {
		t[i] = 255
	}
	for i := range byte(16) {
		t["0123456789abcdef"[i]], t["0123456789ABCDEF"[i]] = i, i
	}
	return t
}()

func clip(s string) string {
	if len(s) > 60 {
		return s[:60] + "…"
	}
	return s
}

// AppendText appends the 36-character lower-case form.
func (u UUID) AppendText(b []byte) ([]byte, error) {
	const digits = "0123456789abcdef"
	var text [36]byte
	text[8], text[13], text[18], text[23] = '-', '-', '-', '-'
	for i, at := range places {
		text[at], text[at+1] = digits[u[i]>>4], digits[u[i]&15]
	}
	return append(b, text[:]...), nil
}

// places are where the bytes of a UUID stand in its text.
var places = [16]int{0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34}

// String gives the 36-character lower-case form.
func (u UUID) String() string {
	b, _ := u.AppendText(make([]byte, 0, 36))
	return string(b)
}

// DeriveUUID makes the UUID (version 8, RFC 9562) number n of a family: always the same for the same family, name and n.
func DeriveUUID(family UUID, name string, n uint64) UUID {
	h := sha256.New()
	h.Write(family[:])
	h.Write([]byte(name))
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], n)
	h.Write(b[:])
	var u UUID
	copy(u[:], h.Sum(nil))
	u[6] = u[6]&0x0f | 0x80
	u[8] = u[8]&0x3f | 0x80
	return u
}
