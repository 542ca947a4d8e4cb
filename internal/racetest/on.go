//go:build race

package racetest

// Enabled says whether this build has the race detector.
const Enabled = true
