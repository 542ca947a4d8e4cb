package bot

// Scenario is the behaviour of a run's bots.
type Scenario string

const (
	// Idle: all bots join, stand still, and probe. It measures the base cost of a session.
	Idle Scenario = "idle"
	// Roam: all bots join, play as their Behavior says, and probe.
	Roam Scenario = "roam"
	// Churn: as Roam, but each bot leaves after 5 to 15 s and immediately returns as a new
	// user.
	Churn Scenario = "churn"
	// JoinStorm: a fifth of the bots roam. 5 s after the ramp all others join at once. The
	// report shows the effect on the first fifth.
	JoinStorm Scenario = "join-storm"
	// Hostile: every other bot attacks, in rotation with garbage, with forged handles
	// and a flood, by never reading, with half-open handshakes, and with a flood of valid and
	// malformed commands. The rest roam, and the report covers only them.
	Hostile Scenario = "hostile"
	// Restless: Roam with 60 frames a second, in which behaviors change their inputs.
	Restless Scenario = "restless"
)
