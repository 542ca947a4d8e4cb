package bot

import (
	"time"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/scenes/messages"
	"github.com/worldd/worldd/internal/scenes/steering"
)

// helm sets the input of a bot of internal/scenes, and measures when the bot's picture shows a
// change.
type helm struct {
	*core
	pilot   pilot
	inputs  inputWatch
	visible []int64 // µs, since the last publish
}

// steerByPilot sets the pilot's next input.
func (h *helm) steerByPilot(now time.Time) error {
	_, _, err := h.holdStick(now, h.nextStick())
	return err
}

// nextStick returns the pilot's input for the avatar's position.
func (h *helm) nextStick() steering.Stick {
	x, z, seen := h.avatarPosition()
	return h.pilot.nextStick(x, z, seen)
}

// holdStick sets the input and watches for the effect of a change. It returns the input's tick.
func (h *helm) holdStick(now time.Time, input steering.Stick) (tick uint32, turned bool, err error) {
	tick, err = client.SetInput(h.client, messages.Stick, input)
	turned = input != h.inputs.held
	if turned {
		h.watchChange(now, tick)
		h.inputs.held = input
	}
	return tick, turned, err
}

// watchChange begins to watch for the effect of a changed input for tick.
func (h *helm) watchChange(now time.Time, tick uint32) {
	if v, ok := h.avatarView(); ok {
		h.inputs.beginWatch(now, tick, v)
	}
}

// stopWatching gives up on the pending input.
func (h *helm) stopWatching() { h.inputs.pending = false }

// endVisit forgets the input that the next client has not sent.
func (h *helm) endVisit() { h.inputs = inputWatch{} }

// watchInput measures the pending input after a snapshot.
func (h *helm) watchInput(now time.Time) {
	if !h.inputs.pending {
		return
	}
	v, ok := h.avatarView()
	if !ok {
		h.inputs.pending = false // the avatar is not in view
		return
	}
	if latency, ok := h.inputs.observeView(now, v); ok {
		h.visible = append(h.visible, latency.Microseconds())
	}
}
