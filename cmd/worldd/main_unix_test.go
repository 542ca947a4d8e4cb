//go:build unix

package main

import (
	"os"
	"os/signal"
	"syscall"
)

// In the processes that tests start, a file that may grow no longer is an error, as
// a full disk is.
func init() {
	if os.Getenv(asMain) != "" {
		signal.Ignore(syscall.SIGXFSZ)
	}
}
