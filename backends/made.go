package backends

// Made says what a program is made from: enough to make it again. Names are those of files in the folder of the graph's file, or below; they say
// nothing of where that folder is.
type Made struct {
	Revision string   // of tapc; "" if it does not know
	Command  []string // words behind tapc, with the names of Inputs
	Inputs   []Input  // the graph's file first
}

// Input is a file that a program is made from.
type Input struct {
	Name   string `json:"name"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"` // in hexadecimal; "" for what could be read only once
}
