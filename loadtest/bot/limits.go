package bot

import "time"

const (
	// rememberedHandles bounds the memory of a bot, at about 90 bytes each.
	// Where a hundred entities a second come and go, it reaches back over a
	// minute. What is shown at present is never forgotten.
	rememberedHandles = 1 << 13
	// recordedConfusions is how many confusions a bot keeps in full; the rest
	// are counted. The first ones tell the cause.
	recordedConfusions = 8
	// ReportedConfusions and ReportedFailures bound the lists of a Report.
	ReportedConfusions = 32
	ReportedFailures   = 32
	// probesPerUpdate is how many handles are asked for after each snapshot.
	probesPerUpdate = 8
	// pokesPerSecond stays far below what servers allow a session, so that
	// none is spent on a rate limit.
	pokesPerSecond = 4
	// maxUnanswered stops a bot from poking a server that does not answer.
	maxUnanswered = 64
	// searches bounds the draws for a handle of a wanted kind.
	searches = 12
	// dialsPerSecond is the ramp of a run that asks for none.
	dialsPerSecond = 100
	// stormAfter is how long the first bots of a join storm are left alone, so
	// that there is something to compare the storm with.
	stormAfter = 5 * time.Second
	// shortestStay and longestStay bound how long a bot of Churn stays.
	shortestStay = 5 * time.Second
	longestStay  = 15 * time.Second
	// attackPause is how long an attacker rests between two connections, so
	// that what is measured is the server, and not two cores full of handshakes.
	attackPause = 100 * time.Millisecond
	// dialTimeout is how long a bot waits for its Welcome.
	dialTimeout = 10 * time.Second
	// giveUp is how long a bot that was connected tries to be so again.
	giveUp = 20 * time.Second
	// publishEvery is how often a bot hands its counters to the progress.
	publishEvery = 200 * time.Millisecond
	// latencyHighest and latencyDigits are the histogram's range, in µs, and
	// its precision: a thousandth.
	latencyHighest = int64(time.Minute / time.Microsecond)
	latencyDigits  = 3
)
