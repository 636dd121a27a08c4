package other

import (
	"os"
	"testing"
)

func TestOther(t *testing.T) {}

func TestAdd(t *testing.T) {
	if os.Getenv("CASE") == "failing" {
		t.Fatal("another package's TestAdd")
	}
}
