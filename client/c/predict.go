package main

// #include "worldd.h"
// void step_from_go(wd_step_function step, wd_step *call);
import "C"

import (
	"fmt"
	"math"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"unsafe"

	"github.com/worldd/worldd/client"
)

// Kinds of events, as in worldd.h.
const (
	eventEffect = C.WD_EVENT_EFFECT
	eventUndo   = C.WD_EVENT_UNDO
)

// maxState bounds the bytes of a predicted state: the client keeps the states of 3 s.
const maxState = 16 << 10

// prediction predicts by a step function of the host.
type prediction struct {
	of    *client.Prediction[any] // nil: the client has not joined yet
	state stateRecord
	input *record
	step  C.wd_step_function
	user  unsafe.Pointer
	snap  float64

	call    *C.wd_step
	buffer  []uint64 // of call: a state, then an input
	inputAt int      // index of the input
	pinned  runtime.Pinner
}

// stateRecord is a state as C struct and as Go struct: the records of some components, then bytes of the game.
type stateRecord struct {
	goType reflect.Type
	parts  []statePart
	own    int     // offset of the game's bytes in the C struct
	ownAt  uintptr // and in the Go struct
	size   int     // of the C struct
}

// statePart is a component in a state.
type statePart struct {
	record *record
	offset int     // in the C struct
	at     uintptr // in the Go struct
}

// newState returns the state of size bytes with these components, or says what is wrong.
func (g *game) newState(components []uint32, size uint64) (s stateRecord, r result, why string) {
	var fields []reflect.StructField
	for i, n := range components {
		switch {
		case n >= uint32(len(g.components)):
			return s, badArgument, fmt.Sprintf("worldd: def.components[%d] is %d: the program's schema has no such component", i, n)
		case slices.Contains(components[:i], n):
			return s, badArgument, fmt.Sprintf("worldd: def.components has %d twice", n)
		}
		of := g.components[n]
		s.parts = append(s.parts, statePart{record: of, offset: s.own})
		fields = append(fields, reflect.StructField{Name: "C" + strconv.Itoa(i), Type: of.goType})
		s.own += of.layout.Size
	}
	if size < uint64(s.own) || size > maxState {
		return s, badSize, fmt.Sprintf("worldd: def.state_size is %d: the records of its components have %d bytes, and a state at most %d", size, s.own, maxState)
	}
	s.size = int(size)
	fields = append(fields, reflect.StructField{Name: "Own", Type: reflect.ArrayOf(s.size-s.own, reflect.TypeFor[byte]())})
	s.goType = reflect.StructOf(fields)
	for i := range s.parts {
		s.parts[i].at = s.goType.Field(i).Offset
	}
	s.ownAt = s.goType.Field(len(s.parts)).Offset
	return s, ok, ""
}

// writeTo writes the Go struct at from to the C struct at to.
func (s *stateRecord) writeTo(to, from unsafe.Pointer) {
	for i := range s.parts {
		p := &s.parts[i]
		p.record.writeTo(unsafe.Add(to, p.offset), unsafe.Add(from, p.at))
	}
	copy(s.ownBytes(unsafe.Add(to, s.own)), s.ownBytes(unsafe.Add(from, s.ownAt)))
}

// readFrom sets the Go struct at to, but for its texts, to the C struct at from.
func (s *stateRecord) readFrom(to, from unsafe.Pointer) {
	for i := range s.parts {
		p := &s.parts[i]
		p.record.readFields(unsafe.Add(to, p.at), unsafe.Add(from, p.offset))
	}
	copy(s.ownBytes(unsafe.Add(to, s.ownAt)), s.ownBytes(unsafe.Add(from, s.own)))
}

func (s *stateRecord) ownBytes(at unsafe.Pointer) []byte {
	return unsafe.Slice((*byte)(at), s.size-s.own)
}

// predict begins to predict, at the latest when the client has joined.
func (h *hostedClient) predict(d *C.wd_prediction_def) result {
	switch {
	case h.over:
		return h.fail(ended, "worldd: the client has ended")
	case h.prediction != nil:
		return h.fail(refused, "worldd: the client has a prediction already")
	case h.game.input == nil:
		return h.fail(badArgument, "worldd: the program's schema declares no input")
	case d.component_count == 0 || uint64(d.component_count) > uint64(len(h.game.components)):
		return h.fail(badArgument, fmt.Sprintf("worldd: def.component_count is %d: the program's schema has %d components", d.component_count, len(h.game.components)))
	case !(d.snap >= 0) || math.IsInf(float64(d.snap), 0):
		return h.fail(badArgument, "worldd: def.snap is not a number from 0 on")
	}
	state, r, why := h.game.newState(unsafe.Slice((*uint32)(d.components), d.component_count), uint64(d.state_size))
	if r != ok {
		return h.fail(r, why)
	}
	p := &prediction{state: state, input: h.game.input, step: d.step, user: d.user, snap: float64(d.snap), call: &C.wd_step{}, inputAt: (state.size + 7) / 8}
	p.buffer = make([]uint64, p.inputAt+p.input.layout.Size/8)
	p.pinned.Pin(&p.buffer[0])
	h.prediction = p
	return h.attachPrediction()
}

// attachPrediction makes the prediction that the host asked for one of the client, once there is a client.
func (h *hostedClient) attachPrediction() result {
	p := h.prediction
	if p == nil || h.client == nil {
		return ok
	}
	var err error
	p.of, err = client.PredictValue(h.client, p.state.goType, h.step, client.PredictConfig{Snap: p.snap, Undo: h.addUndo})
	if err != nil {
		return h.fail(badArgument, err.Error())
	}
	return ok
}

// step calls the host's step function for a tick.
func (h *hostedClient) step(tick uint32, state, in any) {
	p := h.prediction
	goState, cState, cInput := reflect.ValueOf(state).UnsafePointer(), unsafe.Pointer(&p.buffer[0]), unsafe.Pointer(&p.buffer[p.inputAt])
	p.state.writeTo(cState, goState)
	p.input.writeTo(cInput, reflect.ValueOf(in).UnsafePointer())
	*p.call = C.wd_step{size: C.sizeof_wd_step, tick: C.uint32_t(tick), state: cState, input: cInput, user: p.user}
	C.step_from_go(p.step, p.call)
	p.state.readFrom(goState, cState)
	for _, key := range p.call.effects[:min(p.call.effect_count, C.WD_MAX_EFFECTS)] {
		if p.of != nil && p.of.Once(tick, uint64(key)) {
			h.events.add(event{kind: eventEffect, tick: tick, number: uint32(key)})
		}
	}
}

// addUndo queues that an effect will not happen.
func (h *hostedClient) addUndo(tick uint32, key uint64) {
	h.events.add(event{kind: eventUndo, tick: tick, number: uint32(key)})
}

// readPredicted writes the predicted state to the C struct at to.
func (h *hostedClient) readPredicted(rendered bool, to unsafe.Pointer, size uint64) result {
	p := h.prediction
	switch {
	case p == nil:
		return none
	case size != uint64(p.state.size):
		return h.fail(badSize, fmt.Sprintf("worldd: the state has %d bytes, and %d in wd_prediction_def", size, p.state.size))
	case p.of == nil:
		return none
	case p.of.Err() != nil:
		h.breakDown(p.of.Err())
		return fault
	}
	state, predicted := p.of.State()
	if rendered {
		state, predicted = p.of.At(h.moment)
	}
	if !predicted {
		return none
	}
	clear(unsafe.Slice((*byte)(to), size))
	p.state.writeTo(to, reflect.ValueOf(state).UnsafePointer())
	return ok
}

//export goPredict
func goPredict(id C.uint64_t, d *C.wd_prediction_def) C.int32_t {
	return on(id, func(h *hostedClient) result { return h.predict(d) })
}

//export goReadPredicted
func goReadPredicted(id C.uint64_t, when C.int32_t, to unsafe.Pointer, size C.size_t) C.int32_t {
	return on(id, func(h *hostedClient) result { return h.readPredicted(when == C.WD_RENDERED, to, uint64(size)) })
}

//export goGetPrediction
func goGetPrediction(id C.uint64_t, to *C.wd_prediction) C.int32_t {
	return on(id, func(h *hostedClient) result {
		if h.prediction == nil {
			return none
		}
		if h.prediction.of == nil {
			return ok
		}
		s := h.prediction.of.Stats()
		to.predicted, to.confirmed, to.agreed, to.corrected = C.uint32_t(s.Predicted), C.uint32_t(s.Confirmed), C.uint64_t(s.Agreed), C.uint64_t(s.Corrected)
		to.missed, to.replayed, to.stalled, to.undone = C.uint64_t(s.Missed), C.uint64_t(s.Replayed), C.uint64_t(s.Stalled), C.uint64_t(s.Undone)
		if s.Predicted != 0 {
			to.active = 1
		}
		return ok
	})
}
