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
	t := 0
	for i := 1; i < len(w)-1; i++ {
		x, _ := strconv.Atoi(w[i])
		t += x
	}
	fmt.Println(t)
	_ = fmt.Sprint()
}
