package server

import "github.com/worldd/worldd/replication/wire"

// Stats counts what sessions did. It belongs to the goroutine that calls Tick.
type Stats struct {
	Joined          uint64
	Lost            uint64 // connections of sessions that then waited for their clients
	Resumed         uint64 // times that a client came again to its session
	Ended           uint64 // and connections without one
	Refused         uint64 // connections: no session began
	HellosHeld      uint64 // put off by a tick, as often as that
	Turns           uint64 // of sessions to be sent a snapshot, and
	TurnsMissed     uint64 // of these, that came while there had been no time yet for the one before
	Inputs          uint64 // applied, and
	InputsLate      uint64 // of these, after their tick
	InputsMissed    uint64 // came after their tick, when a newer one was there
	InputsEarly     uint64 // came too long before their tick, as often as they came
	InputsDropped   uint64 // datagrams beyond what one tick takes from one session
	Commands        uint64
	Executed        uint64
	Rejected        uint64
	Resyncs         uint64
	ResyncsDropped  uint64    // asked for beyond the rate of a session
	CommandVerdicts [4]uint64 // by wire.Verdict of the target
	Rejections      map[wire.Code]uint64
	Closed          map[wire.Code]uint64
	Panics          [hooks]uint64 // contained, by Hook
}
