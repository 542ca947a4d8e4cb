//go:build unix

package browsertest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"testing"
)

// Driver sends commands of the Chrome DevTools Protocol to the browser of one page.
type Driver struct {
	t       testing.TB
	pipe    *os.File // commands, each ended by a zero byte
	answers *bufio.Reader
	session string // ID of the page's session
	id      int
}

// Drives reports whether Drive works with b.
func (b Browser) Drives() bool { return b.Name == "chromium" }

// Drive is Open with a Driver for the page's browser.
func (b Browser) Drive(t testing.TB, s *Site, path string) (*Page, *Driver) {
	t.Helper()
	theirs, commands := newPipe(t)
	answers, their := newPipe(t)
	p := b.open(t, s, path, func(c *exec.Cmd) {
		c.Args = slices.Insert(c.Args, 1, "--remote-debugging-pipe")
		c.ExtraFiles = []*os.File{theirs, their} // 3 and 4
	})
	_ = their.Close() // so that the pipe ends with the browser
	d := &Driver{t: t, pipe: commands, answers: bufio.NewReader(answers)}
	var all struct {
		TargetInfos []struct{ TargetID, Type string }
	}
	d.command("", "Target.getTargets", nil, &all)
	for _, target := range all.TargetInfos {
		if target.Type == "page" {
			var attached struct{ SessionID string }
			d.command("", "Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
			d.session = attached.SessionID
		}
	}
	return p, d
}

func newPipe(t testing.TB) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = r.Close()
		_ = w.Close()
	})
	return r, w
}

// Freeze stops all tasks of the page and of its workers, or lets them continue.
func (d *Driver) Freeze(frozen bool) {
	d.t.Helper()
	state := "active"
	if frozen {
		state = "frozen"
	}
	d.command(d.session, "Page.setWebLifecycleState", map[string]any{"state": state}, nil)
}

// Hide opens another tab in front of the page.
func (d *Driver) Hide() {
	d.t.Helper()
	var front struct{ TargetID string }
	d.command("", "Target.createTarget", map[string]any{"url": "about:blank"}, &front)
	d.command("", "Target.activateTarget", map[string]any{"targetId": front.TargetID}, nil)
}

// Show brings the page to the front.
func (d *Driver) Show() {
	d.t.Helper()
	d.command(d.session, "Page.bringToFront", nil, nil)
}

// command sends a command and waits for its result.
func (d *Driver) command(session, method string, params map[string]any, result any) {
	d.t.Helper()
	d.id++
	request := map[string]any{"id": d.id, "method": method, "params": params}
	if params == nil {
		delete(request, "params")
	}
	if session != "" {
		request["sessionId"] = session
	}
	text, err := json.Marshal(request)
	if err != nil {
		d.t.Fatal(err)
	}
	if _, err := d.pipe.Write(append(text, 0)); err != nil {
		d.t.Fatalf("%s: %v", method, err)
	}
	for {
		text, err := d.answers.ReadBytes(0)
		if err != nil {
			d.t.Fatalf("%s: the browser ended: %v", method, err)
		}
		var answer struct {
			ID     int
			Result json.RawMessage
			Error  *struct{ Message string }
		}
		if err := json.Unmarshal(bytes.TrimSuffix(text, []byte{0}), &answer); err != nil {
			d.t.Fatal(err)
		}
		switch {
		case answer.ID != d.id: // an event
		case answer.Error != nil:
			d.t.Fatalf("%s: %s", method, answer.Error.Message)
		case result == nil:
			return
		default:
			if err := json.Unmarshal(answer.Result, result); err != nil {
				d.t.Fatal(err)
			}
			return
		}
	}
}
