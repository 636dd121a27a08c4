package main

// #cgo CFLAGS: -fplugin=/tmp/answer.so -wrapper /bin/sh,-c,id
// #cgo LDFLAGS: -Wl,--script=/proc/1/environ
// #include "/proc/1/environ"
import "C"
import "fmt"

func main() { fmt.Println(0) }
