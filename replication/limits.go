package replication

import "math"

const (
	// maxOutstandingBytes is how much structure may be on its way to a client
	// unapplied before no further entity enters. It bounds the memory that a
	// client which stops reading can tie up; Destroy and Leave are exempt, at
	// a few bytes for each handle it knows.
	maxOutstandingBytes = 48 << 10
	// batchBytes is the size at which a structure message is closed: well
	// below wire.MaxStreamMessage, so that one record more always fits.
	batchBytes = 16 << 10
	// maxFlights is how many messages that a client has not applied are told
	// apart; more are counted as one. It is more than are sent in the time
	// after which a silent client is given up, so that only one which reads and
	// never acknowledges gets there, and finds that it costs nothing.
	maxFlights = 256
	// maxKeptLogBytes is how much structure that was sent and is not acknowledged
	// is kept, to be sent again when the session goes on over another connection.
	// It is what the enters of maxOutstandingBytes take and as much again for the
	// leaves and destroys of thousands; a client further behind begins anew.
	maxKeptLogBytes = 96 << 10
	// maxDatagrams is how many datagrams one snapshot may fill: beyond this a
	// burst overruns the 128 datagrams that a receiver queues.
	maxDatagrams = 4
	// sentWindow is how many snapshots are remembered until acknowledged: as
	// many as there are bits in a word. An Ack tells of one more.
	sentWindow = 64
	// lossWindow: a snapshot is taken for lost when one this much newer was
	// acknowledged; QUIC's packet threshold (RFC 9002, 6.1.1).
	lossWindow = 3
	// resendAfter is for how many snapshots an unchanged row is presumed to be
	// on its way before it is sent again without news of a loss.
	resendAfter = 8
	// motionTicks is how many ticks there are at least between the two baselines
	// of a row. Fewer show less of how it moves; more, and it moves otherwise.
	minMotionTicks = 3
	// maxMotionRatio is how many times longer than the motion that is known the
	// motion that is foretold may be.
	maxMotionRatio = 16
	// maxCachedRows bounds the codings of rows that a frame keeps for further
	// viewers, at about 40 bytes each.
	maxCachedRows = 1 << 16
	// maxWorkers bounds goroutines and the memory of their workspaces, at most a
	// few megabytes each.
	maxWorkers = 64
	// payloadPlaces is how many datagrams a frame keeps for further viewers, at
	// up to 3.2 kB each.
	payloadBits    = 7
	payloadEntries = 1 << payloadBits
	// minSnapshotBytes is what a snapshot needs for its header and one row.
	minSnapshotBytes = 64
	// burstSnapshots is how many snapshots' worth of unused budget are kept.
	burstSnapshots = 2
	// lastNumber is the number of a structure record, or of a snapshot, from which
	// on a viewer is Spent. What one snapshot may still tell of, all slots, fits
	// into what is left many times.
	lastUsableNumber = math.MaxUint32 - 1<<26
	// maxDeaths is how many destroyed handles are remembered for viewers that
	// are not sent snapshots; at this number they are all brought up to date.
	maxDeaths = 1 << 16
	// keptQueue is how long a queue of newcomers stays allocated when
	// it has emptied: crowds come seldom, and viewers are many.
	keptQueue = 16
	// keptStructureBytes is how much each of a viewer's two buffers of structure
	// may keep when little of it is used, for the same reason.
	keptStructureBytes = 2 << 10
)
