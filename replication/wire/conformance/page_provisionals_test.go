package conformance

import (
	"maps"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/replication/wire"
)

// pageProvisional is a provisional handle that a pageClient has named, section 11.6.
type pageProvisional struct {
	state    string // provisional, created or stale
	entity   bulk.Handle
	id       uint32 // of its Command on this connection; 0: none
	number   uint64 // of its Command in the session, from 1; 0: inputs name it
	resumed  bool   // the server has received its Command; the session has resumed since
	received uint64 // tick of that Welcome
	input    uint64 // tick of the last input that names it
}

// name makes the client name provisional handles.
func (c *pageClient) name(w *vectorProvisional) {
	if w.Command != 0 {
		c.session.commands++
	}
	for _, h := range w.Handles {
		x, known := c.provisionals[h.Index()]
		if !known {
			x = pageProvisional{state: "provisional", id: w.Command}
		}
		switch {
		case w.Command != 0:
			x.number = c.session.commands
		case !known || c.keeps(lastInputCounts):
			x.input = uint64(w.Input)
		}
		c.provisionals[h.Index()] = x
	}
}

// provisionalVerdict returns the verdict on a provisional handle.
func (c *pageClient) provisionalVerdict(index uint32) string {
	x, known := c.provisionals[index]
	switch {
	case !known || !c.keeps(namedIsProvisional) && x.state == "provisional":
		return "stale"
	case x.state == "created":
		return c.verdict(x.entity)
	}
	return x.state
}

// answer handles an Answer.
func (c *pageClient) answer(cells map[uint32]pageCell, r wire.Record) {
	x, known := c.provisionals[r.Number]
	if !known && c.keeps(answerToNamed) || known && x.state != "provisional" && c.keeps(answerOnce) {
		c.breach()
	}
	if r.Handle == 0 {
		c.provisionals[r.Number] = pageProvisional{state: "stale"}
		if !c.keeps(rejectedIsStale) {
			c.provisionals[r.Number] = x
		}
		return
	}
	w := c.session.welcome
	slot, g := r.Handle.Index(), r.Handle.Generation()
	if uint64(slot) >= w["max_slots"].(uint64) && c.keeps(answerSlotBound) || uint64(g) < w["generation_floor"].(uint64) && c.keeps(answerFloor) ||
		uint64(g) > w["generation_ceiling"].(uint64) && c.keeps(answerCeiling) {
		c.breach()
	}
	if cell := cells[slot]; cell.generation == g && (cell.state != "stale" && c.keeps(answerBeforeEnter) || cell.state == "stale" && !c.keeps(answerOfDead)) {
		c.breach()
	}
	if c.keeps(createdIsEntity) {
		c.provisionals[r.Number] = pageProvisional{state: "created", entity: r.Handle}
	}
}

// keepProvisionals undoes the changes of provisional handles if the message that is being applied is an error.
func (c *pageClient) keepProvisionals(was map[uint32]pageProvisional) {
	if why := recover(); why != nil {
		if c.keeps(structureWhole) {
			c.provisionals = was
		}
		panic(why)
	}
}

// reject rejects each provisional handle that has no answer and for which doomed is true.
func (c *pageClient) reject(doomed func(pageProvisional) bool) {
	for index, x := range maps.Clone(c.provisionals) {
		if x.state == "provisional" && doomed(x) {
			c.provisionals[index] = pageProvisional{state: "stale"}
		}
	}
}

// resultOf handles the Result of a Command.
func (c *pageClient) resultOf(id uint64) {
	if c.keeps(resultRejects) {
		c.reject(func(x pageProvisional) bool { return x.id != 0 && (uint64(x.id) == id || !c.keeps(resultOfItsCommand)) })
	}
}

// snapshotApplied handles an applied snapshot.
func (c *pageClient) snapshotApplied(h pageState) {
	c.reject(func(x pageProvisional) bool {
		if x.resumed {
			return c.keeps(receivedEndsAfterResume) && (h.tick > x.received || h.tick == x.received && !c.keeps(snapshotAfterResume))
		}
		return x.number == 0 && h.input > 0 && c.keeps(appliedInputRejects) && (h.input >= x.input || !c.keeps(inputAppliedAtItsTick))
	})
}

// resumeProvisionals handles the Welcome of a resumed session.
func (c *pageClient) resumeProvisionals(m map[string]any) {
	commands := m["commands"].(uint64)
	c.reject(func(x pageProvisional) bool {
		return x.number > commands && c.keeps(lostCommandRejects) || x.number > 0 && x.number <= commands && !c.keeps(receivedCommandWaits)
	})
	for index, x := range c.provisionals {
		if x.number > 0 {
			x.id, x.resumed, x.received = 0, true, m["tick"].(uint64)
			c.provisionals[index] = x
		}
	}
	if c.keeps(commandsGoOn) {
		c.session.commands = commands
	}
}

// renewProvisionals handles the Welcome of a new session.
func (c *pageClient) renewProvisionals(newEpoch bool) {
	if c.keeps(newSessionRejects) {
		c.reject(func(pageProvisional) bool { return true })
	}
	if newEpoch && c.keeps(newWorldForgets) {
		for index := range c.provisionals {
			c.provisionals[index] = pageProvisional{state: "stale"}
		}
	}
}
