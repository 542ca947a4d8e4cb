package commandline

import (
	"io"
	"os"
)

// IsTerminal reports whether w is a terminal whose user has not disabled colours
// (https://no-color.org).
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
