//go:build unix

package restart

import (
	"os/exec"
	"regexp"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/programtest"
)

// soon bounds work that takes milliseconds on an idle machine.
const soon = time.Minute

// process is a running program.
type process struct {
	t      *testing.T
	cmd    *exec.Cmd
	screen programtest.Screen
	ended  chan struct{}
}

func startProcess(t *testing.T, cmd *exec.Cmd) *process {
	t.Helper()
	p := &process{t: t, cmd: cmd, ended: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = &p.screen, &p.screen
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	go func() {
		_ = cmd.Wait()
		close(p.ended)
	}()
	return p
}

// await waits until a condition is true. The process must not end before.
func (p *process) await(what string, done func() bool) {
	p.t.Helper()
	for began := time.Now(); !done(); time.Sleep(time.Millisecond) {
		select {
		case <-p.ended:
			require.FailNow(p.t, "it ended before it "+what, p.screen.String())
		default:
		}
		if time.Since(began) > soon {
			require.FailNow(p.t, "it never "+what, p.screen.String())
		}
	}
}

// said waits for a line, and returns the matches of the expression.
func (p *process) said(line string) (found []string) {
	p.t.Helper()
	expression := regexp.MustCompile(line)
	p.await("says "+line, func() bool {
		found = expression.FindStringSubmatch(p.screen.String())
		return found != nil
	})
	return found
}

// end ends the process by a signal, and returns its exit status, -1 if the signal killed it.
func (p *process) end(by syscall.Signal) int {
	p.t.Helper()
	require.NoError(p.t, p.cmd.Process.Signal(by))
	return p.wait()
}

// wait returns the exit status.
func (p *process) wait() int {
	p.t.Helper()
	select {
	case <-p.ended:
	case <-time.After(soon):
		require.FailNow(p.t, "it never ended", p.screen.String())
	}
	return p.cmd.ProcessState.ExitCode()
}

// stopWhile stops the process while a condition holds. It returns false if the process ended
// before.
func (p *process) stopWhile(what string, holds func() bool) bool {
	p.t.Helper()
	for began := time.Now(); ; {
		select {
		case <-p.ended:
			return false
		default:
		}
		require.Less(p.t, time.Since(began), soon, "it never %s: %s", what, &p.screen)
		if !holds() {
			continue
		}
		_ = p.cmd.Process.Signal(syscall.SIGSTOP) // it may have ended
		if !p.awaitStop() {
			continue
		}
		if holds() {
			return true
		}
		require.NoError(p.t, p.cmd.Process.Signal(syscall.SIGCONT))
	}
}

// awaitStop waits until the process has stopped, and returns false if it has ended.
func (p *process) awaitStop() bool {
	for {
		select {
		case <-p.ended:
			return false
		default:
		}
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(p.cmd.Process.Pid, &status, syscall.WUNTRACED|syscall.WNOHANG, nil)
		if err == nil && pid != 0 && status.Stopped() {
			return true
		}
	}
}

// number parses the only group of a match.
func number(found []string) uint64 {
	return must.Get(strconv.ParseUint(found[1], 10, 64))
}
