package conformance

// An independent client, written from PROTOCOL.md and CODEC.md alone. It reads messages with
// pageDecoder and plays the conformance vectors. keeps and pick break a rule for a mutant.

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/replication/wire"
)

// pageVersion is the version in the page's title.
const pageVersion = 5

type (
	// pageClient is a client of one case.
	pageClient struct {
		mutation
		page         *protocolPage
		schema       []pageComponent
		hash         uint64
		stream       []byte // received and not yet read
		joined       bool   // the connection has had its Welcome
		plain        bool   // Hello asks for plain rows
		asks         bool   // the connection's Hello has schema 0: no Welcome has brought the text yet
		faults       uint64
		session      *pageSession // nil before the first Welcome
		provisionals map[uint32]pageProvisional
		served       *pageSchema
		asked        map[uint64]string // names of Commands without a Result, by id
		heard        []vectorEvent     // in this step
		results      []vectorResult    // in this step
		arrived      int               // Arrived messages sent in this step
		kept         *vectorHello      // session of a client that has lost what it applied, until a Welcome
	}
	// pageSession holds the state of a session that a client keeps over its connections.
	pageSession struct {
		welcome   map[string]any // the newest
		secret    string         // from the newest Welcome
		cells     map[uint32]pageCell
		structure uint64 // number of the newest record
		fence     uint64 // structure number of the Welcome to the room
		tick      uint64 // of the newest Structure message
		newest    uint64 // highest seq applied
		applied   map[uint64]bool
		held      []pageHeld
		commands  uint64 // number of the newest Command
	}
	pageCell struct {
		generation uint32
		state      string // a verdict
		entity     *pageEntity
	}
	pageEntity struct {
		pageTenant
		kind    uint32
		entered uint64 // number of its Enter
		tick    uint32 // of the current state
		values  []uint32
		texts   []string // by number; empty if not sent
		// teleported is the tick of the teleport of which the current state tells; 0: none.
		teleported uint32
	}
	pageHeld struct {
		seq, structure uint64
		datagram       []byte
	}
	// pageEnd is the name of the code that ends a session.
	pageEnd string
	// protocolPage holds the tables that the client takes from the page and the files.
	protocolPage struct {
		messages map[byte][]string
		codes    map[uint64]string
		tables   codingTables
		version  uint64 // of tables
	}
)

func readPage(t testing.TB) *protocolPage {
	file, err := os.ReadFile(usualTablesPath)
	require.NoError(t, err)
	p := &protocolPage{messages: messageTable(t), codes: map[uint64]string{}, tables: readTables(file), version: 0x811c9dc5}
	for _, c := range file {
		p.version = (p.version ^ uint64(c)) * 0x01000193 & (1<<32 - 1)
	}
	text, err := os.ReadFile("../PROTOCOL.md")
	require.NoError(t, err)
	_, table, _ := strings.Cut(string(text), "## 13. Codes")
	for _, m := range regexp.MustCompile(`(?m)^\| (\d+) \| ([a-z-]+) \|`).FindAllStringSubmatch(table, -1) {
		n, _ := strconv.ParseUint(m[1], 10, 16)
		p.codes[n] = m[2]
	}
	return p
}

func newPageClient(t testing.TB, page *protocolPage, of vectorCase, wrong rule) *pageClient {
	served, err := readSchema(of.schema, mutation{})
	require.NoError(t, err)
	return &pageClient{
		mutation: mutation{wrong}, page: page, schema: served.components, served: served, hash: fnv1a(of.schema), plain: of.plain, asks: true,
		provisionals: map[uint32]pageProvisional{}, asked: map[uint64]string{},
	}
}

// fnv1a is the schema hash of section 5.
func fnv1a(text string) uint64 {
	hash := uint64(0xcbf29ce484222325)
	for _, b := range []byte(text) {
		hash = (hash ^ uint64(b)) * 0x100000001b3
	}
	return max(hash, 1)
}

func (c *pageClient) decoder(b []byte) *pageDecoder {
	return &pageDecoder{mutation: c.mutation, b: b, quiet: true}
}

func (c *pageClient) breach() { panic(pageEnd("bad-message")) }

// attempt runs f and returns the code of its error, or "".
func (c *pageClient) attempt(f func()) (code string) {
	defer func() {
		switch why := recover().(type) {
		case nil:
		case pageEnd:
			code = string(why)
		case runtime.Error:
			code = fmt.Sprintf("crash: %v", why)
		case error:
			code = "bad-message"
		}
	}()
	f()
	return ""
}

// reload breaks the connection and drops all but what a Hello names, section 4.1.
func (c *pageClient) reload() *vectorHello {
	h := c.lose()
	if len(h.Secret) == 0 {
		return h
	}
	if c.keeps(reloadNamesNone) {
		h.Structure = 1<<32 - 1
	}
	c.kept = h
	if c.keeps(reloadForgetsCells) {
		c.session, c.provisionals, c.asks, c.faults = nil, map[uint32]pageProvisional{}, true, 0
	}
	return h
}

// lose breaks the connection and opens another, section 4.1.
func (c *pageClient) lose() *vectorHello {
	if c.kept != nil && c.keeps(reloadKeepsSecret) {
		c.joined, c.stream = false, nil
		return c.kept
	}
	c.joined = false
	if c.keeps(partialMessageDropped) {
		c.stream = nil
	}
	if c.keeps(noLateResult) {
		clear(c.asked)
	}
	h := &vectorHello{Secret: []byte{}}
	s := c.session
	if s == nil || s.secret == "" {
		return h
	}
	if !c.keeps(heldOverResume) {
		s.held = nil
	}
	h.Session, h.Secret = s.welcome["session"].(uint64), []byte(s.secret)
	if c.keeps(helloNamesStructure) {
		h.Structure = uint32(s.structure)
	}
	return h
}

// receive reads bytes of the stream, section 3.
func (c *pageClient) receive(p []byte) {
	for c.stream = append(c.stream, p...); ; {
		kind, body, ok := c.frame()
		if !ok {
			return
		}
		c.message(kind, body)
	}
}

// frame takes the next whole frame from the stream.
func (c *pageClient) frame() (kind byte, body []byte, ok bool) {
	n := slices.IndexFunc(c.stream, func(b byte) bool { return b < 0x80 }) + 1
	if n == 0 && len(c.stream) < 5 {
		return 0, nil, false
	}
	length := int(c.decoder(c.stream).uvarint("length"))
	if !c.keeps(frameLengthCountsType) {
		length++
	}
	if length == 0 {
		if c.keeps(frameNotEmpty) {
			c.breach()
		}
		c.stream = c.stream[n:]
		return c.frame()
	}
	if length > 65_536 && c.keeps(frameBound) {
		c.breach()
	}
	if len(c.stream) < n+length {
		return 0, nil, false
	}
	frame := c.stream[n : n+length]
	c.stream = c.stream[n+length:]
	return frame[0], frame[1:], true
}

func (c *pageClient) message(kind byte, body []byte) {
	if !c.joined && kind != 16 && kind != 17 && c.keeps(welcomeFirst) {
		c.breach()
	}
	switch kind {
	case 0:
		if len(body) > 0 && c.keeps(padIsEmpty) {
			c.breach()
		}
	case 16:
		c.welcome(c.elements(kind, body))
	case 17, 21:
		c.end(c.elements(kind, body))
	case 18:
		c.structure(body)
	case 19:
		m := c.elements(kind, body)
		if m["code"] != uint64(0) && m["answer"] != "" && c.keeps(answerOnlyWithCode0) {
			c.breach()
		}
		c.answered(m)
		c.resultOf(m["id"].(uint64))
	case 20:
		c.elements(kind, body)
	default:
		if c.keeps(messageTypeKnown) {
			c.breach()
		}
	}
}

// elements reads a msgpack body by the table of section 3.
func (c *pageClient) elements(kind byte, body []byte) map[string]any {
	table, all := c.page.messages[kind], map[string]any{}
	for i, v := range c.decoder(body).message(table, kind == 17 && c.keeps(refusedMayHaveMore)) {
		name, _, _ := strings.Cut(table[i], " ")
		all[name] = v
	}
	return all
}

// end handles Refused and Goodbye, section 4.
func (c *pageClient) end(m map[string]any) {
	moved := m["code"] == uint64(23)
	if moved && m["address"] == "" && c.keeps(movedHasAddress) || !moved && (m["address"] != "" || m["token"] != "") && c.keeps(onlyMovedHasAddress) {
		c.breach()
	}
	code := m["code"].(uint64)
	panic(pageEnd(cmp.Or(c.page.codes[code], fmt.Sprintf("code-%d", code))))
}

// pageVersionForm is the form of a version in section 4, or the empty text.
var pageVersionForm = regexp.MustCompile(`^(v?[0-9]{1,9}(\.[0-9]{1,9}){0,3}([-+][0-9A-Za-z.+-]*)?)?$`)

// welcome handles Welcome, sections 4 and 4.1.
func (c *pageClient) welcome(m map[string]any) {
	number := func(name string) uint64 { return m[name].(uint64) }
	secret := m["secret"].(string)
	switch {
	case len(secret) != 0 && len(secret) != 16 && c.keeps(secretLength),
		(number("tick_hz") == 0 || number("snapshot_hz") == 0) && c.keeps(ratesNot0),
		number("snapshot_hz") > number("tick_hz") && c.keeps(snapshotsAtMostTicks),
		number("max_slots") > 1<<24 && c.keeps(maxSlotsBound),
		number("generation_ceiling") < number("generation_floor") && c.keeps(ceilingNotBelowFloor),
		number("simulate") != 0 && c.keeps(simulateOnlyIfAble),
		!pageVersionForm.MatchString(m["version"].(string)) && c.keeps(versionChecked),
		m["schema_text"] != "" && number("schema") != fnv1a(m["schema_text"].(string)) && c.keeps(schemaTextChecked):
		c.breach()
	case c.joined:
		c.move(m)
		return
	case m["schema_text"] != "" && !c.asks && number("schema") == c.hash && c.keeps(schemaTextOnlyIfAsked),
		m["schema_text"] == "" && c.asks && c.keeps(schemaTextChecked),
		m["schema_text"] == "" && !c.asks && number("schema") != c.hash && c.keeps(schemaChecked),
		number("structure") != c.structureOf(m) && !c.movedTo(m) && c.keeps(welcomeStructure):
		c.breach()
	case number("protocol") != pageVersion && c.keeps(protocolChecked):
		panic(pageEnd("protocol-version"))
	case number("tables") != c.page.version && (!c.plain || !c.keeps(plainTables)) && c.keeps(tablesChecked):
		panic(pageEnd("tables-mismatch"))
	}
	if c.keeps(schemaTextRead) {
		c.readText(m["schema_text"].(string))
	}
	if number("resumed") == 1 && c.keeps(resumedRead) {
		c.resume(m)
	} else {
		c.begin(m)
	}
	c.joined, c.asks, c.kept = true, false, nil
}

// readText makes a schema text that is not empty the server's schema.
func (c *pageClient) readText(text string) {
	if text == "" {
		return
	}
	served, err := readSchema(text, mutation{})
	if err != nil {
		c.breach()
	}
	c.schema, c.served, c.hash = served.components, served, fnv1a(text)
}

// structureOf returns the required structure number of a Welcome.
func (c *pageClient) structureOf(m map[string]any) uint64 {
	if c.kept != nil && m["resumed"] == uint64(1) {
		return uint64(c.kept.Structure)
	}
	if c.session != nil && m["resumed"] == uint64(1) {
		return c.session.structure
	}
	return 0
}

// resume continues the session over a new connection.
func (c *pageClient) resume(m map[string]any) {
	s := c.session
	if s == nil || s.secret == "" || c.kept != nil {
		if c.keeps(resumedOnlyIfAsked) && (c.kept == nil || c.keeps(reloadNotResumed)) {
			c.breach()
		}
		c.begin(m)
		return
	}
	if s.welcome["session"] != m["session"] && c.keeps(resumedSessionIsSame) {
		c.breach()
	}
	for _, name := range []string{"epoch", "generation_floor", "generation_ceiling", "max_slots", "tick_hz", "schema"} {
		if s.welcome[name] != m[name] && c.keeps(resumedWorldIsSame) {
			c.breach()
		}
	}
	s.welcome = m
	c.resumeProvisionals(m)
	if c.keeps(newestSecret) {
		s.secret = m["secret"].(string)
	}
	if !c.keeps(ticksOverResume) {
		s.tick = 0
	}
	if !c.keeps(acknowledgedOverResume) {
		s.newest, s.applied = 0, map[uint64]bool{}
	}
	if !c.keeps(textsOverResume) {
		for _, cell := range s.cells {
			if cell.entity != nil {
				clear(cell.entity.texts)
			}
		}
	}
	if !c.keeps(entitiesOverResume) {
		s.cells = map[uint32]pageCell{}
	}
}

// begin begins a new session, which inherits the Stale handles of the previous one if the
// epoch is the same.
func (c *pageClient) begin(m map[string]any) {
	was := c.session
	s := &pageSession{welcome: m, secret: m["secret"].(string), cells: map[uint32]pageCell{}, applied: map[uint64]bool{}}
	c.session = s
	if c.kept == nil || c.keeps(reloadBeginsAgain) {
		s.structure = m["structure"].(uint64)
	}
	if c.kept == nil || c.keeps(reloadFence) {
		s.fence = s.structure
	}
	if c.kept == nil || c.keeps(reloadCommands) {
		s.commands = m["commands"].(uint64)
	}
	if was == nil {
		return
	}
	c.renewProvisionals(was.welcome["epoch"] != m["epoch"])
	if !c.keeps(structureRestarts) {
		s.structure = was.structure
	}
	if !c.keeps(ticksRestart) {
		s.tick = was.tick
	}
	if !c.keeps(seqRestarts) {
		s.newest, s.applied = was.newest, was.applied
	}
	if !c.keeps(heldEndWithSession) {
		s.held = was.held
	}
	if was.welcome["epoch"] != m["epoch"] && c.keeps(staleOfOneEpoch) || !c.keeps(staleInherited) {
		return
	}
	for slot, cell := range was.cells {
		switch {
		case cell.state == "stale" || !c.keeps(hiddenNotInherited):
			s.cells[slot] = pageCell{generation: cell.generation, state: cell.state}
		case cell.generation >= 3 && c.keeps(earlierTenantsInherited):
			s.cells[slot] = pageCell{generation: cell.generation - uint32(c.pick(earlierTenantIs2Below, 2, 0)), state: "stale"}
		case !c.keeps(noTenantBefore1):
			s.cells[slot] = pageCell{generation: cell.generation, state: "stale"}
		}
	}
}

// never reports whether no live entity can have the handle: rule 1 of section 11.1.
func (c *pageClient) never(slot, generation uint32) bool {
	w := c.session.welcome
	return generation%2 == 0 && c.keeps(evenIsStale) || uint64(slot) >= w["max_slots"].(uint64) && c.keeps(slotBoundIsStale) ||
		uint64(generation) < w["generation_floor"].(uint64) && c.keeps(belowFloorIsStale) ||
		uint64(generation) > w["generation_ceiling"].(uint64) && c.keeps(aboveCeilingIsStale)
}

// verdict returns the verdict on a handle, section 11.1.
func (c *pageClient) verdict(h bulk.Handle) string {
	if h.Generation() == 2 {
		return c.provisionalVerdict(h.Index())
	}
	cell := c.session.cells[h.Index()]
	switch g := h.Generation(); {
	case c.never(h.Index(), g):
		return "stale"
	case cell.generation < g:
		return "pending"
	case cell.generation > g && c.keeps(earlierTenantIsStale):
		return "stale"
	}
	return cell.state
}

// structure handles a Structure message, sections 6 and 11.2.
func (c *pageClient) structure(body []byte) {
	s := c.session
	m := c.decoder(body).structure(c.schema)
	if uint64(m.First) != s.structure+1 && c.keeps(recordsWithoutGap) {
		c.breach()
	}
	if len(m.Records) == 0 && c.keeps(recordsNotNone) {
		c.breach()
	}
	tick := s.tick + uint64(m.Ticks)
	if !c.keeps(ticksAreADelta) {
		tick = uint64(m.Ticks)
	}
	if tick > 1<<32-1 && c.keeps(structureTickBound) {
		c.breach()
	}
	cells, number, rows := maps.Clone(s.cells), uint64(m.First), m.Rows
	if !c.keeps(structureWhole) {
		cells = s.cells
	}
	defer c.keepProvisionals(maps.Clone(c.provisionals))
	heard := len(c.heard)
	defer func() {
		if why := recover(); why != nil {
			if c.keeps(eventsOfWholeMessage) {
				c.heard = c.heard[:heard]
			}
			panic(why)
		}
	}()
	for _, r := range m.Records {
		var row rowschema.Row
		if r.Op == 1 {
			row, rows = rows[0], rows[1:]
		}
		c.record(cells, r, row, number, uint32(tick))
		number++
	}
	s.cells, s.structure, s.tick = cells, number-1, tick
	c.release()
}

// record applies a record to the cells, section 11.2.
func (c *pageClient) record(cells map[uint32]pageCell, r wire.Record, row rowschema.Row, number uint64, tick uint32) {
	if r.Exact.Form != wire.Ordinary && c.keeps(exactIfSimulating) || r.Op == 7 && c.keeps(extensionIfSimulating) {
		c.breach()
	}
	switch {
	case r.Op == 5:
		if !c.keeps(eventOfMessageTick) {
			tick = uint32(c.session.tick)
		}
		c.heard = append(c.heard, c.event(uint64(r.Number), false, uint64(tick), r.Data)...)
	case r.Op == 6:
		c.answer(cells, r)
	}
	if r.Op > 4 {
		return
	}
	slot, g := r.Handle.Index(), r.Handle.Generation()
	w := c.session.welcome
	if uint64(slot) >= w["max_slots"].(uint64) && c.keeps(recordSlotBound) || uint64(g) < w["generation_floor"].(uint64) && c.keeps(recordFloor) ||
		uint64(g) > w["generation_ceiling"].(uint64) && c.keeps(recordCeiling) {
		c.breach()
	}
	cell := cells[slot]
	live := cell.state == "live"
	if g < cell.generation && (c.keeps(earlierEnterIgnored) || r.Op != 1) && (c.keeps(earlierLeaveIgnored) || r.Op != 2) && (c.keeps(earlierDestroyIgnored) || r.Op != 3) && (c.keeps(earlierTextIgnored) || r.Op != 4) {
		return
	}
	switch r.Op {
	case 1:
		if g == cell.generation && cell.state == "stale" && c.keeps(staleIsFinal) {
			c.breach()
		}
		e := &pageEntity{pageTenant: pageTenant{r.Handle, row.Mask, row.Owned, map[uint32][]uint32{}}, kind: r.Kind, entered: number, tick: tick, values: row.Values, texts: c.enterTexts(r, row)}
		if before := cell.entity; before != nil && g == cell.generation && (live && !c.keeps(enterReplacesStates) || !live && !c.keeps(leaveForgetsStates)) {
			maps.Copy(e.states, before.states)
		}
		if before := cell.entity; live && g == cell.generation && !c.keeps(enterReplacesRow) {
			e = before
		}
		if before := cell.entity; live && g == cell.generation && !c.keeps(enterReplacesTexts) {
			e.texts = before.texts
		}
		e.states[tick] = row.Values
		cells[slot] = pageCell{g, "live", e}
	case 2:
		if g == cell.generation && live || !c.keeps(earlierLeaveIgnored) && live {
			cells[slot] = pageCell{cell.generation, "hidden", cell.entity}
		} else if !c.keeps(leaveOfUnseenIgnored) && g > cell.generation {
			cells[slot] = pageCell{g, "hidden", nil}
		}
	case 3:
		if g == cell.generation || c.keeps(destroyOfUnseen) {
			cells[slot] = pageCell{g, "stale", nil}
		}
	case 4:
		c.text(cells, r)
	}
}

// datagram handles a datagram and returns its outcome, section 11.3.
func (c *pageClient) datagram(d []byte) (outcome string) {
	if !c.joined && (c.keeps(snapshotsAfterWelcome) || c.session == nil) {
		return ""
	}
	if len(d) > 1200 && c.keeps(datagramBound) {
		c.breach()
	}
	s, in := c.session, c.decoder(d)
	h := in.stateHeader()
	marked := h.complete && c.keeps(completeIfSimulating) || h.continued && c.keeps(continuedIfSimulating) || h.exact && c.keeps(exactRowsIfSimulating)
	if marked && !c.keeps(flagsWait) {
		c.breach()
	}
	if h.structure < s.fence && c.keeps(moveFence) || s.applied[h.seq] && c.keeps(seqOnce) || s.newest > h.seq && s.newest-h.seq > uint64(c.pick(seqWindow, 64, 63)+c.pick(seqWindowEnd, 0, 1)) {
		c.unless(noEventsOfCopies, h)
		return "duplicate"
	}
	if h.structure > s.structure && c.keeps(overtakingWaits) {
		c.unless(heldEventsWait, h)
		c.hold(pageHeld{h.seq, h.structure, slices.Clone(d)})
		return "held"
	}
	if marked {
		c.breach()
	}
	if !c.keeps(headersBeforeEntities) && h.rows > 0 {
		first, one := c.decoder(in.b), h
		first.bit, one.rows = in.bit, 1
		if _, ok := c.entitiesOf(first.rowHeaders(one), h); !ok {
			return "unreadable"
		}
	}
	rows := in.rowHeaders(h)
	for _, row := range rows {
		if c.plain && row.age != 0 && c.keeps(plainRowsOnly) && (!row.own || c.keeps(plainOwnBaseline)) {
			c.breach()
		}
		if row.slot >= s.welcome["max_slots"].(uint64) && c.keeps(rowSlotBound) {
			c.breach()
		}
	}
	entities, ok := c.entitiesOf(rows, h)
	if !ok {
		c.unless(noEventsOfDropped, h)
		return "unreadable"
	}
	if in.fold(rows) != h.fold && c.keeps(foldChecked) {
		c.faults++
		if !c.keeps(faultyNotAcknowledged) {
			c.acknowledge(h.seq)
		}
		c.unless(noEventsOfFaults, h)
		return "faulty"
	}
	if in.load(c.schema, rows) > c.pick(loadBound, 1280, 1281) {
		c.breach()
	}
	if !in.findPasts(rows, h.tick) {
		if !c.keeps(unreadableNotAcknowledged) {
			c.acknowledge(h.seq)
		}
		return "unreadable"
	}
	heard := c.eventsOf(h)
	c.unless(eventsOfWholeSnapshot, h)
	if !c.keeps(snapshotWhole) {
		defer func() { c.apply(h, rows, entities) }()
	}
	in.readRows(c.schema, &c.page.tables, rows)
	c.heard = append(c.heard, heard...)
	c.apply(h, rows, entities)
	return "applied"
}

// entitiesOf finds the entities of rows: section 11.3, step 3.
func (c *pageClient) entitiesOf(rows []*pageRow, h pageState) (all []*pageEntity, ok bool) {
	for _, row := range rows {
		cell := c.session.cells[uint32(row.slot)]
		if cell.entity == nil || cell.state != "live" && c.keeps(rowOfALiveEntity) || cell.entity.entered > h.structure && c.keeps(rowOfItsTenant) {
			return nil, false
		}
		all, row.entity = append(all, cell.entity), cell.entity.pageTenant
	}
	return all, true
}

// apply adds rows to the states of their entities and keeps the newest 32 states: section
// 11.3, step 7.
func (c *pageClient) apply(h pageState, rows []*pageRow, entities []*pageEntity) {
	tick := uint32(h.tick)
	for i, row := range rows {
		e := entities[i]
		if row.now.Values == nil {
			continue // a mutant may apply parts
		}
		if e.states[tick] == nil || !c.keeps(firstOfATick) {
			e.states[tick] = row.now.Values
		}
		if len(e.states) > c.pick(statesKept, 32, 31) {
			delete(e.states, slices.Min(slices.Collect(maps.Keys(e.states))))
		}
		if tick > e.tick || tick == e.tick && !c.keeps(currentIsFirstOfTick) || !c.keeps(currentIsNewest) {
			e.tick, e.values = tick, row.now.Values
			if told := uint32(h.teleports[i]); told != 0 || c.keeps(teleportOfItsState) {
				e.teleported = told
			}
		}
	}
	c.snapshotApplied(h)
	c.acknowledge(h.seq)
}

// acknowledge marks a snapshot as applied.
func (c *pageClient) acknowledge(seq uint64) {
	s := c.session
	if seq == s.newest+64 && !c.keeps(maskAtJump64) {
		delete(s.applied, s.newest)
	}
	if seq > s.newest+64 && !c.keeps(maskBeyondJump64) { // as a machine that shifts by seq - newest modulo 64
		s.applied[seq-1-(seq-s.newest-1)%64] = true
	}
	s.applied[seq] = true
	s.newest = max(s.newest, seq)
	if !c.keeps(newestIsHighest) {
		s.newest = seq
	}
}

// mask returns the mask of the acknowledgement, section 10.
func (c *pageClient) mask() (mask uint64) {
	for i := range uint64(64) {
		if n := i + uint64(c.pick(maskBelowNewest, 1, 0)); c.session.newest > n && c.session.applied[c.session.newest-n] {
			mask |= 1 << i
		}
	}
	return mask
}

// hold keeps a snapshot that overtook its structure, unless it is a copy of a held one.
func (c *pageClient) hold(d pageHeld) {
	s := c.session
	if slices.ContainsFunc(s.held, func(other pageHeld) bool { return other.seq == d.seq }) && c.keeps(heldOnce) || !c.keeps(heldKept) {
		return
	}
	s.held = append(s.held, d)
	slices.SortStableFunc(s.held, func(a, b pageHeld) int { return cmp.Compare(a.seq, b.seq) })
	if len(s.held) > c.pick(heldAtMost16, 16, 15) {
		if c.keeps(heldLowestDropped) {
			s.held = s.held[1:]
		} else {
			s.held = s.held[:len(s.held)-1]
		}
	}
}

// release processes the held snapshots whose structure has arrived, by ascending seq.
func (c *pageClient) release() {
	s := c.session
	var due []pageHeld
	s.held = slices.DeleteFunc(s.held, func(d pageHeld) bool {
		if d.structure > s.structure {
			return false
		}
		due = append(due, d)
		return true
	})
	if !c.keeps(heldInOrder) {
		slices.Reverse(due)
	}
	for _, d := range due {
		c.datagram(d.datagram)
	}
}

// play applies a step and returns the state after it, given the state before.
func (c *pageClient) play(step vectorStep, handles []bulk.Handle, before *pageResult) (got vectorExpect) {
	c.heard, c.results, c.arrived = nil, nil, 0
	switch {
	case step.Provisional != nil:
		c.name(step.Provisional)
	case step.Send != nil:
		got.Sent = c.send(step.Send)
	case step.Lost && step.Forgotten:
		got.Hello = c.reload()
	case step.Lost:
		got.Hello = c.lose()
	case step.Datagram != nil:
		got.Error = c.attempt(func() { got.Outcome = c.datagram(step.Datagram) })
	default:
		got.Error = c.attempt(func() { c.receive(step.Stream) })
	}
	got.Arrived = c.arrived
	got.Events, got.Results = append(got.Events, c.heard...), c.results
	got.Mask = fmt.Sprintf("%016x", 0)
	s := c.session
	if s == nil {
		return got
	}
	got.Structure, got.Newest, got.Mask, got.Faults = uint32(s.structure), uint32(s.newest), fmt.Sprintf("%016x", c.mask()), c.faults
	for _, h := range handles {
		if v := c.verdict(h); v != before.verdicts[h] {
			if got.Verdicts == nil {
				got.Verdicts = map[bulk.Handle]string{}
			}
			got.Verdicts[h], before.verdicts[h] = v, v
		}
	}
	now := map[bulk.Handle]vectorEntity{}
	for _, cell := range s.cells {
		if e := cell.entity; cell.state == "live" && e != nil {
			x := vectorEntity{e.handle, e.kind, e.tick, e.mask, e.owned, e.values, nil, e.teleported}
			for _, text := range e.texts {
				x.Texts = append(x.Texts, []byte(text))
			}
			now[e.handle] = x
			if !before.entities[e.handle].equal(x) {
				got.Entities = append(got.Entities, x)
			}
		}
	}
	before.entities = now
	slices.SortFunc(got.Entities, func(a, b vectorEntity) int { return cmp.Compare(a.Handle, b.Handle) })
	return got
}

// pageResult holds what a case has reported so far.
type pageResult struct {
	verdicts map[bulk.Handle]string
	entities map[bulk.Handle]vectorEntity
}
