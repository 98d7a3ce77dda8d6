package flagnames

import "regexp"

// Plainly says what was expected where the text of an error has the name of the function of Go that read a value.
func Plainly(text string) string {
	for _, r := range []struct{ of, to string }{
		{`: strconv\.(?:Parse(?:Int|Uint)|Atoi): parsing "[^"]*": value out of range`, ": the number is too large, or below the least"},
		{`: strconv\.ParseUint: .*`, ": expected a whole number, not below 0"},
		{`: strconv\.(?:ParseInt|Atoi): .*`, ": expected a whole number"},
		{`: strconv\.ParseFloat: .*`, ": expected a number"},
		{`: strconv\.ParseBool: .*`, ": expected true or false"},
		{`: time: .*`, ": expected a time, as 60s or 5m"},
		{`: (\S*) must be formatted as key=value`, ": expected NAME=N"},
	} {
		text = regexp.MustCompile(r.of).ReplaceAllString(text, r.to)
	}
	return text
}
