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
	r, _ := strconv.ParseFloat(strings.TrimSpace(s), 64)
	fmt.Println(3.1416 * r * r)
	_ = fmt.Sprint()
}
