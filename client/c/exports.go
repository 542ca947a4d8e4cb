package main

// #cgo CFLAGS: -std=c99 -O2 -fvisibility=hidden -DWD_BUILD
// #include "worldd.h"
import "C"

import (
	"io"
	"log"
	"unsafe"

	"github.com/worldd/worldd/bulk"
)

// Results, as in worldd.h.
const (
	ok          = result(C.WD_OK)
	none        = result(C.WD_NONE)
	badClient   = result(C.WD_BAD_CLIENT)
	badArgument = result(C.WD_BAD_ARGUMENT)
	badSize     = result(C.WD_BAD_SIZE)
	notJoined   = result(C.WD_NOT_JOINED)
	busy        = result(C.WD_BUSY)
	ended       = result(C.WD_ENDED)
	refused     = result(C.WD_REFUSED)
	fault       = result(C.WD_FAULT)
)

// Kinds of events, as in worldd.h.
const (
	eventState   = C.WD_EVENT_STATE
	eventEnter   = C.WD_EVENT_ENTER
	eventUpdate  = C.WD_EVENT_UPDATE
	eventLeave   = C.WD_EVENT_LEAVE
	eventDestroy = C.WD_EVENT_DESTROY
	eventMessage = C.WD_EVENT_MESSAGE
	eventResult  = C.WD_EVENT_RESULT
	eventLost    = C.WD_EVENT_LOST
)

// Sections of a schema and texts, as in worldd.h.
const (
	sectionComponent = C.WD_COMPONENT
	sectionEvent     = C.WD_EVENT
	sectionCommand   = C.WD_COMMAND
	sectionKind      = C.WD_KIND
	textError        = C.WD_TEXT_ERROR
	textEvent        = C.WD_TEXT_EVENT
	textRoom         = C.WD_TEXT_ROOM
	textSchema       = C.WD_TEXT_SCHEMA
	textChanges      = C.WD_TEXT_CHANGES
)

// clients is the one table of the process: a function that C calls has no receiver.
var clients table

// main is never called: the host's main runs.
func main() {}

func init() { log.SetOutput(io.Discard) } // the terminal is the host's; quic-go warns there of small buffers

//export goCreateClient
func goCreateClient(d *C.wd_client_def, id *C.uint64_t, errorText *C.char, capacity C.size_t) (r C.int32_t) {
	defer func() {
		if p := recover(); p != nil {
			putText(errorText, capacity, describe(p))
			r = C.int32_t(fault)
		}
	}()
	h, err := newHost(definition{
		address: text(d.address), more: text(d.more_addresses), fingerprint: text(d.fingerprint), schema: text(d.schema),
		name: text(d.name), room: text(d.room), version: text(d.version), minServer: text(d.min_server),
		token: C.GoBytes(unsafe.Pointer(d.token), C.int(min(d.token_size, 1<<20))), epoch: uint64(d.epoch), giveUp: float64(d.give_up),
		maxBytes: uint64(d.max_bytes), maxEntities: uint32(d.max_entities), maxEvents: uint32(d.max_events),
		insecure: d.flags&C.WD_INSECURE_DEV != 0, webSocket: d.flags&C.WD_WEBSOCKET != 0, simulate: d.flags&C.WD_SIMULATE != 0,
		strict: d.flags&C.WD_STRICT_SCHEMA != 0, updates: d.flags&C.WD_UPDATES != 0,
		unknown: uint32(d.flags) &^ (C.WD_INSECURE_DEV | C.WD_WEBSOCKET | C.WD_SIMULATE | C.WD_STRICT_SCHEMA | C.WD_UPDATES),
	})
	if err != nil {
		putText(errorText, capacity, err.Error())
		return C.int32_t(badArgument)
	}
	*id = C.uint64_t(clients.add(h))
	return C.int32_t(ok)
}

//export goDestroyClient
func goDestroyClient(id C.uint64_t) C.int32_t { return C.int32_t(clients.destroy(uint64(id))) }

//export goShutdown
func goShutdown() { clients.destroyAll() }

//export goUpdate
func goUpdate(id C.uint64_t, now C.double) C.int32_t {
	return on(id, func(h *hostedClient) result { return h.update(float64(now)) })
}

//export goGetStatus
func goGetStatus(id C.uint64_t, s *C.wd_status) C.int32_t {
	return on(id, func(h *hostedClient) result {
		v := h.status()
		s.state, s.code, s.tick, s.tick_hz, s.snapshot_hz = C.int32_t(v.state), C.int32_t(v.code), C.uint32_t(v.tick), C.uint32_t(v.tickHz), C.uint32_t(v.snapshotHz)
		s.entities, s.applied_input, s.controlled = C.uint32_t(v.entities), C.uint32_t(v.stats.Replica.AppliedInput), C.wd_handle(v.controlled)
		s.epoch, s.session, s.render_tick = C.uint64_t(v.epoch), C.uint64_t(v.session), C.double(h.moment.Tick)
		s.round_trip, s.delay = C.double(v.stats.Clock.RTT.Seconds()), C.double(v.stats.Delay.Seconds())
		s.bytes_received, s.memory, s.snapshots = C.uint64_t(v.stats.BytesReceived), C.uint64_t(v.stats.Replica.Bytes), C.uint64_t(v.stats.Replica.Snapshots)
		s.events_lost, s.unanswered = C.uint64_t(h.events.lost), C.uint32_t(len(h.commands))
		if v.stats.OverTCP {
			s.over_tcp = 1
		}
		return ok
	})
}

//export goText
func goText(id C.uint64_t, which C.int32_t, buffer *C.char, capacity C.size_t) (n C.size_t) {
	on(id, func(h *hostedClient) result {
		n = C.size_t(putText(buffer, capacity, h.textOf(int(which))))
		return ok
	})
	return n
}

//export goPollEvent
func goPollEvent(id C.uint64_t, to *C.wd_event, body unsafe.Pointer, capacity C.size_t) C.int32_t {
	return on(id, func(h *hostedClient) result {
		e, r := h.pollEvent(bytesAt(body, capacity))
		if r != ok && r != badSize {
			return r
		}
		to._type, to.tick, to.number, to.handle, to.id = C.int32_t(e.kind), C.uint32_t(e.tick), C.uint32_t(e.number), C.wd_handle(e.handle), C.uint32_t(e.id)
		to.code, to.verdict, to.state, to.reason, to.flags = C.int32_t(e.code), C.int32_t(e.verdict), C.int32_t(e.state), C.uint32_t(e.reason), C.uint32_t(e.flags)
		to.body_size = C.uint64_t(len(e.body))
		return r
	})
}

//export goRender
func goRender(id C.uint64_t, tick *C.double) C.int32_t {
	return on(id, func(h *hostedClient) result {
		r := h.render()
		if tick != nil {
			*tick = C.double(h.moment.Tick)
		}
		return r
	})
}

//export goLookup
func goLookup(id C.uint64_t, h C.wd_handle) C.int32_t {
	return on(id, func(c *hostedClient) result { return result(c.resolve(bulk.Handle(h))) })
}

//export goLookupMany
func goLookupMany(id C.uint64_t, handles *C.wd_handle, n C.size_t, verdicts *C.uint8_t) C.int32_t {
	return on(id, func(h *hostedClient) result {
		to := bytesAt(unsafe.Pointer(verdicts), n)
		for i, of := range handlesAt(handles, n) {
			to[i] = uint8(h.resolve(of))
		}
		return ok
	})
}

//export goEntities
func goEntities(id C.uint64_t, out *C.wd_handle, capacity C.size_t, count *C.size_t) C.int32_t {
	return on(id, func(h *hostedClient) result {
		*count = C.size_t(h.listEntities(handlesAt(out, capacity)))
		return ok
	})
}

//export goGetEntity
func goGetEntity(id C.uint64_t, of C.wd_handle, to *C.wd_entity) C.int32_t {
	return on(id, func(h *hostedClient) result {
		e := h.entity(bulk.Handle(of))
		if e == nil {
			return none
		}
		to.kind, to.tick, to.components = C.uint32_t(h.game.kindOf(e)), C.uint32_t(e.Tick()), C.uint32_t(h.componentsOf(e))
		if e.Owned() {
			to.owned = 1
		}
		return ok
	})
}

//export goFind
func goFind(id C.uint64_t, section C.int32_t, name *C.char) C.int32_t {
	return on(id, func(h *hostedClient) result { return h.game.find(int(section), text(name)) })
}

//export goFindField
func goFindField(id C.uint64_t, component C.uint32_t, name *C.char) C.int32_t {
	return on(id, func(h *hostedClient) result { return h.game.findField(uint32(component), text(name)) })
}

//export goGetField
func goGetField(id C.uint64_t, component, field C.uint32_t, to *C.wd_field) C.int32_t {
	return on(id, func(h *hostedClient) result {
		_, m := h.game.field(uint32(component), uint32(field))
		if m == nil {
			return badArgument
		}
		to._type, to.count, to.offset = C.int32_t(m.Type), C.uint32_t(m.Count), C.uint32_t(m.Offset)
		return ok
	})
}

//export goReadF32
func goReadF32(id C.uint64_t, component, field C.uint32_t, when C.int32_t, handles *C.wd_handle, n C.size_t, out *C.float, verdicts *C.uint8_t) C.int32_t {
	return on(id, func(h *hostedClient) result {
		return readNumbers(h, reading{uint32(component), when == C.WD_RENDERED, handlesAt(handles, n), bytesAt(unsafe.Pointer(verdicts), n)}, uint32(field), (*float32)(out))
	})
}

//export goReadF64
func goReadF64(id C.uint64_t, component, field C.uint32_t, when C.int32_t, handles *C.wd_handle, n C.size_t, out *C.double, verdicts *C.uint8_t) C.int32_t {
	return on(id, func(h *hostedClient) result {
		return readNumbers(h, reading{uint32(component), when == C.WD_RENDERED, handlesAt(handles, n), bytesAt(unsafe.Pointer(verdicts), n)}, uint32(field), (*float64)(out))
	})
}

//export goReadU64
func goReadU64(id C.uint64_t, component, field C.uint32_t, when C.int32_t, handles *C.wd_handle, n C.size_t, out *C.uint64_t, verdicts *C.uint8_t) C.int32_t {
	return on(id, func(h *hostedClient) result {
		return readNumbers(h, reading{uint32(component), when == C.WD_RENDERED, handlesAt(handles, n), bytesAt(unsafe.Pointer(verdicts), n)}, uint32(field), (*uint64)(out))
	})
}

//export goReadRecords
func goReadRecords(id C.uint64_t, component C.uint32_t, when C.int32_t, handles *C.wd_handle, n C.size_t, out unsafe.Pointer, size C.size_t, verdicts *C.uint8_t) C.int32_t {
	return on(id, func(h *hostedClient) result {
		return h.readRecords(reading{uint32(component), when == C.WD_RENDERED, handlesAt(handles, n), bytesAt(unsafe.Pointer(verdicts), n)}, out, uint64(size))
	})
}

//export goDo
func goDo(id C.uint64_t, command C.uint32_t, target C.wd_handle, args unsafe.Pointer, size C.size_t, provisional *C.wd_handle, count C.size_t, to *C.uint32_t) C.int32_t {
	return on(id, func(h *hostedClient) result {
		number, r := h.do(uint32(command), bulk.Handle(target), args, uint64(size), handlesAt(provisional, count))
		if to != nil {
			*to = C.uint32_t(number)
		}
		return r
	})
}

//export goSetInput
func goSetInput(id C.uint64_t, input unsafe.Pointer, size C.size_t, to *C.uint32_t) C.int32_t {
	return on(id, func(h *hostedClient) result {
		tick, r := h.setInput(input, uint64(size))
		if to != nil {
			*to = C.uint32_t(tick)
		}
		return r
	})
}

//export goTakeProvisional
func goTakeProvisional(id C.uint64_t, to *C.wd_handle) C.int32_t {
	return on(id, func(h *hostedClient) result {
		p, r := h.takeProvisional()
		*to = C.wd_handle(p)
		return r
	})
}

//export goReal
func goReal(id C.uint64_t, of C.wd_handle, to *C.wd_handle) C.int32_t {
	return on(id, func(h *hostedClient) result {
		*to = of
		if h.client != nil {
			*to = C.wd_handle(h.client.Real(bulk.Handle(of)))
		}
		return ok
	})
}

// on calls f for a client; see table.call.
func on(id C.uint64_t, f func(*hostedClient) result) C.int32_t {
	return C.int32_t(clients.call(uint64(id), f))
}

// text returns a copy of a C string, empty for NULL.
func text(s *C.char) string { return C.GoString(s) }

// putText copies a text into a buffer, as far as it fits with its zero byte, and returns its length.
func putText(buffer *C.char, capacity C.size_t, s string) int {
	if capacity > 0 {
		to := unsafe.Slice((*byte)(unsafe.Pointer(buffer)), min(uint64(capacity), uint64(len(s)+1)))
		to[copy(to[:len(to)-1], s)] = 0
	}
	return len(s)
}

// bytesAt returns the n bytes at p, nil for NULL.
func bytesAt(p unsafe.Pointer, n C.size_t) []byte {
	if p == nil {
		return nil
	}
	return unsafe.Slice((*byte)(p), min(uint64(n), 1<<30))
}

func handlesAt(p *C.wd_handle, n C.size_t) []bulk.Handle {
	if p == nil {
		return nil
	}
	return unsafe.Slice((*bulk.Handle)(unsafe.Pointer(p)), uint64(n))
}
