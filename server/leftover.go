package server

import (
	"os"
	"path/filepath"
	"strings"

	"go.uber.org/zap"
)

// sweep removes what saves have left beside the image whose process was killed in
// the middle: each is as large as an image, and nobody else would ever miss it.
func (s *saver) sweep() {
	dir, name := filepath.Split(s.config.Path)
	entries, err := os.ReadDir(filepath.Clean(dir))
	if err != nil {
		return // the first save says what is wrong
	}
	for _, e := range entries {
		if !e.Type().IsRegular() || !isLeftover(e.Name(), name) {
			continue
		}
		path := filepath.Join(dir, e.Name())
		s.log.Info("removing what a killed save left", zap.String("path", path), zap.Error(os.Remove(path)))
	}
}

// isLeftover says whether a file is named like those that an image is written to
// before it gets its name: a dot, the image's name, a number.
func isLeftover(file, image string) bool {
	number, found := strings.CutPrefix(file, "."+image)
	return found && number != "" && strings.Trim(number, "0123456789") == ""
}
