package bot

import (
	"io"
	"os"
)

// IsTerminal says whether w shows colors: a terminal, whose user has not asked
// for none (https://no-color.org).
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
