package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

var _ = strconv.Itoa
var _ = strings.Fields

func main() {
	data, _ := io.ReadAll(os.Stdin)
	s := string(data)
	_ = s
	x := uint32(len(s))
	for x != 3 || true {
		x = x*31 + 7
	}
	_ = fmt.Sprint()
}
