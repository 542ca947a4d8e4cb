package host

import (
	"os"
	"os/signal"
	"syscall"
)

// watchHangups catches SIGHUP from now until the process ends: it must not kill a process
// that is loading, or saving its world for the last time. Closing a terminal, and
// systemd if so configured, sends one right after SIGTERM.
func watchHangups() <-chan os.Signal {
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGHUP)
	return asked
}

// outliveReaders lets writes to a pipe without a reader fail with EPIPE until the process ends. By
// default, a write to such a standard output kills the process: a log shipper that crashes, or tee
// at Ctrl-C, would take the world with it.
func outliveReaders() { signal.Ignore(syscall.SIGPIPE) }
