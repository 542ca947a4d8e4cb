//go:build unix

package main

import (
	"os"
	"os/signal"
	"syscall"
)

// In processes that tests start, exceeding the file size limit is an error, like a full
// disk, and not a signal.
func init() {
	if os.Getenv(asMain) != "" {
		signal.Ignore(syscall.SIGXFSZ)
	}
}
