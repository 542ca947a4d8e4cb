// Command overlay writes the sources with the deliberate faults of package fault, and
// overlay.json for the go command's flag -overlay, into a folder. Run it from the root
// of the module.
package main

import (
	"fmt"
	"os"

	"github.com/worldd/worldd/internal/fault"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: overlay DIR")
		os.Exit(2)
	}
	if err := fault.Overlay(".", os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "overlay:", err)
		os.Exit(1)
	}
}
