package host

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// mountSmallDisk mounts a disk at dir that is full after 64 KiB. It returns false if this process may not.
func mountSmallDisk(t *testing.T, dir string) bool {
	if syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64k") != nil {
		return false
	}
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(dir, 0)) })
	return true
}
