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
	n, _ := strconv.Atoi(strings.TrimSpace(s))
	for d := 1; d <= n; d++ {
		if n%d == 0 {
			fmt.Print(d, " ")
		}
	}
	_ = fmt.Sprint()
}
