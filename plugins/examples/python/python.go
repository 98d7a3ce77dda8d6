// Package python has what every plugin in Python has besides its passes, for those that "tapc plugin new" makes: tapcplugin.py, and the packages
// that it needs. It imports nothing. Read next: README.md.
package python

import _ "embed"

// Module is tapcplugin.py.
//
//go:embed tapcplugin.py
var Module []byte

// Requirements are packages with their versions, as pip reads them.
//
//go:embed requirements.txt
var Requirements []byte
