package sample

import (
	"fmt"
	"os"
	"syscall"
	"testing"
)

func TestAdd(t *testing.T) {
	if Add(1, 2) != 3 {
		t.Fatal("1 + 2")
	}
}

func TestTable(t *testing.T) {
	for _, name := range []string{"two words", "a/b", "grüße", "#01 (x)"} {
		t.Run(name, func(t *testing.T) {
			if name == "a/b" && os.Getenv("CASE") == "failing" {
				t.Errorf("got 1, want 2")
			}
		})
	}
}

func TestPrints(t *testing.T) {
	fmt.Println("a line: ok, FAIL, PASS")
	t.Log("a log of the test's")
	if os.Getenv("CASE") == "glued" {
		fmt.Print("no end of a line ")
	}
}

func TestParallel(t *testing.T) {
	for _, name := range []string{"one", "two"} {
		name := name
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fmt.Println("in", name)
		})
	}
}

func TestSkipped(t *testing.T) { t.Skip("not here") }

func TestCrashes(t *testing.T) {
	switch os.Getenv("CASE") {
	case "panic":
		var none map[string]int
		none["x"] = 1
	case "killed":
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case "exit":
		os.Exit(0)
	}
}

func TestAfter(t *testing.T) {}

func ExampleAdd() {
	fmt.Println(Add(2, 2))
	// Output: 4
}
