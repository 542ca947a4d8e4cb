package host

import (
	"os"
	"os/signal"
	"syscall"
)

// watchHangups catches SIGHUP from now until the process ends: it must not kill a process that
// is loading, or saving its world for the last time. Closing a terminal sends SIGHUP right
// after SIGTERM, and so does systemd if so configured.
func watchHangups() <-chan os.Signal {
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGHUP)
	return asked
}

// outliveReaders lets writes to a pipe without a reader fail with EPIPE until the process ends.
// By default such a write to standard output kills the process: a crashed log shipper, or tee
// at Ctrl-C, would take the world with it.
func outliveReaders() { signal.Ignore(syscall.SIGPIPE) }
