//go:build unix

package main

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/racetest"
)

// Commands accept only regular files: a pipe blocks until its other end is opened, a device may
// have no end, and neither keeps what is saved to it.
func TestCommandsUseRegularFilesOnly(t *testing.T) {
	racetest.SkipUnchecked(t)
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
		"record":      append(serve, "--record="+pipe),
		"recording":   {"replay", pipe},
		"inspected":   {"inspect", pipe},
		"trained":     {"train", pipe, "--out=" + filepath.Join(dir, "out")},
		"secret key":  {"token", "issue", "--user=ann", "--key=" + pipe},
	} {
		t.Run(name, func(t *testing.T) {
			status, out, err := worldd(t, args...)
			require.Equal(t, exitUsage, status)
			require.Empty(t, out)
			require.Contains(t, err, pipe)
			require.Contains(t, err, "not a regular file: it is a named pipe")
		})
	}
	status, _, err := worldd(t, "effect", "check", pipe)
	require.Equal(t, exitError, status, "as for each invalid effect")
	require.Contains(t, err, "not a regular file: it is a named pipe")
	for _, flag := range []string{"--tables=/dev/zero", "--image=/dev/null", "--record=/dev/null"} {
		status, _, err := worldd(t, append(serve, flag)...)
		require.Equal(t, exitUsage, status, flag)
		require.Contains(t, err, "not a regular file: it is a device")
	}
}
