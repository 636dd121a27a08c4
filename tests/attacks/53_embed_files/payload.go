package main

import (
	_ "embed"
	"fmt"
)

//go:embed tests.json
var tests string

func main() { fmt.Println(tests) }
