//go:build unix

package main

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// Only regular files are accepted: a pipe without a writer would block, and a device
// would fill the memory.
func TestCommandsReadRegularFilesOnly(t *testing.T) {
	dir := t.TempDir()
	pipe, good := filepath.Join(dir, "pipe"), filepath.Join(dir, "good")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	require.NoError(t, os.WriteFile(good, nil, 0o600))
	serve := []string{"serve", "--world=calm", "--listen=127.0.0.1:0"}
	for name, args := range map[string][]string{
		"world":       {"check", pipe},
		"served":      {"serve", "--world=" + pipe},
		"tables":      append(serve, "--tables="+pipe),
		"token keys":  append(serve, "--token-keys="+pipe),
		"identity":    append(serve, "--identity="+pipe),
		"certificate": append(serve, "--cert="+pipe, "--key="+good),
		"key":         append(serve, "--cert="+good, "--key="+pipe),
		"image":       append(serve, "--image="+pipe),
		"recording":   {"replay", pipe},
		"inspected":   {"inspect", pipe},
		"trained":     {"train", pipe, "--out=" + filepath.Join(dir, "out")},
		"effect":      {"effect", "check", pipe},
		"secret key":  {"token", "issue", "--user=ann", "--key=" + pipe},
	} {
		t.Run(name, func(t *testing.T) {
			status, out, err := worldd(t, args...)
			require.NotEqual(t, exitOK, status)
			require.Empty(t, out)
			require.Contains(t, err, pipe)
			require.Contains(t, err, "not a regular file: it is a named pipe")
		})
	}
	_, _, err := worldd(t, append(serve, "--tables=/dev/zero")...)
	require.Contains(t, err, "not a regular file: it is a device")
}
