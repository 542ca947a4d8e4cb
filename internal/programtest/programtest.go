// Package programtest lets a test binary behave like a program under test, for tests of its
// processes.
package programtest

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
)

// variable names the program as which a process of the test binary acts. If it is unset, the
// process runs the tests.
const variable = "WORLDD_TEST_AS_MAIN"

// RunMain runs program in a process that acts as one, and the tests in any other process. It
// does not return.
func RunMain(m *testing.M, program func(name string)) {
	if IsProgram() {
		program(os.Getenv(variable))
	}
	os.Exit(m.Run())
}

// IsProgram reports whether the process acts as a program.
func IsProgram() bool { return os.Getenv(variable) != "" }

// SetChildren makes processes that the test starts from its own executable act as a program.
// The demo starts its bots in this way.
func SetChildren(t *testing.T, name string) { t.Setenv(variable, name) }

// Command returns a command that runs the test binary as a program. It ends with the test at
// the latest.
func Command(t testing.TB, name string, args ...string) *exec.Cmd {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), self, args...)
	c.Env = append(os.Environ(), variable+"="+name)
	return c
}

// LimitByShell makes a shell run ulimit with a limit before the command.
func LimitByShell(c *exec.Cmd, limit string) {
	c.Args = append([]string{"sh", "-c", "ulimit " + limit + ` && exec "$0" "$@"`, c.Path}, c.Args[1:]...)
	c.Path = "/bin/sh"
}

// Screen is a buffer for concurrent writers.
type Screen struct {
	Words string // Seen, if not nil, is called after the first write that contains them
	Seen  func()

	mu   sync.Mutex
	buf  bytes.Buffer
	seen sync.Once
}

// Write appends p.
func (s *Screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	n, err := s.buf.Write(p)
	s.mu.Unlock()
	if s.Seen != nil && strings.Contains(string(p), s.Words) {
		s.seen.Do(s.Seen) // it may read the screen
	}
	return n, err
}

// String returns everything written.
func (s *Screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.String()
}
