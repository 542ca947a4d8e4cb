package conformance

import "maps"

// move handles a second Welcome on a connection: section 4.2.
func (c *pageClient) move(m map[string]any) {
	was := c.session
	number := func(name string) uint64 { return m[name].(uint64) }
	text := m["schema_text"].(string)
	switch {
	case number("protocol") != pageVersion, number("tables") != c.page.version && c.keeps(moveTables),
		m["session"] != was.welcome["session"] && c.keeps(moveSession),
		number("resumed") != 0 && c.keeps(moveNotResumed),
		number("commands") != 0 && c.keeps(moveCommands),
		m["epoch"] == was.welcome["epoch"] && c.keeps(moveEpoch),
		number("structure") != was.structure+1 && c.keeps(moveIsNextRecord),
		text == "" && number("schema") != c.hash && c.keeps(moveText),
		text != "" && number("schema") == c.hash && c.keeps(moveTextOnce):
		c.breach()
	}
	if c.keeps(moveTextRead) {
		c.readText(text)
	}
	s := &pageSession{welcome: m, secret: m["secret"].(string), cells: map[uint32]pageCell{}, applied: map[uint64]bool{}}
	s.structure, s.fence = number("structure"), number("structure")
	if c.keeps(moveKeepsHeld) {
		s.held = was.held
	}
	if !c.keeps(moveDropsCells) {
		s.cells = maps.Clone(was.cells)
	}
	if !c.keeps(moveAcknowledgesAgain) {
		s.newest, s.applied = was.newest, was.applied
	}
	if !c.keeps(moveTicksAgain) {
		s.tick = was.tick
	}
	c.session = s
	if c.keeps(moveEndsCommands) {
		clear(c.asked)
	}
	if c.keeps(moveEndsProvisionals) {
		c.renewProvisionals(true)
	}
	if c.keeps(moveArrived) {
		c.arrived++
	}
	c.release()
}

// movedTo reports whether a Welcome to a Hello that asked to resume begins in the room where
// the session has moved to.
func (c *pageClient) movedTo(m map[string]any) bool {
	s := c.session
	if c.kept != nil {
		return m["resumed"] == uint64(0) && (m["session"] == c.kept.Session || !c.keeps(reloadSession)) && m["structure"].(uint64) > 0
	}
	if s == nil || s.secret == "" || m["resumed"] != uint64(0) || !c.keeps(lostMove) {
		return false
	}
	return (m["session"] == s.welcome["session"] || !c.keeps(lostMoveSession)) && (m["structure"].(uint64) > s.structure || !c.keeps(lostMoveIsAhead))
}
