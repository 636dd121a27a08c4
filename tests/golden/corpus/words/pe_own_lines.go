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
	w := strings.Fields(s)
	for i := len(w) - 1; i >= 0; i-- {
		fmt.Print("  ", w[i])
	}
	_ = fmt.Sprint()
}
