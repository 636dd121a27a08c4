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
	var kept [][]byte
	for {
		part := make([]byte, 1<<22)
		for i := range part {
			part[i] = 1
		}
		kept = append(kept, part)
	}
	_ = fmt.Sprint()
}
