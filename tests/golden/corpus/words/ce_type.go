package main

func main() {
	var x int = "six"
	_ = x
}
