package nodefile

import (
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
)

// placeOf names the running system and the lock file: a process that had the lock there has ended (N2).
func placeOf(lock fs.FileInfo) string {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	file, ok := lock.Sys().(*syscall.Stat_t)
	if err != nil || !ok {
		return ""
	}
	return fmt.Sprintf("%s %d %d", strings.TrimSpace(string(boot)), file.Dev, file.Ino)
}
