package botrun

import "time"

const (
	// rememberedHandles bounds a bot's memory, at about 90 bytes per handle. At a hundred
	// spawns and deaths per second it covers more than a minute. Handles in view are never
	// forgotten.
	rememberedHandles = 1 << 13
	// examined bounds the search for a handle to forget, so that a flood of Enters costs only
	// its length. Memory stays below the handles in view plus rememberedHandles and an eighth.
	examined = 8
	// recordedConfusions is the number of confusions a bot keeps in full; others are
	// counted. The first ones show the cause.
	recordedConfusions = 8
	// ReportedFailures bounds the failures and divergences that a Report lists.
	ReportedFailures = 32
	// portBots is the number of bots that share a socket. The socket's buffer holds a few
	// hundred packets: if more bots joined at once, some packets would be lost.
	portBots = 8
	// usualProbes is the default of Config.Probes, and mostProbes its bound.
	usualProbes = 8
	mostProbes  = 4096
	// pokesPerSecond is far below the servers' command limit, so that no poke is refused for
	// its rate.
	pokesPerSecond = 4
	// taughtHandles bounds what a bot remembers of events and answers, of which a few a second
	// name handles. A bot that has forgotten one checks less (oracle.unsure).
	taughtHandles = 1024
	// maxUnanswered stops a bot from poking an unresponsive server.
	maxUnanswered = 64
	// searches bounds the draws for a handle of one kind.
	searches = 12
	// dialsPerSecond is the default ramp.
	dialsPerSecond = 100
	// stormAfter is the time that a join storm's first bots spend undisturbed, as a baseline.
	stormAfter = 5 * time.Second
	// shortestStay and longestStay bound a Churn bot's visit.
	shortestStay = 5 * time.Second
	longestStay  = 15 * time.Second
	// frames is how often a bot decides in a second, and restlessFrames how often a restless
	// one does: once in a tick.
	frames         = 30
	restlessFrames = 60
	// recordedDivergences bounds the failed audits that a bot records.
	recordedDivergences = 8
	// attackPause is an attacker's pause between connections. Without it handshakes alone would
	// occupy the machine.
	attackPause = 100 * time.Millisecond
	// dialTimeout bounds the wait for a Welcome.
	dialTimeout = 10 * time.Second
	// giveUp bounds how long a bot tries to reconnect.
	giveUp = 20 * time.Second
	// publishEvery is the interval at which a bot updates its board.
	publishEvery = 200 * time.Millisecond
	// latencyHighest is the histogram's range in µs, and latencyDigits its precision: a
	// thousandth.
	latencyHighest = int64(time.Minute / time.Microsecond)
	latencyDigits  = 3
)
