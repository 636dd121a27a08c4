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
	for i, j := 0, len(w)-1; i < j; i, j = i+1, j-1 {
		w[i], w[j] = w[j], w[i]
	}
	fmt.Println(strings.Join(w, " "))
	_ = fmt.Sprint()
}
