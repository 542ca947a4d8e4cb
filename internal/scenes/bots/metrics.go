package bots

import "github.com/worldd/worldd/loadtest/bot"

// The counters of all scenarios, by their names in reports.
const (
	reliableEvents   = "reliable_events"
	unreliableEvents = "unreliable_events"
	names            = "names"   // of avatars, checked when they entered or were renamed
	renames          = "renames" // answered
	causes           = "causes"  // of destruction, checked
)

// The metrics of Combat.
const (
	// Shots are answered shots at avatars as they were drawn. Hits are those that hit their
	// target, blocked ones hit another avatar. Capped ones were judged by another moment than
	// the drawn one, which was older than the server allows, or newer than what it knew the bot
	// to have. Bots could compute the answers of judged ones themselves.
	shots        = "shots"
	hits         = "hits"
	shotsBlocked = "shots_blocked"
	shotsMissed  = "shots_missed"
	shotsCapped  = "shots_capped"
	shotsJudged  = "shots_judged"
	// Provisional handles count once their launch is answered. Bound ones became missiles, of which
	// unseen ones died before they entered; the others were rejected.
	provisionals         = "provisional_handles"
	provisionalsBound    = "provisional_handles_bound"
	provisionalsRejected = "provisional_handles_rejected"
	missilesUnseen       = "missiles_unseen"
	// Agreed are states of the server that were as predicted. Corrected ones were not: the
	// server had not applied an input (explained), lost one, or the prediction began with a
	// rounded state. Unexplained ones have no such reason.
	predictionsAgreed      = "predictions_agreed"
	corrections            = "corrections"
	correctionsExplained   = "corrections_explained"
	correctionsUnexplained = "corrections_unexplained"
	// The prediction error is how far the predicted position was from the server's.
	predictionError = "prediction_error"
)

// metrics returns the bots' metrics of events and names.
func metrics() (all []bot.Metric) {
	for _, name := range []string{reliableEvents, unreliableEvents, names, renames, causes} {
		all = append(all, bot.Metric{Name: name})
	}
	for _, name := range []string{
		shots, hits, shotsBlocked, shotsMissed, shotsCapped, shotsJudged,
		provisionals, provisionalsBound, provisionalsRejected, missilesUnseen,
		predictionsAgreed, corrections, correctionsExplained, correctionsUnexplained,
	} {
		all = append(all, bot.Metric{Name: name, Scenario: Combat})
	}
	return append(all, bot.Metric{Name: predictionError, Unit: "mm", Scenario: Combat})
}
