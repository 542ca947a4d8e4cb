package restart

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/loopback"
	"github.com/worldd/worldd/internal/must"
)

// testHandOvers: servers with players pass from process to process. No session is lost and no handle lies, whether the next
// process succeeds, cannot start, differs, or either process is killed at any moment.
func testHandOvers(t *testing.T, built programs) {
	handOvers := 2
	if text := os.Getenv(killsVariable); text != "" {
		handOvers = must.Get(strconv.Atoi(text))
	}
	tests := map[string]func(*testing.T){}
	for _, program := range []string{"worldd", "arena"} {
		tests[program] = func(t *testing.T) { handOverOften(t, built, program, handOvers) }
	}
	runAtOnce(t, tests)
}

// handedOver is a server that passes from process to process.
type handedOver struct {
	*testing.T
	built   programs
	program string
	dir     string
	addr    string
	process *process // the first of the chain: it has the output of all later ones, and ends with the last
	random  *rand.Rand
	serving int // the process that serves
	before  int // sessions back in earlier chains
}

func handOverOften(t *testing.T, built programs, program string, handOvers int) {
	h := &handedOver{T: t, built: built, program: program, dir: t.TempDir(), addr: loopback.Reserve(t, 1)[0], random: rand.New(rand.NewPCG(2, uint64(handOvers)))}
	h.install(shipped)
	h.configure("0", "")
	h.start()
	t.Cleanup(func() { _ = syscall.Kill(h.serving, syscall.SIGKILL) }) // after a failure
	bots := startProcess(t, built.command(t, program, shipped, h.dir, "loadtest", "--addr="+h.addr, "--insecure-dev", "--bots=8", "--probes=250", "--duration=1h"))
	bots.said(`8/8`)
	h.fail()
	for n := range handOvers {
		h.handOver(n)
		h.killDuringHandOver("new")
		h.killDuringHandOver("old")
	}
	lines := func() int { return strings.Count(bots.screen.String(), "8/8") }
	before := lines()
	bots.await("shows all bots again", func() bool { return lines() > before })
	require.Zero(t, bots.end(syscall.SIGINT), &bots.screen)
	require.NoError(t, syscall.Kill(h.serving, syscall.SIGTERM))
	h.process.wait()
	_, report, _ := strings.Cut(bots.screen.String(), "outages")
	t.Logf("%d hand-overs of %s: outages%s", 3*handOvers, program, report)
	require.Contains(t, bots.screen.String(), "✓ no bot failed")
	require.Contains(t, bots.screen.String(), "no handle lied         0 confusions in")
	require.Regexp(t, `sessions resumed, +0 anew, +0 in another run of the world`, report)
}

// install puts a build where the server's executable is.
func (h *handedOver) install(v version) {
	h.replaceProgram(must.Get(os.ReadFile(h.built.command(h.T, h.program, v, h.dir).Path)))
}

// replaceProgram replaces the server's executable, as a package manager does.
func (h *handedOver) replaceProgram(content []byte) {
	path := filepath.Join(h.dir, "server")
	syscall.ForkLock.RLock() // a child of another test would hold the file open for writing until its exec: ETXTBSY
	err := os.WriteFile(path+".new", content, 0o700)
	syscall.ForkLock.RUnlock()
	require.NoError(h, err)
	require.NoError(h, os.Rename(path+".new", path))
}

// configure writes the file of the server's flags.
func (h *handedOver) configure(adminPort, more string) {
	text := fmt.Sprintf(`{"listen": %q, "admin": "127.0.0.1:%s"%s}`, h.addr, adminPort, more)
	require.NoError(h, os.WriteFile(filepath.Join(h.dir, "server.json"), []byte(text), 0o600))
}

func (h *handedOver) start() {
	c := h.built.command(h.T, h.program, shipped, h.dir, "serve", "--config=server.json", "--image=handed.image", "--record=handed.recording",
		"--image-every=2s", "--journal=always", "--identity=identity.pem")
	c.Path, c.Args[0] = filepath.Join(h.dir, "server"), filepath.Join(h.dir, "server")
	h.process = startProcess(h.T, c)
	h.process.said(`"msg":"serving"`)
	h.serving = c.Process.Pid
}

// back returns how many sessions are back after an interruption.
func (h *handedOver) back() int {
	return h.before + h.count(`"msg":"back"`)
}

var (
	preparing = regexp.MustCompile(`"msg":"hand-over: the next process prepares","pid":(\d+)`)
	completed = regexp.MustCompile(`"msg":"handed over","pid":(\d+)`)
)

// newest returns the newest process that a line names, or 0.
func (h *handedOver) newest(line *regexp.Regexp) int {
	all := line.FindAllStringSubmatch(h.process.screen.String(), -1)
	if all == nil {
		return 0
	}
	return must.Get(strconv.Atoi(all[len(all)-1][1]))
}

// ask asks for a hand-over, and waits until the next process prepares.
func (h *handedOver) ask() {
	before := len(preparing.FindAllString(h.process.screen.String(), -1))
	require.NoError(h, syscall.Kill(h.serving, syscall.SIGUSR2))
	h.process.await("begins a hand-over", func() bool {
		return len(preparing.FindAllString(h.process.screen.String(), -1)) > before
	})
}

// handOver hands over, by one or two requests at once.
func (h *handedOver) handOver(n int) {
	served, back := h.count(`"msg":"serving"`), h.back()
	h.ask()
	if n%2 == 1 {
		_ = syscall.Kill(h.serving, syscall.SIGUSR2) // it may have ended
	}
	h.process.await("serves in the next process", func() bool { return h.count(`"msg":"serving"`) > served })
	h.process.await("confirms", func() bool { return h.newest(completed) == h.newest(preparing) })
	h.serving = h.newest(completed)
	h.process.await("resumes all sessions", func() bool { return h.back() >= back+8 })
}

// fail asks for hand-overs that cannot succeed: the old process serves on, with its sessions.
func (h *handedOver) fail() {
	fails := func(why string, f func()) {
		f()
		before := h.count("no hand-over")
		require.NoError(h, syscall.Kill(h.serving, syscall.SIGUSR2))
		h.process.await("gives up", func() bool { return h.count("no hand-over") > before })
		require.Regexp(h, why, h.process.screen.String())
		require.Equal(h, 1, h.count(`"msg":"serving"`))
	}
	fails("unknown key", func() { h.configure("0", `, "image-evry": "2s"`) })
	fails("differs in what only a restart can change", func() { h.configure("1", "") })
	h.configure("0", "")
	fails("exec format error", func() { h.replaceProgram([]byte("no program")) })
	fails("another version|exit status 0", func() { h.replaceProgram([]byte("#!/bin/sh\necho '{' >&3\n")) })
	if h.program == "worldd" { // rooms map their images one by one
		fails("a new run would begin", func() { h.install(upgraded) })
	}
	h.install(shipped)
	require.Zero(h, h.back(), "no session was interrupted")
}

// killDuringHandOver kills the new process at any moment of a hand-over, or the old one. If no process is left, it starts the
// server again, as a supervisor does.
func (h *handedOver) killDuringHandOver(kills string) {
	back, refused, served := h.back(), h.count("no hand-over"), len(completed.FindAllString(h.process.screen.String(), -1))
	h.ask()
	victim := h.newest(preparing)
	if kills == "old" {
		victim = h.serving
	}
	time.Sleep(time.Duration(h.random.IntN(300)) * time.Millisecond) // at any moment
	_ = syscall.Kill(victim, syscall.SIGKILL)                        // it may have ended
	outcome := ""
	for began := time.Now(); outcome == ""; time.Sleep(time.Millisecond) {
		require.Less(h, time.Since(began), soon, "%s: it neither serves nor ends: %s", kills, &h.process.screen)
		confirmed := len(completed.FindAllString(h.process.screen.String(), -1)) > served
		select {
		case <-h.process.ended:
			outcome = "started again"
			h.before = h.back()
			h.start()
		default:
			switch {
			case kills == "new" && h.count("no hand-over") > refused:
				require.Equal(h, back, h.back(), "no session was interrupted")
				h.Log("killed the new process: the old one serves on")
				return
			case kills == "new" && confirmed && h.newest(completed) != victim:
				outcome, h.serving = "the old executable serves", h.newest(completed)
			case kills == "old" && h.back() >= back+8:
				outcome, h.serving = "the new one serves", h.newest(preparing)
			}
		}
	}
	h.Logf("killed the %s process: %s", kills, outcome)
	h.process.await("resumes all sessions", func() bool { return h.back() >= back+8 })
}

func (h *handedOver) count(text string) int { return strings.Count(h.process.screen.String(), text) }
