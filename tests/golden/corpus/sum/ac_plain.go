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
	t := 0
	for _, w := range strings.Fields(s)[1:] {
		x, _ := strconv.Atoi(w)
		t += x
	}
	fmt.Println(t)
	_ = fmt.Sprint()
}
