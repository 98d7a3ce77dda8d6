package shell

import (
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"strings"
)

// prefixes takes off "env", "not" and NAME=VALUE words, in any order.
func (st *stage) prefixes(words []string) error {
	for len(words) > 0 {
		name, value, assigns := strings.Cut(words[0], "=")
		switch {
		case words[0] == "not":
			st.nots++
			if words = words[1:]; len(words) > 0 && words[0] == "--crash" {
				st.crash = true
				words = words[1:]
			}
		case words[0] == "env":
			rest, err := st.environment(words[1:])
			if err != nil {
				return err
			}
			if len(rest) == 0 {
				st.args = []string{"env"} // prints the environment
				return nil
			}
			words = rest
		case assigns && isName(name):
			st.setenv(name, value)
			words = words[1:]
		default:
			st.args = words
			return nil
		}
	}
	return errors.New("syntax error: a prefix without a command")
}

// environment reads the arguments of env: -u NAME, -i, -C DIR and NAME=VALUE.
func (st *stage) environment(words []string) ([]string, error) {
	for len(words) > 0 {
		word := words[0]
		name, value, assigns := strings.Cut(word, "=")
		switch {
		case (word == "-u" || word == "-C") && len(words) > 1:
			if word == "-u" {
				st.setenv(words[1], "")
				delete(st.env, words[1])
			} else {
				st.dir = within(st.dir, words[1])
			}
			words = words[1:]
		case word == "-i":
			st.env = map[string]string{}
		case assigns && !strings.HasPrefix(word, "-"):
			st.setenv(name, value)
		case strings.HasPrefix(word, "-"):
			return nil, fmt.Errorf("env: unsupported option %q", word)
		default:
			return words, nil
		}
		words = words[1:]
	}
	return nil, nil
}

func (st *stage) setenv(name, value string) {
	st.env = maps.Clone(st.env)
	st.env[name] = value
}

func isName(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i] | 0x20
		if !('a' <= c && c <= 'z' || s[i] == '_' || i > 0 && '0' <= s[i] && s[i] <= '9') {
			return false
		}
	}
	return s != ""
}

// within returns path as seen from dir.
func within(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

// lookPath finds a program: by its path, or in the PATH of the stage's environment.
func (st *stage) lookPath(name string) string {
	if strings.ContainsRune(name, filepath.Separator) {
		path, err := exec.LookPath(within(st.dir, name))
		if err != nil {
			return ""
		}
		return path
	}
	for _, dir := range filepath.SplitList(st.env["PATH"]) {
		if dir == "" {
			continue
		}
		if path, err := exec.LookPath(filepath.Join(within(st.dir, dir), name)); err == nil {
			return path
		}
	}
	return ""
}
