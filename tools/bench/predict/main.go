package main

import (
	"fmt"
	"os"
)

func main() {
	for _, g := range programs() {
		os.WriteFile("/tmp/t-cost/p/"+g.Name+".tap", []byte(g.Text()), 0o644)
		fmt.Println(g.Name)
	}
}
