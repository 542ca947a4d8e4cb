//go:build unix

package main

import (
	"os/signal"
	"syscall"

	"github.com/worldd/worldd/internal/programtest"
)

// In processes that tests start, exceeding the file size limit is an error, like a full
// disk, and not a signal.
func init() {
	if programtest.IsProgram() {
		signal.Ignore(syscall.SIGXFSZ)
	}
}
