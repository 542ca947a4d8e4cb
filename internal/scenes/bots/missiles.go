package bots

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/scenes/messages"
	"github.com/worldd/worldd/replication/wire"
)

// missilePrefix begins the names of missiles, and no other names.
const missilePrefix = "*"

func isMissile(name string) bool { return strings.HasPrefix(name, missilePrefix) }

func missileName(serial uint32, maker uint64) string {
	return fmt.Sprintf("%s%d %016x", missilePrefix, serial, maker)
}

// checkedMissiles is the number of answered provisional handles that a bot checks.
const checkedMissiles = 64

// missile is a provisional handle and the missile for which it was taken (B12).
type missile struct {
	handle   bulk.Handle
	serial   uint32
	life     uint8       // ticks; 0: the missile is not made
	maker    uint64      // identity of the bot's avatar
	end      uint32      // structure tick after which the missile is gone and the bot knows it; 0: not answered
	real     bulk.Handle // 0: rejected
	entered  bool
	finished bool // counted
}

// checkLaunch records the answer to a launch. Its provisional handles were answered before.
func (c *combat) checkLaunch(missiles []missile, code wire.Code) {
	for _, w := range missiles {
		w.real = c.client.Real(w.handle)
		c.Count(provisionals, 1)
		switch bound := code == wire.OK && w.life > 0; {
		case bound && w.real == 0:
			c.Report(0, 0, "B12: %v was to become missile %d, and the launch was executed without it", w.handle, w.serial)
		case !bound && w.real != 0:
			c.Report(w.real, 0, "B12: %v stands for it, and its missile %d was not made", w.handle, w.serial)
		}
		if w.real == 0 {
			c.Count(provisionalsRejected, 1)
		} else {
			c.Count(provisionalsBound, 1)
			w.end = c.client.Replica().Stats().StructureTick + uint32(w.life) + c.hearing.patience // its Answer came with the Result
			c.Learn(w.real)
		}
		c.answered = append(c.answered, w)
	}
	if n := len(c.answered); n > checkedMissiles {
		c.answered = c.answered[n-checkedMissiles:]
	}
}

// checkMissiles checks the entities of all provisional handles.
func (c *combat) checkMissiles() {
	for _, all := range c.launches {
		for i := range all {
			w := &all[i]
			entity := c.client.Real(w.handle)
			if w.real != 0 && entity != w.real {
				c.Report(entity, 0, "B12: %v stands for it after %v", w.handle, w.real)
			}
			w.real = entity
			if w.real != 0 {
				c.checkMissile(w)
			}
		}
	}
	for i := range c.answered {
		w := &c.answered[i]
		if entity := c.client.Real(w.handle); entity != w.real {
			c.Report(entity, 0, "B12: %v stands for it after %v", w.handle, w.real)
			w.real = entity
		}
		if v := c.client.Resolve(w.handle); w.real == 0 && v != wire.Stale {
			c.Report(0, 0, "B12: %v was rejected and is %v", w.handle, v)
		}
		if w.real != 0 {
			c.checkMissile(w)
		}
	}
}

// checkMissile compares the entity of a bound handle with its maker and serial.
func (c *combat) checkMissile(w *missile) {
	e, v := c.client.Entity(w.handle), c.client.Resolve(w.handle)
	identity, want, sure := c.Recall(w.real)
	if sure && v != want {
		c.Report(w.real, 0, "B12: %v stands for it and is %v, and it is %v", w.handle, v, want)
	}
	if e != nil {
		w.entered = true
		if e.Handle() != w.real || identityOf(e) != identity {
			c.Report(w.real, identityOf(e), "B12: %v stands for it, and resolves to %v", w.handle, e.Handle())
		}
		if name, _ := client.Of(messages.Names).Get(e); name.Text != missileName(w.serial, w.maker) {
			c.Report(e.Handle(), identityOf(e), "B12: %v stands for %q, and was taken for %q", w.handle, name.Text, missileName(w.serial, w.maker))
		}
	}
	switch {
	case v == wire.Stale && !w.finished:
		w.finished = true
		if !w.entered {
			c.Count(missilesUnseen, 1)
		}
	case v != wire.Stale && w.end != 0 && c.hearing.told > w.end && !c.hearing.mayMissEvents():
		c.Report(w.real, 0, "B12: missile %d lived %d ticks, and is %v", w.serial, w.life, v)
		w.end = c.hearing.told + c.hearing.patience
	}
}

// missileEntered checks that a missile of this bot enters as the entity of its provisional
// handle.
func (c *combat) missileEntered(e *client.Entity, name string) {
	if c.client == nil { // Dial has not returned
		return
	}
	serial, maker, ok := missileOf(name)
	own, _, _ := c.Recall(c.client.Controlled())
	if !ok || own == 0 || maker != own {
		return
	}
	for _, w := range c.missilesOf(serial) {
		if entity := c.client.Real(w.handle); entity != e.Handle() {
			c.Report(e.Handle(), 0, "B12: missile %d enters, and its provisional handle %v stands for %v", serial, w.handle, entity)
		}
	}
}

func (c *combat) missilesOf(serial uint32) (found []missile) {
	lists := [][]missile{c.answered}
	for _, all := range c.launches {
		lists = append(lists, all)
	}
	for _, all := range lists {
		for _, w := range all {
			if w.serial == serial {
				found = append(found, w)
			}
		}
	}
	return found
}

func missileOf(name string) (serial uint32, maker uint64, ok bool) {
	number, hex, _ := strings.Cut(strings.TrimPrefix(name, missilePrefix), " ")
	n, badNumber := strconv.ParseUint(number, 10, 32)
	maker, badMaker := strconv.ParseUint(hex, 16, 64)
	return uint32(n), maker, badNumber == nil && badMaker == nil
}
