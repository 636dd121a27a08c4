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
	fmt.Printf("%.9f\n", 3.141592653589793*r*r)
	_ = fmt.Sprint()
}
