package main

import "fmt"

func main() {
	var n int
	fmt.Scan(&n)
	parts := make(chan int, n)
	for i := 0; i < n; i++ {
		var x int
		fmt.Scan(&x)
		go func() { parts <- x }()
	}
	total := 0
	for i := 0; i < n; i++ {
		total += <-parts
	}
	fmt.Println(total)
}
